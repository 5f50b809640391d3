//! One counter for everything that goes wrong, and the breaker behind it.
//!
//! A failure sends the task back to `ready` until the counter reaches the limit;
//! then it is blocked with `gave_up`. A block must survive the board's own
//! recompute, so when an attempt is not worth repeating the counter is raised to
//! the limit. (The reference blocks with a lower counter and promotes the task
//! again in the same tick.)

use serde_json::{Map, Value, json};

use super::action::{EventRun, Failure, FailureKind, Limit, NewEvent, RunClose, Transition};
use super::transition::{Refusal, check_fence, clear_claim, moved, require};
use super::{ERROR_CHARS, clip};
use crate::model::{EventKind, Outcome, Status, Task};

pub(super) fn fail(task: &Task, failure: &Failure) -> Result<Transition, Refusal> {
    require(task, &[Status::Running])?;
    check_fence(task, failure.fence)?;
    let error = clip(&failure.error, ERROR_CHARS);
    let mut failures = task.consecutive_failures + 1;
    if failure.at_once {
        failures = failures.max(failure.limit.value);
    }
    let trips = failures >= failure.limit.value;
    let mut next = moved(
        task,
        if trips {
            Status::Blocked
        } else {
            Status::Ready
        },
    );
    next.task.consecutive_failures = failures;
    next.task.last_failure_error = Some(error.clone());
    clear_claim(&mut next.task);

    let claimer = task.claim_lock.as_deref();
    // `own` is the failure's own event; a launch that failed for the last time and
    // a budget used up for the last time have none besides `gave_up`.
    let (outcome, own, extra) = match &failure.kind {
        FailureKind::Crashed { pid, exit } => {
            let mut payload = json!({"pid": pid, "claimer": claimer});
            if let Some((kind, code)) = exit {
                payload["exit_kind"] = json!(kind);
                payload["exit_code"] = json!(code);
            }
            let extra = json!({"pid": pid, "claimer": claimer});
            (Outcome::Crashed, Some((EventKind::Crashed, payload)), extra)
        }
        FailureKind::ProtocolViolation { pid } => {
            let payload = json!({"pid": pid, "claimer": claimer, "exit_code": 0});
            let extra = json!({"pid": pid, "claimer": claimer});
            (
                Outcome::Crashed,
                Some((EventKind::ProtocolViolation, payload)),
                extra,
            )
        }
        FailureKind::TimedOut {
            pid,
            elapsed,
            limit,
            sigkill,
        } => {
            let payload = json!({
                "pid": pid, "elapsed_seconds": elapsed, "limit_seconds": limit, "sigkill": sigkill,
            });
            let extra = json!({"pid": pid, "sigkill": sigkill});
            (
                Outcome::TimedOut,
                Some((EventKind::TimedOut, payload)),
                extra,
            )
        }
        FailureKind::SpawnFailed => {
            let payload = json!({"error": error, "failures": failures});
            (
                Outcome::SpawnFailed,
                (!trips).then_some((EventKind::SpawnFailed, payload)),
                json!({}),
            )
        }
        FailureKind::BudgetExhausted { used, max } => {
            let payload = json!({"error": error, "failures": failures});
            (
                Outcome::TimedOut,
                (!trips).then_some((EventKind::TimedOut, payload)),
                json!({"budget_used": used, "budget_max": max}),
            )
        }
    };

    let gave_up =
        trips.then(|| gave_up_payload(failures, failure.limit, &error, outcome.as_str(), &extra));
    let close = match &own {
        Some((EventKind::SpawnFailed | EventKind::TimedOut, payload))
            if payload.get("failures").is_some() =>
        {
            RunClose {
                metadata: map(json!({"failures": failures})),
                ..RunClose::of(outcome)
            }
        }
        Some((_, payload)) => RunClose {
            metadata: map(payload.clone()),
            ..RunClose::of(outcome)
        },
        None => RunClose {
            metadata: map(json!({
                "failures": failures,
                "trigger_outcome": outcome.as_str(),
                "effective_limit": failure.limit.value,
                "limit_source": failure.limit.source(),
            })),
            ..RunClose::of(Outcome::GaveUp)
        },
    };
    let close = RunClose {
        error: Some(error),
        ..close
    };
    let has_own_event = own.is_some();
    let run = next.end_run(task.current_run_id.is_some(), false, close);
    if let Some((kind, payload)) = own {
        next.events.push(NewEvent::with(kind, payload).on(run));
    }
    if let Some(payload) = gave_up {
        let belongs = if has_own_event { EventRun::None } else { run };
        next.events
            .push(NewEvent::with(EventKind::GaveUp, payload).on(belongs));
    }
    Ok(next)
}

/// Blocks a ready task that keeps being deferred for a reason only a person can
/// remove.
pub(super) fn give_up(
    task: &Task,
    error: &str,
    trigger: &str,
    limit: Limit,
) -> Result<Transition, Refusal> {
    require(task, &[Status::Ready])?;
    let mut next = moved(task, Status::Blocked);
    let failures = task.consecutive_failures.max(limit.value);
    next.task.consecutive_failures = failures;
    let payload = gave_up_payload(failures, limit, error, trigger, &json!({}));
    Ok(next.event(NewEvent::with(EventKind::GaveUp, payload)))
}

fn gave_up_payload(
    failures: i64,
    limit: Limit,
    error: &str,
    trigger: &str,
    extra: &Value,
) -> Value {
    let mut payload = json!({
        "failures": failures,
        "effective_limit": limit.value,
        "limit_source": limit.source(),
        "error": error,
        "trigger_outcome": trigger,
    });
    if let (Value::Object(map), Value::Object(more)) = (&mut payload, extra) {
        map.extend(more.clone());
    }
    payload
}

fn map(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(map) => Some(map),
        _ => None,
    }
}
