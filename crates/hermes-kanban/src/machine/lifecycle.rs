//! Claim, work, report: the way of a task that goes well.

use serde_json::{Map, Value, json};

use super::action::{Claim, Completion, EventRun, Fence, NewEvent, RunClose, RunOpen, Transition};
use super::transition::{Refusal, check_fence, clear_claim, moved, require};
use super::{EVENT_SUMMARY_CHARS, first_line};
use crate::model::{EventKind, Outcome, Status, Task};

pub(super) fn claim(task: &Task, claim: &Claim, now: i64) -> Result<Transition, Refusal> {
    let claimable = matches!(task.status, Status::Ready | Status::Review);
    if !claimable || task.claim_lock.is_some() {
        return Err(Refusal::NotClaimable {
            status: task.status,
            lock: task.claim_lock.clone(),
        });
    }
    // A review looks at finished work: its parents do not matter.
    if task.status == Status::Ready && claim.parents_open && !claim.waived {
        return Err(Refusal::ParentsOpen);
    }
    let mut next = moved(task, Status::Running);
    close_leaked_run(task, &mut next);
    next.task.claim_lock = Some(claim.lock.clone());
    next.task.claim_expires = Some(claim.expires);
    next.task.worker_pid = None;
    // A heartbeat of an earlier attempt says nothing about this one.
    next.task.last_heartbeat_at = None;
    next.task.started_at = task.started_at.or(Some(now));
    next.open = Some(RunOpen {
        profile: task.assignee.clone(),
        step_key: task.current_step_key.clone(),
        lock: claim.lock.clone(),
        expires: claim.expires,
        max_runtime_seconds: task.max_runtime_seconds,
    });
    let mut payload = json!({"lock": claim.lock, "expires": claim.expires, "run_id": null});
    if task.status == Status::Review {
        payload["source_status"] = json!("review");
    }
    Ok(next.event(NewEvent::with(EventKind::Claimed, payload).on(EventRun::New)))
}

/// A run that nobody closed, on a task that nobody works on.
pub(super) fn close_leaked_run(task: &Task, next: &mut Transition) {
    if task.current_run_id.is_some() {
        next.task.current_run_id = None;
        next.close = Some(RunClose {
            summary: Some("invariant recovery: the run was left open".to_owned()),
            ..RunClose::of(Outcome::Reclaimed)
        });
    }
}

pub(super) fn spawned(task: &Task, pid: i64) -> Result<Transition, Refusal> {
    require(task, &[Status::Running])?;
    let mut next = Transition::to(task.clone());
    next.task.worker_pid = Some(pid);
    let event = NewEvent::with(EventKind::Spawned, json!({"pid": pid})).on(EventRun::Previous);
    Ok(next.event(event))
}

/// The worker confirms that the run is its own before it does anything. It fills
/// the pid in when the dispatcher died between launching it and writing it down.
pub(super) fn check_in(task: &Task, pid: i64, fence: Fence) -> Result<Transition, Refusal> {
    require(task, &[Status::Running])?;
    check_fence(task, fence)?;
    match task.worker_pid {
        None => spawned(task, pid),
        Some(known) if known == pid => Ok(Transition::to(task.clone())),
        Some(_) => Err(Refusal::Claimed),
    }
}

pub(super) fn heartbeat(
    task: &Task,
    note: Option<&str>,
    extend_to: Option<i64>,
    fence: Fence,
    now: i64,
) -> Result<Transition, Refusal> {
    require(task, &[Status::Running])?;
    check_fence(task, fence)?;
    let mut next = Transition::to(task.clone());
    next.task.last_heartbeat_at = Some(now);
    if let (Some(expires), Some(_)) = (extend_to, &task.claim_lock) {
        next.task.claim_expires = Some(expires);
    }
    let event = match note {
        Some(note) => NewEvent::with(EventKind::Heartbeat, json!({"note": note})),
        None => NewEvent::plain(EventKind::Heartbeat),
    };
    Ok(next.event(event.on(EventRun::Previous)))
}

pub(super) fn extend_claim(task: &Task, expires: i64) -> Result<Transition, Refusal> {
    require(task, &[Status::Running])?;
    let mut next = Transition::to(task.clone());
    next.task.claim_expires = Some(expires);
    let payload = json!({
        "reason": "pid_alive",
        "worker_pid": task.worker_pid,
        "claim_lock": task.claim_lock,
        "claim_expires_was": task.claim_expires,
        "claim_expires_now": expires,
        "last_heartbeat_at": task.last_heartbeat_at,
    });
    Ok(next.event(NewEvent::with(EventKind::ClaimExtended, payload).on(EventRun::Previous)))
}

pub(super) fn complete(
    task: &Task,
    completion: &Completion,
    now: i64,
) -> Result<Transition, Refusal> {
    require(task, &[Status::Running, Status::Ready, Status::Blocked])?;
    check_fence(task, completion.fence)?;
    let mut next = moved(task, Status::Done);
    next.task.result.clone_from(&completion.result);
    next.task.completed_at = Some(now);
    next.task.consecutive_failures = 0;
    next.task.last_failure_error = None;
    clear_claim(&mut next.task);

    let summary = completion
        .summary
        .clone()
        .or_else(|| completion.result.clone());
    let metadata = completion.metadata.as_ref().map(as_map);
    let had_run = task.current_run_id.is_some();
    let worth_a_run = summary.is_some() || metadata.is_some();
    let close = RunClose {
        status: if had_run { "done" } else { "completed" },
        summary: summary.clone(),
        metadata,
        ..RunClose::of(Outcome::Completed)
    };
    let run = next.end_run(had_run, worth_a_run, close);

    let result_len = completion.result.as_ref().map_or(0, |r| r.chars().count());
    let shown = summary
        .map(|text| first_line(&text, EVENT_SUMMARY_CHARS))
        .filter(|line| !line.is_empty());
    let mut payload = json!({"result_len": result_len, "summary": shown});
    if !completion.verified_cards.is_empty() {
        payload["verified_cards"] = json!(completion.verified_cards);
    }
    if !completion.artifacts.is_empty() {
        payload["artifacts"] = json!(completion.artifacts);
    }
    Ok(next.event(NewEvent::with(EventKind::Completed, payload).on(run)))
}

/// Block and schedule: set aside until somebody acts.
pub(super) fn park(
    task: &Task,
    status: Status,
    reason: Option<&str>,
    fence: Fence,
) -> Result<Transition, Refusal> {
    check_fence(task, fence)?;
    let (outcome, kind) = match status {
        Status::Scheduled => (Outcome::Scheduled, EventKind::Scheduled),
        _ => (Outcome::Blocked, EventKind::Blocked),
    };
    let mut next = moved(task, status);
    clear_claim(&mut next.task);
    let close = RunClose {
        summary: reason.map(str::to_owned),
        ..RunClose::of(outcome)
    };
    let run = next.end_run(task.current_run_id.is_some(), reason.is_some(), close);
    Ok(next.event(NewEvent::with(kind, json!({"reason": reason})).on(run)))
}

pub(super) fn specify(
    task: &Task,
    title: Option<&str>,
    body: Option<&str>,
    assignee: Option<&str>,
) -> Result<Transition, Refusal> {
    require(task, &[Status::Triage])?;
    let mut next = moved(task, Status::Todo);
    let mut changed = Vec::new();
    if let Some(title) = title.filter(|t| *t != task.title) {
        next.task.title = title.to_owned();
        changed.push("title");
    }
    if let Some(body) = body.filter(|b| Some(*b) != task.body.as_deref()) {
        next.task.body = Some(body.to_owned());
        changed.push("body");
    }
    // Somebody chosen by a person stays.
    if let Some(assignee) = assignee.filter(|_| task.assignee.is_none()) {
        next.task.assignee = Some(assignee.to_owned());
        changed.push("assignee");
    }
    let payload = json!({"changed_fields": changed});
    Ok(next.event(NewEvent::with(EventKind::Specified, payload)))
}

pub(super) fn edit_result(
    task: &Task,
    result: &str,
    summary: Option<&str>,
    with_metadata: bool,
) -> Result<Transition, Refusal> {
    require(task, &[Status::Done])?;
    let mut next = Transition::to(task.clone());
    next.task.result = Some(result.to_owned());
    let mut fields = vec!["result", "summary"];
    if with_metadata {
        fields.push("metadata");
    }
    let shown = first_line(summary.unwrap_or(result), EVENT_SUMMARY_CHARS);
    let payload = json!({
        "fields": fields,
        "result_len": result.chars().count(),
        "summary": shown,
    });
    Ok(next.event(NewEvent::with(EventKind::Edited, payload).on(EventRun::New)))
}

fn as_map(value: &Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map.clone(),
        other => {
            let mut map = Map::new();
            map.insert("value".to_owned(), other.clone());
            map
        }
    }
}
