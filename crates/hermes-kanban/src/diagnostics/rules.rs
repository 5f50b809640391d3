//! One function per rule.

use serde_json::{Map, Value, json};

use super::{Action, Diagnostic, Severity, Thresholds};
use crate::machine::first_line;
use crate::model::{Event, EventKind, Outcome, Run, Status};
use crate::store::Examined;

/// Whether a model for triage can be had; decided by whoever knows the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auxiliary {
    Available,
    Missing,
}

/// Everything the rules find, worst first, then newest first.
pub fn diagnose(
    examined: &Examined,
    thresholds: &Thresholds,
    auxiliary: Auxiliary,
    now: i64,
) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = [
        hallucinated_cards(examined),
        triage_aux_unavailable(examined, auxiliary),
        prose_phantom_refs(examined),
        repeated_failures(examined, thresholds, now),
        repeated_crashes(examined, thresholds, now),
        stuck_in_blocked(examined, thresholds, now),
        block_unblock_cycling(examined, thresholds, now),
        stranded_in_ready(examined, thresholds, now),
    ]
    .into_iter()
    .flatten()
    .collect();
    found.sort_by(|a, b| {
        b.severity
            .cmp(&a.severity)
            .then(b.last_seen_at.cmp(&a.last_seen_at))
    });
    found
}

fn hallucinated_cards(examined: &Examined) -> Option<Diagnostic> {
    let events = unresolved(examined, EventKind::CompletionBlockedHallucination);
    let ids = collect(&events, "phantom_cards");
    let (first, last) = span(&events)?;
    Some(Diagnostic {
        kind: "hallucinated_cards",
        severity: Severity::Error,
        title: "Completion named cards that do not exist".to_owned(),
        detail: format!(
            "A completion was refused because these cards were not created for the task: {}.",
            ids.join(", ")
        ),
        actions: vec![show(examined, true), reassign(examined)],
        first_seen_at: first,
        last_seen_at: last,
        count: events.len() as i64,
        run_id: events.last().and_then(|event| event.run_id),
        data: data(json!({ "phantom_ids": ids })),
    })
}

fn prose_phantom_refs(examined: &Examined) -> Option<Diagnostic> {
    let events = unresolved_after_completion(examined);
    let refs = collect(&events, "phantom_refs");
    let (first, last) = span(&events)?;
    Some(Diagnostic {
        kind: "prose_phantom_refs",
        severity: Severity::Warning,
        title: "Summary mentions tasks that do not exist".to_owned(),
        detail: format!(
            "The summary mentions {}, which this board does not know.",
            refs.join(", ")
        ),
        actions: vec![show(examined, true)],
        first_seen_at: first,
        last_seen_at: last,
        count: events.len() as i64,
        run_id: events.last().and_then(|event| event.run_id),
        data: data(json!({ "phantom_refs": refs })),
    })
}

fn triage_aux_unavailable(examined: &Examined, auxiliary: Auxiliary) -> Option<Diagnostic> {
    let task = &examined.task;
    if task.status != Status::Triage || auxiliary == Auxiliary::Available {
        return None;
    }
    let command = "hermes config set auxiliary.triage_specifier.model <model>";
    Some(Diagnostic {
        kind: "triage_aux_unavailable",
        severity: Severity::Warning,
        title: "No model for triage".to_owned(),
        detail: "The task waits in triage, and neither auxiliary.triage_specifier nor a main \
                 model is configured."
            .to_owned(),
        actions: vec![cli_hint(
            format!("Name a model: {command}"),
            command.to_owned(),
            true,
        )],
        first_seen_at: task.created_at,
        last_seen_at: task.created_at,
        count: 1,
        run_id: None,
        data: Map::new(),
    })
}

fn repeated_failures(examined: &Examined, at: &Thresholds, now: i64) -> Option<Diagnostic> {
    let task = &examined.task;
    if task.consecutive_failures < at.failures {
        return None;
    }
    let last = ended(examined).last();
    let outcome = last.map_or("unknown", |run| run.state()).to_owned();
    let error = task.last_failure_error.clone().unwrap_or_default();
    let failures = task.consecutive_failures;
    Some(Diagnostic {
        kind: "repeated_failures",
        severity: doubled(failures, at.failures),
        title: format!("Failed {failures}x ({outcome}): {}", first_line(&error, 80)),
        detail: format!("{failures} attempts in a row failed. The last error was:\n\n{error}"),
        actions: vec![log(examined), reclaim(examined), reassign(examined)],
        first_seen_at: now,
        last_seen_at: now,
        count: failures,
        run_id: None,
        data: data(json!({
            "consecutive_failures": failures,
            "most_recent_outcome": outcome,
            "last_error": error,
            "failure_threshold": at.failures,
            "failure_limit": at.failure_limit,
        })),
    })
}

fn repeated_crashes(examined: &Examined, at: &Thresholds, now: i64) -> Option<Diagnostic> {
    if examined.task.consecutive_failures >= at.failures {
        return None;
    }
    let mut crashes = 0;
    let mut error = None;
    for run in ended(examined).collect::<Vec<_>>().into_iter().rev() {
        if run.ended_as(Outcome::Crashed) {
            crashes += 1;
            error = error.or_else(|| run.error.clone());
        } else if run.ended_as(Outcome::Completed) || run.ended_as(Outcome::Reclaimed) {
            break;
        }
    }
    if crashes < at.crashes {
        return None;
    }
    let error = error.unwrap_or_default();
    Some(Diagnostic {
        kind: "repeated_crashes",
        severity: doubled(crashes, at.crashes),
        title: format!("Agent crashed {crashes}x: {}", first_line(&error, 80)),
        detail: format!("The last {crashes} attempts crashed. The last error was:\n\n{error}"),
        actions: vec![log(examined), reassign(examined)],
        first_seen_at: now,
        last_seen_at: now,
        count: crashes,
        run_id: None,
        data: data(json!({"consecutive_crashes": crashes, "last_error": error})),
    })
}

fn stuck_in_blocked(examined: &Examined, at: &Thresholds, now: i64) -> Option<Diagnostic> {
    if examined.task.status != Status::Blocked {
        return None;
    }
    let blocked = last(examined, &[EventKind::Blocked])?;
    let answered = examined.events.iter().any(|event| {
        event.id > blocked.id && (event.is(EventKind::Commented) || event.is(EventKind::Unblocked))
    });
    let age = now - blocked.created_at;
    if answered || age < at.blocked_hours * 3600 {
        return None;
    }
    Some(Diagnostic {
        kind: "stuck_in_blocked",
        severity: Severity::Warning,
        title: format!("Task has been blocked for {}h", age / 3600),
        detail: format!(
            "Blocked {}h ago, and nobody has commented or unblocked it since. It waits for a \
             person: read the reason, then answer or unblock.",
            age / 3600
        ),
        actions: vec![Action {
            kind: "comment",
            label: "Add a comment / unblock the task".to_owned(),
            payload: json!({}),
            suggested: true,
        }],
        first_seen_at: blocked.created_at,
        last_seen_at: blocked.created_at,
        count: 1,
        run_id: None,
        data: data(json!({
            "blocked_at": blocked.created_at,
            "age_hours": tenths(age as f64 / 3600.0),
        })),
    })
}

fn block_unblock_cycling(examined: &Examined, at: &Thresholds, now: i64) -> Option<Diagnostic> {
    let since = now - at.block_cycle_window;
    let mut unblocked = false;
    let mut cycles: Vec<&Event> = Vec::new();
    for event in examined
        .events
        .iter()
        .filter(|event| event.created_at >= since)
    {
        if event.is(EventKind::Unblocked) {
            unblocked = true;
        } else if event.is(EventKind::Blocked) && unblocked {
            cycles.push(event);
            unblocked = false;
        }
    }
    if (cycles.len() as i64) < at.block_cycles {
        return None;
    }
    let (first, last) = span(&cycles)?;
    Some(Diagnostic {
        kind: "block_unblock_cycling",
        severity: Severity::Warning,
        title: format!("Blocked again {}x after being unblocked", cycles.len()),
        detail: "The task keeps coming back blocked: unblocking alone does not answer what it \
                 asks for."
            .to_owned(),
        actions: vec![show(examined, true), reassign(examined)],
        first_seen_at: first,
        last_seen_at: last,
        count: cycles.len() as i64,
        run_id: None,
        data: data(json!({
            "cycles": cycles.len(),
            "window_seconds": at.block_cycle_window,
        })),
    })
}

fn stranded_in_ready(examined: &Examined, at: &Thresholds, now: i64) -> Option<Diagnostic> {
    let task = &examined.task;
    let assignee = task.assignee.as_deref()?;
    if task.status != Status::Ready || task.claim_lock.is_some() {
        return None;
    }
    let kinds = [
        EventKind::Created,
        EventKind::Promoted,
        EventKind::PromotedManual,
        EventKind::Reclaimed,
        EventKind::Unblocked,
    ];
    let since = last(examined, &kinds).map_or(task.created_at, |event| event.created_at);
    let age = now - since;
    if age < at.stranded_seconds {
        return None;
    }
    let severity = match age {
        age if age >= at.stranded_seconds * 6 => Severity::Critical,
        age if age >= at.stranded_seconds * 2 => Severity::Error,
        _ => Severity::Warning,
    };
    let shown = if age >= 3600 {
        format!("{:.1}h", age as f64 / 3600.0)
    } else {
        format!("{}m", age / 60)
    };
    let command = "hermes kanban dispatch --dry-run";
    Some(Diagnostic {
        kind: "stranded_in_ready",
        severity,
        title: format!("Ready for {shown} with no worker"),
        detail: format!(
            "Nobody has claimed the task for {shown}. Either no dispatcher runs, or '{assignee}' \
             is no profile here and the workers of that lane are away; {command} tells which."
        ),
        actions: vec![
            Action {
                kind: "reassign",
                label: "Reassign to a different worker".to_owned(),
                payload: json!({ "current_assignee": assignee }),
                suggested: false,
            },
            cli_hint(
                "See what a dispatcher would do".to_owned(),
                command.to_owned(),
                false,
            ),
        ],
        first_seen_at: since,
        last_seen_at: since,
        count: 1,
        run_id: None,
        data: data(json!({
            "ready_since": since,
            "age_seconds": age,
            "assignee": assignee,
            "threshold_seconds": at.stranded_seconds,
        })),
    })
}

/// Findings of `kind` that no completion or edit has answered.
fn unresolved(examined: &Examined, kind: EventKind) -> Vec<&Event> {
    let answered = last(examined, &[EventKind::Completed, EventKind::Edited]).map_or(0, |e| e.id);
    examined
        .events
        .iter()
        .filter(|event| event.is(kind) && event.id > answered)
        .collect()
}

/// These are written with the completion itself, so only an edit, or a later
/// completion, answers them.
fn unresolved_after_completion(examined: &Examined) -> Vec<&Event> {
    unresolved(examined, EventKind::SuspectedHallucinatedReferences)
}

fn collect(events: &[&Event], key: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for event in events {
        let named = event
            .payload
            .as_ref()
            .and_then(|p| p.get(key)?.as_array().cloned());
        for value in named.unwrap_or_default() {
            if let Value::String(id) = value
                && !out.contains(&id)
            {
                out.push(id);
            }
        }
    }
    out
}

fn ended(examined: &Examined) -> impl Iterator<Item = &Run> {
    examined.runs.iter().filter(|run| run.ended_at.is_some())
}

fn last<'a>(examined: &'a Examined, kinds: &[EventKind]) -> Option<&'a Event> {
    examined
        .events
        .iter()
        .rev()
        .find(|event| kinds.iter().any(|kind| event.is(*kind)))
}

fn span(events: &[&Event]) -> Option<(i64, i64)> {
    Some((events.first()?.created_at, events.last()?.created_at))
}

fn doubled(count: i64, threshold: i64) -> Severity {
    if count >= threshold * 2 {
        Severity::Critical
    } else {
        Severity::Error
    }
}

fn tenths(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

fn data(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn cli_hint(label: String, command: String, suggested: bool) -> Action {
    Action {
        kind: "cli_hint",
        label,
        payload: json!({ "command": command }),
        suggested,
    }
}

fn show(examined: &Examined, suggested: bool) -> Action {
    let command = format!("hermes kanban show {}", examined.task.id);
    cli_hint(format!("Look at it: {command}"), command, suggested)
}

fn log(examined: &Examined) -> Action {
    let command = format!("hermes kanban log {}", examined.task.id);
    cli_hint(format!("Check logs: {command}"), command, true)
}

fn reclaim(examined: &Examined) -> Action {
    let running = examined.task.status == Status::Running;
    Action {
        kind: if running { "reclaim" } else { "unblock" },
        label: if running {
            "Reclaim the task"
        } else {
            "Unblock and try again"
        }
        .to_owned(),
        payload: json!({}),
        suggested: false,
    }
}

fn reassign(examined: &Examined) -> Action {
    let running = examined.task.status == Status::Running;
    Action {
        kind: "reassign",
        label: "Reassign to different profile".to_owned(),
        payload: json!({ "reclaim_first": running }),
        suggested: false,
    }
}
