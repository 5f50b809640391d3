//! The end of a turn: what was not shown yet, why it ended, what comes next.

use std::time::Instant;

use hermes_types::{StopReason, TurnOutcome};
use ratatui::text::{Line, Span};

use super::answer::unrendered;
use super::lines::tool_line;
use crate::app::{App, Effect, Queued};
use crate::markdown::wrap;

/// What a turn that is left in the middle leaves on the screen.
pub(in crate::app) fn left_behind(app: &mut App, now: Instant) -> Vec<Line<'static>> {
    let theme = app.preferences.theme;
    let Some(mut turn) = app.turn.take() else {
        return Vec::new();
    };
    let mut lines = turn.close_text();
    for tool in &turn.tools {
        let elapsed = now.duration_since(tool.started).as_millis();
        lines.push(tool_line(
            &tool.name,
            &tool.preview,
            true,
            u64::try_from(elapsed).unwrap_or(u64::MAX),
            "stopped",
            app.width,
            theme,
        ));
    }
    if turn.tools.is_empty() {
        lines.push(Line::styled("  ✗ stopped", theme.dim));
    }
    lines.push(Line::default());
    lines
}

pub(super) fn finished(app: &mut App, outcome: TurnOutcome, now: Instant) -> Vec<Effect> {
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
