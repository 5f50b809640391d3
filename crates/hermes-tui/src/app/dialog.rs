//! Questions to the person: may this run, which one, what is the password.
//!
//! A question comes up while somebody may be typing something else. What is typed
//! then belongs to the input: a question is shown, and keys count for it, only
//! after a moment in which no key was pressed.

use std::time::{Duration, Instant};

use hermes_types::{Answer, ApprovalChoice, Ask, AskId, AskKind, Asked};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::picker::cut;
use crate::editor::Editor;
use crate::markdown::{display_width, wrap};
use crate::theme::Theme;

pub(super) struct Dialog {
    subject: Subject,
    asked_at: Instant,
    patience: Duration,
    /// Since when no key was pressed; `None` while others are asked before.
    quiet_since: Option<Instant>,
    choices: Vec<Choice>,
    selected: usize,
    /// Open when the answer is typed.
    pub(super) field: Option<Editor>,
    /// The whole command instead of its beginning.
    full: bool,
}

/// Who wants to know.
enum Subject {
    /// The running turn.
    Turn { id: AskId, kind: AskKind },
    /// We do: whether a command that throws something away is meant.
    Command {
        name: &'static str,
        arguments: String,
    },
}

/// What a dialog came to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Decision {
    Answer(Asked),
    /// Carry out the command; with `for_good` nobody is asked again.
    Command {
        name: &'static str,
        arguments: String,
        for_good: bool,
    },
    /// Nothing happens.
    Dropped,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Choice {
    Approve(ApprovalChoice, String),
    Go(Going, &'static str),
    ShowAll,
    Answer(String),
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Going {
    Once,
    ForGood,
    Not,
}

impl Choice {
    fn text(&self) -> String {
        match self {
            Self::Approve(_, text) | Self::Answer(text) => text.clone(),
            Self::Go(_, text) => (*text).to_owned(),
            Self::ShowAll => "Show full command".to_owned(),
            Self::Other => "Other (type your answer)".to_owned(),
        }
    }
}

/// What a choice lets through besides this command.
fn covers(choice: ApprovalChoice, classes: &[String]) -> String {
    if classes.is_empty() {
        return String::new();
    }
    let until = match choice {
        ApprovalChoice::Session => "until you leave",
        ApprovalChoice::Always => "from now on",
        _ => return String::new(),
    };
    let names: Vec<String> = classes.iter().map(|class| format!("“{class}”")).collect();
    format!(
        ": every command of the class {}, {until}",
        names.join(" and ")
    )
}

/// Enter alone lets nothing happen that cannot be taken back.
fn refusal(choices: &[Choice]) -> usize {
    let refuses = |choice: &Choice| {
        matches!(
            choice,
            Choice::Approve(ApprovalChoice::Deny, _) | Choice::Go(Going::Not, _)
        )
    };
    choices.iter().position(refuses).unwrap_or(0)
}

const LONG_COMMAND: usize = 70;
/// A question of our own that nobody answers is answered with no.
const PATIENCE: Duration = Duration::from_secs(120);
/// Whoever pressed no key for this long is not typing something else.
pub(super) const QUIET: Duration = Duration::from_millis(500);

impl Dialog {
    pub(super) fn new(ask: Ask, now: Instant) -> Self {
        let choices = match &ask.kind {
            AskKind::Approval {
                command,
                permanent,
                keys,
                ..
            } => {
                let approve = |choice, text: &str| {
                    Choice::Approve(choice, text.to_owned() + &covers(choice, keys))
                };
                let mut choices = vec![
                    approve(ApprovalChoice::Once, "Allow once"),
                    approve(ApprovalChoice::Session, "Allow for this session"),
                ];
                if *permanent {
                    choices.push(approve(
                        ApprovalChoice::Always,
                        "Add to permanent allowlist",
                    ));
                }
                choices.push(approve(ApprovalChoice::Deny, "Deny"));
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
            subject: Subject::Turn {
                id: ask.id,
                kind: ask.kind,
            },
            asked_at: now,
            patience: Duration::from_secs(ask.timeout_seconds),
            quiet_since: None,
            selected: refusal(&choices),
            choices,
            field,
            full: false,
        }
    }

    /// Asks before a command is carried out that throws something away.
    pub(super) fn before(name: &'static str, arguments: String, now: Instant) -> Self {
        let choices = vec![
            Choice::Go(Going::Once, "Yes"),
            Choice::Go(Going::ForGood, "Yes, and do not ask again"),
            Choice::Go(Going::Not, "No"),
        ];
        Self {
            subject: Subject::Command { name, arguments },
            asked_at: now,
            patience: PATIENCE,
            quiet_since: None,
            selected: refusal(&choices),
            choices,
            field: None,
            full: false,
        }
    }

    /// Whether it belongs to the turn, and to this question of it.
    pub(super) fn is_about(&self, asked: AskId) -> bool {
        matches!(self.subject, Subject::Turn { id, .. } if id == asked)
    }

    pub(super) fn is_of_turn(&self) -> bool {
        matches!(self.subject, Subject::Turn { .. })
    }

    /// Whether a question of our own has waited too long. The turn watches over
    /// its own.
    pub(super) fn is_stale(&self, now: Instant) -> bool {
        !self.is_of_turn() && now.duration_since(self.asked_at) >= self.patience
    }

    pub(super) fn is_secret(&self) -> bool {
        matches!(
            self.subject,
            Subject::Turn {
                kind: AskKind::Sudo { .. } | AskKind::Secret { .. },
                ..
            }
        )
    }

    /// It is the one that is asked now.
    pub(super) fn comes_up(&mut self, now: Instant) {
        self.quiet_since.get_or_insert(now);
    }

    /// A key was meant for something else.
    pub(super) fn passed_over(&mut self, now: Instant) {
        self.quiet_since = Some(now);
    }

    /// Whether it is shown, and keys are for it.
    pub(super) fn listens(&self, now: Instant) -> bool {
        self.quiet_since
            .is_some_and(|since| now.duration_since(since) >= QUIET)
    }

    pub(super) fn up(&mut self) {
        self.selected = self.selected.saturating_sub(1);
    }

    pub(super) fn down(&mut self) {
        self.selected = (self.selected + 1).min(self.choices.len().saturating_sub(1));
    }

    /// A digit chooses directly; `0` is the tenth.
    pub(super) fn digit(&mut self, digit: usize) -> Option<Decision> {
        let index = if digit == 0 { 9 } else { digit - 1 };
        if self.field.is_some() || index >= self.choices.len() {
            return None;
        }
        self.selected = index;
        self.confirm()
    }

    /// Whether the letter is an answer.
    pub(super) fn is_letter(&self, letter: char) -> bool {
        let asks = matches!(
            self.choices.first(),
            Some(Choice::Approve(..) | Choice::Go(..))
        );
        asks && matches!(letter.to_ascii_lowercase(), 'y' | 'n')
    }

    /// `y` and `n`, where yes and no are what it is about.
    pub(super) fn letter(&mut self, letter: char) -> Option<Decision> {
        let wanted = |choice: &Choice| match letter.to_ascii_lowercase() {
            'y' => matches!(
                choice,
                Choice::Approve(ApprovalChoice::Once, _) | Choice::Go(Going::Once, _)
            ),
            'n' => matches!(
                choice,
                Choice::Approve(ApprovalChoice::Deny, _) | Choice::Go(Going::Not, _)
            ),
            _ => false,
        };
        self.selected = self.choices.iter().position(wanted)?;
        self.confirm()
    }

    /// The decision, unless the choice only opens something.
    pub(super) fn confirm(&mut self) -> Option<Decision> {
        if let Some(field) = &mut self.field {
            let text = field.take();
            return Some(self.with(Answer::Text { text }));
        }
        match self.choices.get(self.selected)?.clone() {
            Choice::Approve(choice, _) => Some(self.with(Answer::Approval { choice })),
            Choice::Answer(text) => Some(self.with(Answer::Text { text })),
            Choice::Go(going, _) => Some(self.going(going)),
            Choice::ShowAll => {
                self.full = true;
                self.choices.retain(|choice| *choice != Choice::ShowAll);
                self.selected = refusal(&self.choices);
                None
            }
            Choice::Other => {
                self.field = Some(Editor::default());
                None
            }
        }
    }

    /// What leaving the dialog means.
    pub(super) fn cancel(&self) -> Decision {
        self.with(match self.subject {
            Subject::Turn {
                kind: AskKind::Approval { .. },
                ..
            } => Answer::Approval {
                choice: ApprovalChoice::Deny,
            },
            _ => Answer::Cancelled,
        })
    }

    fn with(&self, answer: Answer) -> Decision {
        match self.subject {
            Subject::Turn { id, .. } => Decision::Answer(Asked { id, answer }),
            Subject::Command { .. } => Decision::Dropped,
        }
    }

    fn going(&self, going: Going) -> Decision {
        match &self.subject {
            Subject::Command { name, arguments } if going != Going::Not => Decision::Command {
                name,
                arguments: arguments.clone(),
                for_good: going == Going::ForGood,
            },
            _ => Decision::Dropped,
        }
    }

    /// The sign in front of the input while this is open.
    pub(super) fn sign(&self) -> &'static str {
        let Subject::Turn { kind, .. } = &self.subject else {
            return "⚠";
        };
        match (kind, &self.field) {
            (AskKind::Approval { .. }, _) => "⚠",
            (AskKind::Clarify { .. }, None) => "?",
            (AskKind::Clarify { .. }, Some(_)) => "✎",
            (AskKind::Sudo { .. }, _) => "🔐",
            (AskKind::Secret { .. }, _) => "🔑",
        }
    }

    /// Title, body, and why it is asked.
    fn texts(&self) -> (&'static str, String, Option<String>) {
        match &self.subject {
            Subject::Command { name, .. } => {
                let loss = match *name {
                    "undo" => "Your last messages and their answers leave the conversation.",
                    _ => "This session ends here. It is kept: `/resume` goes on with it.",
                };
                ("Really?", format!("/{name}"), Some(loss.to_owned()))
            }
            Subject::Turn { kind, .. } => match kind {
                AskKind::Approval {
                    command, reason, ..
                } => (
                    "May this command run?",
                    command.clone(),
                    Some(reason.clone()),
                ),
                AskKind::Clarify { question, .. } => ("Hermes asks", question.clone(), None),
                AskKind::Sudo { command } => (
                    "sudo needs your password",
                    command.clone(),
                    Some("Enter alone goes on without it.".to_owned()),
                ),
                AskKind::Secret { name, prompt } => (
                    "A secret is needed; it goes to .env",
                    format!("{name}: {prompt}"),
                    None,
                ),
            },
        }
    }

    fn is_approval(&self) -> bool {
        matches!(
            self.subject,
            Subject::Turn {
                kind: AskKind::Approval { .. },
                ..
            }
        )
    }

    /// The question of the model and what was answered, for the scrollback.
    pub(super) fn told(&self, decision: &Decision, theme: Theme) -> Option<[Span<'static>; 2]> {
        let (
            Subject::Turn {
                kind: AskKind::Clarify { question, .. },
                ..
            },
            Decision::Answer(asked),
        ) = (&self.subject, decision)
        else {
            return None;
        };
        let answer = match &asked.answer {
            Answer::Text { text } if !text.trim().is_empty() => text.trim().to_owned(),
            _ => "(no answer)".to_owned(),
        };
        Some([
            Span::styled(format!("{question}  "), theme.dim),
            Span::styled(answer, theme.user),
        ])
    }

    /// Whether the whole command was asked for.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Rows that the text may have beside the question and the choices.
    fn body_rows(&self, width: usize, height: usize) -> usize {
        height.saturating_sub(self.choice_rows(width) + 7).max(2)
    }

    /// Rows that the choices take when the long ones are broken.
    fn choice_rows(&self, width: usize) -> usize {
        let room = width.saturating_sub(8).max(8);
        self.choices
            .iter()
            .map(|choice| display_width(&choice.text()).div_ceil(room).max(1))
            .sum()
    }

    /// The whole text for the scrollback, when it was asked for and does not fit.
    pub(super) fn overflow(&self, width: usize, height: usize) -> Option<Vec<Line<'static>>> {
        let (_, body, _) = self.texts();
        let indent = [Span::raw("  ")];
        let whole = wrap(&[Span::raw(body)], width.max(8), &indent, &indent);
        (self.full && whole.len() > self.body_rows(width, height)).then_some(whole)
    }

    /// The lines, and on which of them the choice is that Enter takes.
    pub(super) fn lines(
        &self,
        width: usize,
        height: usize,
        theme: Theme,
        now: Instant,
    ) -> (Vec<Line<'static>>, usize) {
        let left = self
            .patience
            .saturating_sub(now.duration_since(self.asked_at));
        let (title, body, reason) = self.texts();
        let heading = [
            Span::styled(format!("{title} "), theme.warning),
            Span::styled(format!("({} s)", left.as_secs()), theme.dim),
        ];
        let sign = [Span::styled(format!("{} ", self.sign()), theme.warning)];
        let mut lines = wrap(&heading, width.max(8), &sign, &[Span::raw("  ")]);
        let body = if self.full || !self.is_approval() {
            body
        } else {
            cut(
                &body.replace('\n', " ⏎ "),
                LONG_COMMAND.min(width.saturating_sub(4)),
            )
        };
        let indent = [Span::raw("  ")];
        let mut body = wrap(
            &[Span::styled(body, theme.code)],
            width.max(8),
            &indent,
            &indent,
        );
        // The question and the choices stay in sight; the rest is in the scrollback.
        let most = self.body_rows(width, height);
        if body.len() > most {
            body.truncate(most.saturating_sub(1));
            body.push(Line::styled("  … all of it stands above", theme.dim));
        }
        lines.extend(body);
        // A spinner, the status line, a line to type in, and one to spare.
        let room = height.saturating_sub(lines.len() + self.choice_rows(width) + 4);
        if let Some(reason) = reason {
            let wrapped = wrap(
                &[Span::styled(reason, theme.dim)],
                width.max(8),
                &indent,
                &indent,
            );
            lines.extend(wrapped.into_iter().take(room));
        }
        let mut at = lines.len();
        if self.field.is_none() {
            for (index, choice) in self.choices.iter().enumerate() {
                let text = choice.text();
                let chosen = index == self.selected;
                let style = if chosen { theme.selected } else { Style::new() };
                let mark = if chosen { "❯" } else { " " };
                if chosen {
                    at = lines.len();
                }
                let number = format!("  {mark} {}. ", index + 1);
                let margin = [Span::raw(" ".repeat(display_width(&number)))];
                lines.extend(wrap(
                    &[Span::styled(text, style)],
                    width.saturating_sub(1).max(8),
                    &[Span::raw(number)],
                    &margin,
                ));
            }
        }
        (lines, at)
    }
}
