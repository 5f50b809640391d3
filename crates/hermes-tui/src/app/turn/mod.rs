//! A turn as it happens: text that streams, tools that run, what is left when
//! they are done.

mod answer;
mod end;
mod lines;

use std::time::{Duration, Instant};

use hermes_types::TurnEvent;
use ratatui::text::{Line, Span};

use super::dialog::Dialog;
use super::picker::cut;
use super::{App, Effect, ToolLines};
use crate::markdown::{Page, wrap};
use crate::theme::Theme;
use answer::Answer;
use end::finished;
pub(super) use end::left_behind;
use lines::{diff_lines, tool_line};

pub(super) struct TurnView {
    pub(super) started: Instant,
    text: Answer,
    /// Whether the answer under way has shown anything.
    speaking: bool,
    answer: String,
    reasoning: String,
    tools: Vec<RunningTool>,
    pending: Option<String>,
    pub(super) interrupted: bool,
    /// The tool whose line was printed last, so that repetitions can be left out.
    last_tool: String,
    page: Page,
    raw: bool,
    /// Text that is shown when it is whole; `None` where it is shown at once.
    held: Option<String>,
}

struct RunningTool {
    id: String,
    name: String,
    preview: String,
    started: Instant,
    progress: String,
}

const REASONING_LINES: usize = 3;

impl TurnView {
    pub(super) fn new(app: &App, now: Instant) -> Self {
        let (page, raw) = (app.page(), app.preferences.raw_answers);
        Self {
            started: now,
            text: Answer::new(&page, raw),
            speaking: false,
            answer: String::new(),
            reasoning: String::new(),
            tools: Vec::new(),
            pending: None,
            interrupted: false,
            last_tool: String::new(),
            page,
            raw,
            held: (!app.preferences.streaming).then(String::new),
        }
    }

    pub(super) fn set_width(&mut self, width: usize) {
        self.page.width = width.saturating_sub(1);
        self.text.set_width(self.page.width);
    }

    /// Closes the paragraph under way, because something else is printed.
    fn close_text(&mut self) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        if let Some(held) = self.held.as_mut().map(std::mem::take)
            && !held.is_empty()
        {
            self.speaking = true;
            lines.extend(self.text.push(&held));
        }
        lines.extend(self.text.finish());
        if self.speaking {
            lines.push(Line::default());
        }
        self.text = Answer::new(&self.page, self.raw);
        self.speaking = false;
        lines
    }

    /// What was thought so far, for the scrollback when it is to be seen.
    fn thoughts(&mut self, how: Shown) -> Vec<Line<'static>> {
        let thought = std::mem::take(&mut self.reasoning);
        if !how.show_reasoning || thought.trim().is_empty() {
            return Vec::new();
        }
        let bar = [Span::styled("  ┆ ", how.theme.dim)];
        let text = [Span::styled(thought.trim().to_owned(), how.theme.dim)];
        let mut lines = wrap(&text, self.page.width.max(8), &bar, &bar);
        lines.push(Line::default());
        lines
    }

    /// What is still changing: open text, running tools, a spinner.
    pub(super) fn live(
        &self,
        now: Instant,
        theme: Theme,
        show_reasoning: bool,
        rows: usize,
    ) -> Vec<Line<'static>> {
        let width = self.page.width;
        let mut lines = Vec::new();
        if show_reasoning && !self.reasoning.is_empty() {
            let thought = wrap(
                &[Span::styled(self.reasoning.clone(), theme.dim)],
                width.max(8),
                &[],
                &[],
            );
            let skip = thought.len().saturating_sub(REASONING_LINES);
            lines.extend(thought.into_iter().skip(skip));
        }
        let open = self.text.open();
        let skip = open.len().saturating_sub(rows);
        lines.extend(open.into_iter().skip(skip));
        for tool in &self.tools {
            let elapsed = now.duration_since(tool.started);
            let detail = if tool.progress.is_empty() {
                &tool.preview
            } else {
                &tool.progress
            };
            let text = format!(
                "  {} {:<9} {}",
                spinner(elapsed),
                tool.name,
                detail.replace('\n', " ")
            );
            lines.push(Line::from(vec![
                Span::styled(cut(&text, width.saturating_sub(9)), theme.tool),
                Span::styled(format!("  {:.1}s", elapsed.as_secs_f64()), theme.dim),
            ]));
        }
        if let Some(name) = &self.pending {
            lines.push(Line::styled(format!("  ┊ preparing {name}…"), theme.dim));
        }
        if self.tools.is_empty() && self.pending.is_none() && !self.speaking {
            let elapsed = now.duration_since(self.started);
            let word = if self.interrupted {
                "stopping"
            } else {
                "thinking"
            };
            lines.push(Line::styled(
                format!("  {} {word}…", spinner(elapsed)),
                theme.dim,
            ));
        }
        lines
    }
}

pub(super) fn spinner(elapsed: Duration) -> char {
    const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
    FRAMES[(elapsed.as_millis() / 100 % 10) as usize]
}

pub(super) fn apply(app: &mut App, event: TurnEvent, now: Instant) -> Vec<Effect> {
    let theme = app.preferences.theme;
    let mode = app.preferences.tools;
    match event {
        TurnEvent::Usage {
            cost,
            context_used,
            context_window,
            ..
        } => {
            app.status.turn_cost(cost);
            app.status.context_used = context_used;
            app.status.context_window = context_window;
            return Vec::new();
        }
        TurnEvent::Ask { ask } => {
            app.dialogs.push(Dialog::new(ask, now));
            return if app.preferences.bell {
                vec![Effect::Bell]
            } else {
                Vec::new()
            };
        }
        TurnEvent::AskClosed { id } => {
            app.dialogs.retain(|dialog| !dialog.is_about(id));
            return Vec::new();
        }
        TurnEvent::Finished { outcome } => return finished(app, outcome, now),
        TurnEvent::Titled { .. } => return Vec::new(),
        _ => {}
    }
    if matches!(event, TurnEvent::Compressed { .. }) {
        app.status.condensed += 1;
    }
    if app.turn.is_none() {
        // Between turns nothing opens one by itself: it would never be closed.
        match event {
            TurnEvent::Notice { text } | TurnEvent::Warning { text } => return app.remark(&text),
            TurnEvent::Compressed {
                messages_before,
                messages_after,
                ..
            } => {
                app.status.context_used = 0;
                return app.remark(&condensed(messages_before, messages_after));
            }
            TurnEvent::Started { .. } | TurnEvent::Requesting { .. } => {}
            _ => return Vec::new(),
        }
    }
    let mut turn = app.turn.take().unwrap_or_else(|| TurnView::new(app, now));
    let lines = shown(
        &mut turn,
        event,
        now,
        Shown {
            theme,
            mode,
            show_diffs: app.preferences.show_diffs,
            show_reasoning: app.preferences.show_reasoning,
            preview_limit: app.preferences.tool_preview,
        },
    );
    app.turn = Some(turn);
    if lines.is_empty() {
        Vec::new()
    } else {
        vec![Effect::Print(lines)]
    }
}

/// How much of a turn is printed.
#[derive(Clone, Copy)]
struct Shown {
    theme: Theme,
    mode: ToolLines,
    show_diffs: bool,
    show_reasoning: bool,
    preview_limit: usize,
}

/// The lines that an event leaves behind for good.
fn shown(turn: &mut TurnView, event: TurnEvent, now: Instant, how: Shown) -> Vec<Line<'static>> {
    let Shown {
        theme,
        mode,
        show_diffs,
        preview_limit,
        ..
    } = how;
    match event {
        TurnEvent::Text { delta } => {
            let mut lines = turn.thoughts(how);
            turn.answer.push_str(&delta);
            match &mut turn.held {
                Some(held) => held.push_str(&delta),
                None => {
                    turn.speaking = true;
                    lines.extend(turn.text.push(&delta));
                }
            }
            lines
        }
        TurnEvent::Reasoning { delta } => {
            turn.reasoning.push_str(&delta);
            Vec::new()
        }
        TurnEvent::TextDiscarded => {
            if let Some(held) = &mut turn.held {
                held.clear();
            }
            let mut lines = turn.close_text();
            turn.answer.clear();
            if !lines.is_empty() {
                lines.push(Line::styled(
                    "  (the answer above was cut off; it is asked for again)",
                    theme.dim,
                ));
            }
            lines
        }
        TurnEvent::ToolPending { name, .. } => {
            turn.pending = Some(name);
            Vec::new()
        }
        TurnEvent::ToolStarted {
            id, name, preview, ..
        } => {
            let mut lines = turn.thoughts(how);
            turn.pending = None;
            turn.answer.clear();
            let preview = match preview_limit {
                0 => preview,
                limit => cut(&preview, limit),
            };
            turn.tools.push(RunningTool {
                id,
                name,
                preview,
                started: now,
                progress: String::new(),
            });
            lines.extend(turn.close_text());
            lines
        }
        TurnEvent::ToolProgress { id, text } => {
            if let Some(tool) = turn.tools.iter_mut().find(|tool| tool.id == id) {
                tool.progress = text.lines().last().unwrap_or("").to_owned();
            }
            Vec::new()
        }
        TurnEvent::ToolFinished {
            id,
            name,
            failed,
            duration_ms,
            summary,
            diff,
        } => {
            let tool = turn
                .tools
                .iter()
                .position(|tool| tool.id == id)
                .map(|at| turn.tools.remove(at));
            let preview = tool.map(|tool| tool.preview).unwrap_or_default();
            let mut lines = turn.close_text();
            let repeated = mode == ToolLines::New && turn.last_tool == name && !failed;
            turn.last_tool.clone_from(&name);
            if mode != ToolLines::Off && !repeated {
                lines.push(tool_line(
                    &name,
                    &preview,
                    failed,
                    duration_ms,
                    &summary,
                    turn.page.width,
                    theme,
                ));
                if mode == ToolLines::Verbose {
                    let indent = [Span::raw("    ")];
                    lines.extend(wrap(
                        &[Span::styled(summary, theme.dim)],
                        turn.page.width.max(8),
                        &indent,
                        &indent,
                    ));
                }
            }
            if show_diffs {
                let width = turn.page.width;
                lines.extend(diff.iter().flat_map(|diff| diff_lines(diff, width, theme)));
            }
            lines
        }
        TurnEvent::Notice { text } | TurnEvent::Warning { text } => {
            let mut lines = turn.close_text();
            let indent = [Span::styled("  ! ", theme.warning)];
            let rest = [Span::raw("    ")];
            lines.extend(wrap(
                &[Span::styled(text, theme.dim)],
                turn.page.width.max(8),
                &indent,
                &rest,
            ));
            lines
        }
        TurnEvent::Steered { text } => {
            let mut lines = turn.close_text();
            lines.extend(wrap(
                &[Span::raw(text)],
                turn.page.width.max(8),
                &[Span::styled("  » ", theme.user)],
                &[Span::raw("    ")],
            ));
            lines
        }
        TurnEvent::Compressed {
            messages_before,
            messages_after,
            ..
        } => {
            let mut lines = turn.close_text();
            lines.push(Line::styled(
                format!("  ⇣ {}", condensed(messages_before, messages_after)),
                theme.warning,
            ));
            lines
        }
        TurnEvent::Child { event, index, .. } => match *event {
            TurnEvent::ToolFinished {
                name,
                failed,
                duration_ms,
                summary,
                ..
            } if mode != ToolLines::Off => {
                let label = format!("↳{} {name}", index + 1);
                vec![tool_line(
                    &label,
                    &summary,
                    failed,
                    duration_ms,
                    "",
                    turn.page.width,
                    theme,
                )]
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn condensed(before: u32, after: u32) -> String {
    format!("the conversation was condensed: {before} messages became {after}")
}
