//! A turn as it happens: text that streams, tools that run, what is left when
//! they are done.

use std::time::{Duration, Instant};

use hermes_types::{StopReason, TurnEvent, TurnOutcome};
use ratatui::text::{Line, Span};

use super::dialog::Dialog;
use super::picker::cut;
use super::{App, Effect, ToolLines};
use crate::markdown::{MarkdownStream, Page, wrap};
use crate::theme::Theme;

pub(super) struct TurnView {
    pub(super) started: Instant,
    text: MarkdownStream,
    /// Whether the answer under way has shown anything.
    speaking: bool,
    answer: String,
    reasoning: String,
    tools: Vec<RunningTool>,
    pending: Option<String>,
    pub(super) interrupted: bool,
    page: Page,
}

struct RunningTool {
    id: String,
    name: String,
    preview: String,
    started: Instant,
    progress: String,
}

const DIFF_LINES: usize = 40;
const REASONING_LINES: usize = 3;

impl TurnView {
    pub(super) fn new(page: Page, now: Instant) -> Self {
        Self {
            started: now,
            text: MarkdownStream::new(page.clone()),
            speaking: false,
            answer: String::new(),
            reasoning: String::new(),
            tools: Vec::new(),
            pending: None,
            interrupted: false,
            page,
        }
    }

    pub(super) fn set_width(&mut self, width: usize) {
        self.page.width = width.saturating_sub(1);
        self.text.set_width(self.page.width);
    }

    /// Closes the paragraph under way, because something else is printed.
    fn close_text(&mut self) -> Vec<Line<'static>> {
        let mut lines = self.text.finish();
        if self.speaking {
            lines.push(Line::default());
        }
        self.text = MarkdownStream::new(self.page.clone());
        self.speaking = false;
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
    let page = app.page();
    let mode = app.preferences.tools;
    match event {
        TurnEvent::Usage {
            cost,
            context_used,
            context_window,
            ..
        } => {
            app.status.cost = cost;
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
            app.dialogs.retain(|dialog| dialog.ask.id != id);
            return Vec::new();
        }
        TurnEvent::Finished { outcome } => return finished(app, outcome, now),
        TurnEvent::Titled { .. } => return Vec::new(),
        _ => {}
    }
    if app.turn.is_none() {
        // Between turns nothing opens one by itself: it would never be closed.
        match event {
            TurnEvent::Notice { text } => return app.remark(&text),
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
    let turn = app.turn.get_or_insert_with(|| TurnView::new(page, now));
    let lines = match event {
        TurnEvent::Text { delta } => {
            turn.reasoning.clear();
            turn.speaking = true;
            turn.answer.push_str(&delta);
            turn.text.push(&delta)
        }
        TurnEvent::Reasoning { delta } => {
            turn.reasoning.push_str(&delta);
            Vec::new()
        }
        TurnEvent::TextDiscarded => {
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
            turn.pending = None;
            turn.answer.clear();
            turn.tools.push(RunningTool {
                id,
                name,
                preview,
                started: now,
                progress: String::new(),
            });
            turn.close_text()
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
            if mode != ToolLines::Off {
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
            lines.extend(diff.iter().flat_map(|diff| diff_lines(diff, theme)));
            lines
        }
        TurnEvent::Notice { text } => {
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
    };
    if lines.is_empty() {
        Vec::new()
    } else {
        vec![Effect::Print(lines)]
    }
}

fn condensed(before: u32, after: u32) -> String {
    format!("the conversation was condensed: {before} messages became {after}")
}

fn finished(app: &mut App, outcome: TurnOutcome, now: Instant) -> Vec<Effect> {
    let theme = app.preferences.theme;
    let mut lines = Vec::new();
    let mut answer = String::new();
    if let Some(mut turn) = app.turn.take() {
        answer = std::mem::take(&mut turn.answer);
        lines.extend(turn.close_text());
    }
    // What was not streamed (a summary at the limit, a note) is shown now.
    if !outcome.answer.trim().is_empty() {
        let unseen = outcome
            .answer
            .strip_prefix(answer.trim_end())
            .unwrap_or(&outcome.answer);
        if answer.is_empty() || unseen.len() < outcome.answer.len() {
            lines.extend(crate::markdown::render(unseen.trim_start(), &app.page()));
            if !unseen.trim().is_empty() {
                lines.push(Line::default());
            }
        }
        app.last_answer.clone_from(&outcome.answer);
    }
    let word = match outcome.reason {
        StopReason::Answered => None,
        StopReason::Interrupted => Some("stopped"),
        StopReason::IterationLimit => {
            Some("the limit of steps per turn is reached (`agent.max_turns`)")
        }
        StopReason::Budget => Some("a spend limit is reached"),
        StopReason::Guardrail => Some("stopped: the same step failed again and again"),
        StopReason::Partial => Some("the answer is incomplete"),
        StopReason::RateLimited => Some("the provider limits the rate"),
        StopReason::Failed => Some("the turn failed"),
    };
    if let Some(word) = word {
        let cause = outcome
            .error
            .map(|error| format!(": {error}"))
            .unwrap_or_default();
        let style = if outcome.reason == StopReason::Interrupted {
            theme.dim
        } else {
            theme.bad
        };
        let indent = [Span::styled("  ✗ ", style)];
        let rest = [Span::raw("    ")];
        lines.extend(wrap(
            &[Span::styled(format!("{word}{cause}"), style)],
            app.width.max(12),
            &indent,
            &rest,
        ));
        lines.push(Line::default());
    }
    app.status.cost = outcome.cost;
    app.dialogs.clear();
    let mut effects = vec![Effect::Print(lines)];
    if app.preferences.bell {
        effects.push(Effect::Bell);
    }
    if let Some(steer) = outcome.pending_steer {
        app.queue.insert(0, steer);
    }
    if !app.queue.is_empty() {
        let next = std::mem::take(&mut app.queue).join("\n");
        effects.extend(super::keys::send(app, next, now));
    }
    effects
}

fn tool_line(
    name: &str,
    preview: &str,
    failed: bool,
    duration_ms: u64,
    summary: &str,
    width: usize,
    theme: Theme,
) -> Line<'static> {
    let end = match failed {
        true => format!(
            "  {:.1}s ✗ {}",
            duration_ms as f64 / 1e3,
            cut(&summary.replace('\n', " "), 30)
        ),
        false => format!("  {:.1}s", duration_ms as f64 / 1e3),
    };
    let room = width.saturating_sub(crate::markdown::display_width(&end));
    let text = cut(
        &format!("  ┊ {name:<9} {}", preview.replace('\n', " ")),
        room,
    );
    let style = if failed { theme.bad } else { theme.dim };
    Line::from(vec![
        Span::styled(text, theme.tool),
        Span::styled(end, style),
    ])
}

fn diff_lines(diff: &str, theme: Theme) -> Vec<Line<'static>> {
    let all: Vec<&str> = diff
        .lines()
        .filter(|line| !line.starts_with("---") && !line.starts_with("+++"))
        .collect();
    let mut lines: Vec<Line<'static>> = all
        .iter()
        .take(DIFF_LINES)
        .map(|line| {
            let style = match line.chars().next() {
                Some('+') => theme.added,
                Some('-') => theme.removed,
                _ => theme.dim,
            };
            Line::styled(format!("    {line}"), style)
        })
        .collect();
    if all.len() > DIFF_LINES {
        lines.push(Line::styled(
            format!("    … {} more lines", all.len() - DIFF_LINES),
            theme.dim,
        ));
    }
    lines
}
