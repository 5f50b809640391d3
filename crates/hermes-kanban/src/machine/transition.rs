//! The one function that decides.

use hermes_types::TaskId;
use serde_json::{Value, json};
use thiserror::Error;

use super::action::{Action, EventRun, Fence, NewEvent, RunClose, Transition};
use super::{failure, lifecycle, release};
use crate::model::{EventKind, Outcome, Status, Task};

/// Why a task stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("task is {status}")]
    WrongStatus { status: Status },
    #[error("status={status} lock={}", lock.as_deref().unwrap_or("(none)"))]
    NotClaimable {
        status: Status,
        lock: Option<String>,
    },
    #[error(
        "unsatisfied parent dependencies: {} (use --force to override)",
        join(parents)
    )]
    OpenParents { parents: Vec<TaskId> },
    #[error("the task's parents are not finished")]
    ParentsOpen,
    #[error("run {expected} is over; the task's current run is {}", shown(*current))]
    RunIsOver { expected: i64, current: Option<i64> },
    #[error("somebody has taken it up meanwhile")]
    TakenUp,
    #[error("currently running (claimed)")]
    Claimed,
    #[error("nothing holds it and nothing lets it go")]
    NothingToDo,
}

fn join(ids: &[TaskId]) -> String {
    ids.iter()
        .map(TaskId::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}

fn shown(run: Option<i64>) -> String {
    run.map_or_else(|| "none".to_owned(), |id| id.to_string())
}

impl Transition {
    pub(super) fn to(task: Task) -> Self {
        Self {
            task,
            close: None,
            open: None,
            instant: None,
            events: Vec::new(),
        }
    }

    pub(super) fn event(mut self, event: NewEvent) -> Self {
        self.events.push(event);
        self
    }

    /// Ends the open run, or records an instant one when `otherwise` allows it.
    /// Gives back which run the event belongs to.
    pub(super) fn end_run(&mut self, had_run: bool, otherwise: bool, close: RunClose) -> EventRun {
        if had_run {
            self.close = Some(close);
            self.task.current_run_id = None;
            EventRun::Previous
        } else if otherwise {
            self.instant = Some(close);
            EventRun::New
        } else {
            EventRun::None
        }
    }
}

pub(super) fn clear_claim(task: &mut Task) {
    task.claim_lock = None;
    task.claim_expires = None;
    task.worker_pid = None;
}

pub(super) fn require(task: &Task, allowed: &[Status]) -> Result<(), Refusal> {
    if allowed.contains(&task.status) {
        Ok(())
    } else {
        Err(Refusal::WrongStatus {
            status: task.status,
        })
    }
}

pub(super) fn check_fence(task: &Task, fence: Fence) -> Result<(), Refusal> {
    match fence {
        Fence::Run(expected) if task.current_run_id != Some(expected) => Err(Refusal::RunIsOver {
            expected,
            current: task.current_run_id,
        }),
        Fence::Idle if task.current_run_id.is_some() => Err(Refusal::TakenUp),
        _ => Ok(()),
    }
}

/// What `action` makes of `task` at `now`.
pub fn transition(task: &Task, action: &Action, now: i64) -> Result<Transition, Refusal> {
    match action {
        Action::Promote {
            parents_open,
            sticky_block,
            limit,
        } => {
            let free = match task.status {
                Status::Todo => true,
                Status::Blocked => !sticky_block && task.consecutive_failures < *limit,
                _ => {
                    return Err(Refusal::WrongStatus {
                        status: task.status,
                    });
                }
            };
            if *parents_open || !free {
                return Err(Refusal::NothingToDo);
            }
            Ok(moved(task, Status::Ready).event(NewEvent::plain(EventKind::Promoted)))
        }
        Action::PromoteManually {
            actor,
            reason,
            forced,
            open_parents,
        } => {
            require(task, &[Status::Todo, Status::Blocked])?;
            if !open_parents.is_empty() && !forced {
                return Err(Refusal::OpenParents {
                    parents: open_parents.clone(),
                });
            }
            let payload = json!({"actor": actor, "reason": reason, "forced": forced});
            Ok(
                moved(task, Status::Ready)
                    .event(NewEvent::with(EventKind::PromotedManual, payload)),
            )
        }
        Action::Link {
            parent,
            parent_open,
        } => {
            let status = if task.status == Status::Ready && *parent_open {
                Status::Todo
            } else {
                task.status
            };
            Ok(moved(task, status).event(NewEvent::with(EventKind::Linked, link(parent, task))))
        }
        Action::Unlink { parent } => Ok(Transition::to(task.clone())
            .event(NewEvent::with(EventKind::Unlinked, link(parent, task)))),
        Action::ParentReopened { parent } => {
            require(task, &[Status::Ready])?;
            let payload = json!({"status": "todo", "reason": "parent_reopened", "parent": parent});
            Ok(moved(task, Status::Todo).event(NewEvent::with(EventKind::Status, payload)))
        }
        Action::RejectClaim => {
            require(task, &[Status::Ready])?;
            let payload = json!({"reason": "parents_not_done"});
            Ok(moved(task, Status::Todo).event(NewEvent::with(EventKind::ClaimRejected, payload)))
        }
        Action::Claim(claim) => lifecycle::claim(task, claim, now),
        Action::Spawned { pid } => lifecycle::spawned(task, *pid),
        Action::CheckIn { pid, fence } => lifecycle::check_in(task, *pid, *fence),
        Action::Heartbeat {
            note,
            extend_to,
            fence,
        } => lifecycle::heartbeat(task, note.as_deref(), *extend_to, *fence, now),
        Action::ExtendClaim { expires } => lifecycle::extend_claim(task, *expires),
        Action::Complete(completion) => lifecycle::complete(task, completion, now),
        Action::Block { reason, fence } => {
            require(task, &[Status::Running, Status::Ready])?;
            lifecycle::park(task, Status::Blocked, reason.as_deref(), *fence)
        }
        Action::Schedule { reason, fence } => {
            require(
                task,
                &[
                    Status::Todo,
                    Status::Ready,
                    Status::Running,
                    Status::Blocked,
                ],
            )?;
            lifecycle::park(task, Status::Scheduled, reason.as_deref(), *fence)
        }
        Action::Unblock { parents_open } => unblock(task, *parents_open),
        Action::Release(release) => release::release(task, release, now),
        Action::Fail(failure) => failure::fail(task, failure),
        Action::GiveUp {
            error,
            trigger,
            limit,
        } => failure::give_up(task, error, trigger, *limit),
        Action::Assign { assignee, source } => {
            if task.status == Status::Running && task.claim_lock.is_some() {
                return Err(Refusal::Claimed);
            }
            let mut next = task.clone();
            if next.assignee != *assignee {
                next.assignee = assignee.clone();
                next.consecutive_failures = 0;
                next.last_failure_error = None;
            }
            let mut payload = json!({"assignee": assignee});
            if let Some(source) = source {
                payload["source"] = json!(source);
            }
            Ok(Transition::to(next).event(NewEvent::with(EventKind::Assigned, payload)))
        }
        Action::Archive { fence } => archive(task, *fence),
        Action::Specify {
            title,
            body,
            assignee,
        } => lifecycle::specify(task, title.as_deref(), body.as_deref(), assignee.as_deref()),
        Action::Decompose { children, assignee } => {
            require(task, &[Status::Triage])?;
            let mut next = moved(task, Status::Todo);
            next.task.assignee = assignee.clone();
            let payload = json!({"child_ids": children, "root_assignee": assignee});
            Ok(next.event(NewEvent::with(EventKind::Decomposed, payload)))
        }
        Action::MoveTo {
            status,
            parents_open,
        } => move_to(task, *status, *parents_open),
        Action::EditResult {
            result,
            summary,
            metadata,
        } => lifecycle::edit_result(task, result, summary.as_deref(), metadata.is_some()),
        Action::EditText { title, body } => {
            let mut next = task.clone();
            if let Some(title) = title {
                next.title.clone_from(title);
            }
            if let Some(body) = body {
                next.body = Some(body.clone());
            }
            Ok(Transition::to(next).event(NewEvent::plain(EventKind::Edited)))
        }
        Action::Reprioritize { priority } => {
            let mut next = task.clone();
            next.priority = *priority;
            let payload = json!({"priority": priority});
            Ok(Transition::to(next).event(NewEvent::with(EventKind::Reprioritized, payload)))
        }
    }
}

pub(super) fn moved(task: &Task, status: Status) -> Transition {
    let mut next = task.clone();
    next.status = status;
    Transition::to(next)
}

fn link(parent: &TaskId, child: &Task) -> Value {
    json!({"parent": parent, "child": child.id})
}

fn unblock(task: &Task, parents_open: bool) -> Result<Transition, Refusal> {
    require(task, &[Status::Blocked, Status::Scheduled])?;
    let status = if parents_open {
        Status::Todo
    } else {
        Status::Ready
    };
    let mut next = moved(task, status);
    next.task.consecutive_failures = 0;
    next.task.last_failure_error = None;
    clear_claim(&mut next.task);
    lifecycle::close_leaked_run(task, &mut next);
    let event = if parents_open {
        NewEvent::with(EventKind::Unblocked, json!({"status": "todo"}))
    } else {
        NewEvent::plain(EventKind::Unblocked)
    };
    Ok(next.event(event))
}

fn archive(task: &Task, fence: Fence) -> Result<Transition, Refusal> {
    check_fence(task, fence)?;
    if task.status == Status::Archived {
        return Err(Refusal::WrongStatus {
            status: task.status,
        });
    }
    let mut next = moved(task, Status::Archived);
    clear_claim(&mut next.task);
    let close = RunClose {
        summary: Some("archived while its run was open".to_owned()),
        ..RunClose::of(Outcome::Reclaimed)
    };
    let run = next.end_run(task.current_run_id.is_some(), false, close);
    Ok(next.event(NewEvent::plain(EventKind::Archived).on(run)))
}

fn move_to(task: &Task, status: Status, parents_open: bool) -> Result<Transition, Refusal> {
    if !matches!(status, Status::Triage | Status::Todo | Status::Ready) || task.status == status {
        return Err(Refusal::WrongStatus {
            status: task.status,
        });
    }
    if status == Status::Ready && parents_open {
        return Err(Refusal::ParentsOpen);
    }
    let mut next = moved(task, status);
    clear_claim(&mut next.task);
    let run = next.end_run(
        task.current_run_id.is_some(),
        false,
        RunClose::of(Outcome::Reclaimed),
    );
    Ok(next.event(NewEvent::with(EventKind::Status, json!({"status": status})).on(run)))
}
