//! A turn as it happens: text that streams, tools that run, what is left when
//! they are done.

use std::time::{Duration, Instant};

use hermes_types::{StopReason, TurnEvent, TurnOutcome};
use ratatui::text::{Line, Span};

use super::dialog::Dialog;
use super::picker::cut;
use super::{App, Effect, Queued, ToolLines};
use crate::markdown::{MarkdownStream, Page, display_width, wrap};
use crate::theme::Theme;

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

/// An answer as it arrives.
enum Answer {
    Rendered(Box<MarkdownStream>),
    /// As it was written; the open line, and the width it is broken at.
    Raw(String, usize),
}

impl Answer {
    fn new(page: &Page, raw: bool) -> Self {
        match raw {
            true => Self::Raw(String::new(), page.width),
            false => Self::Rendered(Box::new(MarkdownStream::new(page.clone()))),
        }
    }

    fn set_width(&mut self, width: usize) {
        match self {
            Self::Rendered(stream) => stream.set_width(width),
            Self::Raw(_, old) => *old = width,
        }
    }

    fn push(&mut self, delta: &str) -> Vec<Line<'static>> {
        match self {
            Self::Rendered(stream) => stream.push(delta),
            Self::Raw(pending, width) => {
                pending.push_str(delta);
                let whole = pending.rfind('\n').map_or(0, |at| at + 1);
                let done: String = pending.drain(..whole).collect();
                done.lines()
                    .flat_map(|line| unrendered(line, *width))
                    .collect()
            }
        }
    }

    fn open(&self) -> Vec<Line<'static>> {
        match self {
            Self::Rendered(stream) => stream.open(),
            Self::Raw(pending, _) if pending.is_empty() => Vec::new(),
            Self::Raw(pending, width) => unrendered(pending, *width),
        }
    }

    fn finish(&mut self) -> Vec<Line<'static>> {
        match self {
            Self::Rendered(stream) => stream.finish(),
            Self::Raw(..) => {
                let lines = self.open();
                if let Self::Raw(pending, _) = self {
                    pending.clear();
                }
                lines
            }
        }
    }
}

fn unrendered(line: &str, width: usize) -> Vec<Line<'static>> {
    wrap(&[Span::raw(line.to_owned())], width.max(8), &[], &[])
}

const DIFF_LINES: usize = 40;
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
    let (show_diffs, preview_limit) = (app.preferences.show_diffs, app.preferences.tool_preview);
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
            show_diffs,
            preview_limit,
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
    preview_limit: usize,
}

/// The lines that an event leaves behind for good.
fn shown(turn: &mut TurnView, event: TurnEvent, now: Instant, how: Shown) -> Vec<Line<'static>> {
    let Shown {
        theme,
        mode,
        show_diffs,
        preview_limit,
    } = how;
    match event {
        TurnEvent::Text { delta } => {
            turn.reasoning.clear();
            turn.answer.push_str(&delta);
            match &mut turn.held {
                Some(held) => {
                    held.push_str(&delta);
                    Vec::new()
                }
                None => {
                    turn.speaking = true;
                    turn.text.push(&delta)
                }
            }
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
            lines.extend(match app.preferences.raw_answers {
                true => unseen
                    .trim()
                    .lines()
                    .flat_map(|line| unrendered(line, app.width))
                    .collect(),
                false => crate::markdown::render(unseen.trim_start(), &app.page()),
            });
            if !unseen.trim().is_empty() {
                lines.push(Line::default());
            }
        }
        app.remember_answer(&outcome.answer);
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
        StopReason::KeyRefused => Some("the provider refuses the key"),
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
    if app.preferences.show_cost && outcome.cost.usd > 0.0 {
        lines.push(Line::styled(
            format!("  this turn cost ${:.4}", outcome.cost.usd),
            theme.dim,
        ));
        lines.push(Line::default());
    }
    app.status.turn_done(outcome.cost);
    // What was about the turn is over with it.
    app.hint = None;
    app.dialogs.retain(|dialog| !dialog.is_of_turn());
    let mut effects = vec![Effect::Print(lines)];
    if app.preferences.bell {
        effects.push(Effect::Bell);
    }
    if let Some(steer) = outcome.pending_steer {
        app.queue.insert(0, Queued::Message(steer));
    }
    effects.extend(app.next_in_queue(now));
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
    let call = format!("  ┊ {name:<9} {}", preview.replace('\n', " "));
    let time = format!("  {:.1}s", duration_ms as f64 / 1e3);
    let room = width.saturating_sub(display_width(&time));
    if !failed {
        return Line::from(vec![
            Span::styled(cut(call.trim_end(), room), theme.tool),
            Span::styled(time, theme.dim),
        ]);
    }
    // Why it failed matters more than what it was about.
    let room = room.saturating_sub(3);
    let reason = summary.replace('\n', " ");
    let call = cut(
        call.trim_end(),
        (room * 2 / 5).max(room.saturating_sub(display_width(&reason))),
    );
    let reason = cut(&reason, room.saturating_sub(display_width(&call)));
    Line::from(vec![
        Span::styled(call, theme.tool),
        Span::styled(format!("{time} ✗ {reason}"), theme.bad),
    ])
}

fn diff_lines(diff: &str, width: usize, theme: Theme) -> Vec<Line<'static>> {
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
            let line = line.replace('\t', "    ");
            Line::styled(cut(&format!("    {line}"), width), style)
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
