//! Questions to the person: may this run, which one, what is the password.

use std::time::{Duration, Instant};

use hermes_types::{Answer, ApprovalChoice, Ask, AskKind, Asked};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::picker::cut;
use crate::editor::Editor;
use crate::markdown::{display_width, wrap};
use crate::theme::Theme;

pub(super) struct Dialog {
    pub(super) ask: Ask,
    pub(super) asked_at: Instant,
    choices: Vec<Choice>,
    selected: usize,
    /// Open when the answer is typed.
    pub(super) field: Option<Editor>,
    /// The whole command instead of its beginning.
    full: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Choice {
    Approve(ApprovalChoice, &'static str),
    ShowAll,
    Answer(String),
    Other,
}

const LONG_COMMAND: usize = 70;

impl Dialog {
    pub(super) fn new(ask: Ask, now: Instant) -> Self {
        let choices = match &ask.kind {
            AskKind::Approval {
                command, permanent, ..
            } => {
                let mut choices = vec![
                    Choice::Approve(ApprovalChoice::Once, "Allow once"),
                    Choice::Approve(ApprovalChoice::Session, "Allow for this session"),
                ];
                if *permanent {
                    choices.push(Choice::Approve(
                        ApprovalChoice::Always,
                        "Add to permanent allowlist",
                    ));
                }
                choices.push(Choice::Approve(ApprovalChoice::Deny, "Deny"));
                if command.len() > LONG_COMMAND || command.contains('\n') {
                    choices.push(Choice::ShowAll);
                }
                choices
            }
            AskKind::Clarify { choices, .. } if !choices.is_empty() => {
                let mut all: Vec<Choice> = choices.iter().cloned().map(Choice::Answer).collect();
                all.push(Choice::Other);
                all
            }
            _ => Vec::new(),
        };
        let field = choices.is_empty().then(Editor::default);
        Self {
            ask,
            asked_at: now,
            choices,
            selected: 0,
            field,
            full: false,
        }
    }

    pub(super) fn is_secret(&self) -> bool {
        matches!(self.ask.kind, AskKind::Sudo { .. } | AskKind::Secret { .. })
    }

    pub(super) fn up(&mut self) {
        self.selected = self.selected.saturating_sub(1);
    }

    pub(super) fn down(&mut self) {
        self.selected = (self.selected + 1).min(self.choices.len().saturating_sub(1));
    }

    /// A digit chooses directly; `0` is the tenth.
    pub(super) fn digit(&mut self, digit: usize) -> Option<Asked> {
        let index = if digit == 0 { 9 } else { digit - 1 };
        if self.field.is_some() || index >= self.choices.len() {
            return None;
        }
        self.selected = index;
        self.confirm()
    }

    /// The answer, unless the choice only opens something.
    pub(super) fn confirm(&mut self) -> Option<Asked> {
        if let Some(field) = &mut self.field {
            let text = field.take();
            return Some(self.with(Answer::Text { text }));
        }
        match self.choices.get(self.selected)?.clone() {
            Choice::Approve(choice, _) => Some(self.with(Answer::Approval { choice })),
            Choice::Answer(text) => Some(self.with(Answer::Text { text })),
            Choice::ShowAll => {
                self.full = true;
                self.choices.retain(|choice| *choice != Choice::ShowAll);
                self.selected = 0;
                None
            }
            Choice::Other => {
                self.field = Some(Editor::default());
                None
            }
        }
    }

    /// What leaving the dialog means.
    pub(super) fn cancel(&self) -> Asked {
        self.with(match self.ask.kind {
            AskKind::Approval { .. } => Answer::Approval {
                choice: ApprovalChoice::Deny,
            },
            _ => Answer::None,
        })
    }

    fn with(&self, answer: Answer) -> Asked {
        Asked {
            id: self.ask.id,
            answer,
        }
    }

    /// The sign in front of the input while this is open.
    pub(super) fn sign(&self) -> &'static str {
        match (&self.ask.kind, &self.field) {
            (AskKind::Approval { .. }, _) => "⚠",
            (AskKind::Clarify { .. }, None) => "?",
            (AskKind::Clarify { .. }, Some(_)) => "✎",
            (AskKind::Sudo { .. }, _) => "🔐",
            (AskKind::Secret { .. }, _) => "🔑",
        }
    }

    pub(super) fn lines(
        &self,
        width: usize,
        height: usize,
        theme: Theme,
        now: Instant,
    ) -> Vec<Line<'static>> {
        let left = Duration::from_secs(self.ask.timeout_seconds)
            .saturating_sub(now.duration_since(self.asked_at));
        let (title, body, reason) = match &self.ask.kind {
            AskKind::Approval {
                command, reason, ..
            } => (
                "May this command run?",
                command.clone(),
                Some(reason.clone()),
            ),
            AskKind::Clarify { question, .. } => ("Hermes asks", question.clone(), None),
            AskKind::Sudo { command } => (
                "sudo needs your password (Enter alone goes on without)",
                command.clone(),
                None,
            ),
            AskKind::Secret { name, prompt } => (
                "A secret is needed; it goes to .env",
                format!("{name}: {prompt}"),
                None,
            ),
        };
        let mut lines = vec![Line::from(vec![
            Span::styled(format!("{} {title} ", self.sign()), theme.warning),
            Span::styled(format!("({} s)", left.as_secs()), theme.dim),
        ])];
        let body = if self.full || !matches!(self.ask.kind, AskKind::Approval { .. }) {
            body
        } else {
            cut(
                &body.replace('\n', " ⏎ "),
                LONG_COMMAND.min(width.saturating_sub(4)),
            )
        };
        let indent = [Span::raw("  ")];
        lines.extend(wrap(
            &[Span::styled(body, theme.code)],
            width.max(8),
            &indent,
            &indent,
        ));
        let room = height.saturating_sub(lines.len() + self.choices.len() + 6);
        if let Some(reason) = reason {
            let wrapped = wrap(
                &[Span::styled(reason, theme.dim)],
                width.max(8),
                &indent,
                &indent,
            );
            lines.extend(wrapped.into_iter().take(room));
        }
        if self.field.is_none() {
            for (index, choice) in self.choices.iter().enumerate() {
                let text = match choice {
                    Choice::Approve(_, text) => (*text).to_owned(),
                    Choice::ShowAll => "Show full command".to_owned(),
                    Choice::Answer(text) => text.clone(),
                    Choice::Other => "Other (type your answer)".to_owned(),
                };
                let chosen = index == self.selected;
                let style = if chosen { theme.selected } else { Style::new() };
                let mark = if chosen { "❯" } else { " " };
                let text = cut(&text, width.saturating_sub(8));
                debug_assert!(display_width(&text) <= width);
                lines.push(Line::from(vec![
                    Span::raw(format!("  {mark} {}. ", index + 1)),
                    Span::styled(text, style),
                ]));
            }
        }
        lines
    }
}
