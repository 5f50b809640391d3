//! Claims that end without anybody's fault being counted.

use serde_json::{Value, json};

use super::ERROR_CHARS;
use super::action::{EventRun, NewEvent, Release, RunClose, Transition};
use super::clip;
use super::transition::{Refusal, clear_claim, moved, require};
use crate::model::{EventKind, Outcome, Status, Task};

pub(super) fn release(task: &Task, release: &Release, now: i64) -> Result<Transition, Refusal> {
    if let Release::Manual { .. } = release {
        require(task, &[Status::Running, Status::Ready, Status::Blocked])?;
        if task.status != Status::Running && task.claim_lock.is_none() {
            return Err(Refusal::NothingToDo);
        }
    } else {
        require(task, &[Status::Running])?;
    }
    let mut next = moved(task, Status::Ready);
    clear_claim(&mut next.task);
    let lock = task.claim_lock.as_deref();
    let (close, kind, payload) = match release {
        Release::Manual {
            reason,
            termination,
        } => {
            next.task.consecutive_failures = 0;
            next.task.last_failure_error = None;
            let error = match reason {
                Some(reason) => format!("manual_reclaim: {reason}"),
                None => format!("manual_reclaim lock={}", lock.unwrap_or("None")),
            };
            let mut payload = json!({"manual": true, "reason": reason, "prev_lock": lock});
            extend(&mut payload, termination.to_map());
            let close = RunClose {
                error: Some(error),
                metadata: Some(termination.to_map()),
                ..RunClose::of(Outcome::Reclaimed)
            };
            (close, EventKind::Reclaimed, payload)
        }
        Release::Expired {
            host_local,
            heartbeat_stale,
            termination,
        } => {
            let mut payload = json!({
                "stale_lock": lock,
                "worker_pid": task.worker_pid,
                "claim_expires": task.claim_expires,
                "last_heartbeat_at": task.last_heartbeat_at,
                "now": now,
                "host_local": host_local,
                "heartbeat_stale": heartbeat_stale,
            });
            let mut ended = termination.to_map();
            ended.remove("host_local");
            extend(&mut payload, ended);
            let close = RunClose {
                error: Some(format!("stale_lock={}", lock.unwrap_or("None"))),
                metadata: Some(termination.to_map()),
                ..RunClose::of(Outcome::Reclaimed)
            };
            (close, EventKind::Reclaimed, payload)
        }
        Release::Stale {
            elapsed,
            heartbeat_age,
            timeout,
            termination,
        } => {
            let mut payload = json!({
                "elapsed_seconds": elapsed,
                "last_heartbeat_at": task.last_heartbeat_at,
                "heartbeat_age_seconds": heartbeat_age,
                "timeout_seconds": timeout,
                "pid": task.worker_pid,
            });
            extend(&mut payload, termination.to_map());
            let close = RunClose {
                error: Some(format!(
                    "no heartbeat: running for {elapsed}s, limit {timeout}s"
                )),
                metadata: payload.as_object().cloned(),
                ..RunClose::of(Outcome::Stale)
            };
            (close, EventKind::Stale, payload)
        }
        Release::RateLimited { exit_code, error } => {
            next.task.last_failure_error = Some(clip(error, ERROR_CHARS));
            let payload = json!({"pid": task.worker_pid, "claimer": lock, "exit_code": exit_code});
            let close = RunClose {
                error: Some(clip(error, ERROR_CHARS)),
                metadata: payload.as_object().cloned(),
                ..RunClose::of(Outcome::RateLimited)
            };
            (close, EventKind::RateLimited, payload)
        }
        Release::Abandoned { reason, error } => {
            let payload = json!({
                "stale_lock": lock,
                "worker_pid": task.worker_pid,
                "claim_expires": task.claim_expires,
                "last_heartbeat_at": task.last_heartbeat_at,
                "now": now,
                "host_local": true,
                "heartbeat_stale": false,
                "reason": reason,
            });
            let close = RunClose {
                error: Some(error.clone()),
                ..RunClose::of(Outcome::Reclaimed)
            };
            (close, EventKind::Reclaimed, payload)
        }
    };
    let run = next.end_run(task.current_run_id.is_some(), false, close);
    debug_assert!(
        run != EventRun::New,
        "a release never writes an instant run"
    );
    Ok(next.event(NewEvent::with(kind, payload).on(run)))
}

fn extend(payload: &mut Value, more: serde_json::Map<String, Value>) {
    if let Value::Object(map) = payload {
        map.extend(more);
    }
}
