//! Taking tasks by hand, keeping them, and taking them back.

use super::arguments::{ClaimArgs, HeartbeatArgs, ReassignArgs, ReclaimArgs};
use super::context::{Failure, Output, Session, task_id};
use super::tasks::{profile, refused};
use crate::env;
use crate::error::KanbanError;
use crate::machine::{Refusal, Release};
use crate::model::Task;
use crate::store::ClaimRequest;
use crate::worker::resolve_workspace;

pub(super) fn claim(
    args: ClaimArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let id = task_id(&args.task_id);
    let request = ClaimRequest {
        lock: session.context.host.claim_lock(),
        ttl: args.ttl.unwrap_or(session.settings.claim_ttl),
        host: None,
    };
    let task = session
        .board
        .claim(&id, &request)
        .map_err(|error| match error {
            KanbanError::UnknownTask(id) => Failure::failed(format!("no such task: {id}")),
            KanbanError::Refused(why @ Refusal::NotClaimable { .. }) => {
                Failure::failed(format!("cannot claim {id}: {why}"))
            }
            other => other.into(),
        })?;
    let workspace = resolve_workspace(
        &task,
        &session.paths,
        session.context.home.user_home(),
        &session.context.directory,
    )
    .or_else(|error| {
        // A claim without a place to work in would hold the task for its whole TTL.
        let release = Release::Abandoned {
            reason: "no_workspace",
            error: error.to_string(),
        };
        session.board.release(&id, task.current_run_id, release)?;
        Err(error)
    })?;
    let path = workspace.path.to_string_lossy().into_owned();
    let place = (id.clone(), path.clone(), workspace.branch);
    session.board.set_workspaces(&[place])?;
    output.line(format!("Claimed {id}"))?;
    output.line(format!("Workspace: {path}"))?;
    Ok(())
}

pub(super) fn heartbeat(
    args: HeartbeatArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let id = task_id(&args.task_id);
    let own = session.context.environment.get_non_empty(env::CLAIM_LOCK);
    let lock = args
        .lock
        .as_deref()
        .or(own)
        .map(|lock| (lock, session.settings.claim_ttl));
    session
        .board
        .heartbeat(&id, args.note.as_deref(), session.fence(&id), lock)
        .map_err(refused(format!("cannot heartbeat {id} (not running?)")))?;
    output.line(format!("Heartbeat recorded for {id}"))?;
    Ok(())
}

pub(super) fn reclaim(
    args: ReclaimArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let id = task_id(&args.task_id);
    take_back(session, &id, args.reason.as_deref()).map_err(refused(format!(
        "cannot reclaim {id} (not running or unknown id)"
    )))?;
    output.line(format!("Reclaimed {id}"))?;
    Ok(())
}

/// Ends the worker, then releases the claim.
fn take_back(
    session: &Session<'_>,
    id: &hermes_types::TaskId,
    reason: Option<&str>,
) -> Result<Task, KanbanError> {
    session.once_nobody_works(id, |task, _, termination| {
        let release = Release::Manual {
            reason: reason.map(str::to_owned),
            termination,
        };
        session.board.release(id, task.current_run_id, release)
    })
}

pub(super) fn reassign(
    args: ReassignArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let id = task_id(&args.task_id);
    let refuse = refused(format!(
        "cannot reassign {id} (unknown id, or still running — pass --reclaim to release first)"
    ));
    let mut reclaimed = false;
    if args.reclaim {
        match take_back(session, &id, args.reason.as_deref()) {
            Ok(_) => reclaimed = true,
            Err(KanbanError::Refused(Refusal::NothingToDo)) => {}
            Err(error) => return Err(refuse(error)),
        }
    }
    let task = session
        .board
        .assign(&id, profile(&args.profile))
        .map_err(refuse)?;
    let shown = task.assignee.as_deref().unwrap_or("(unassigned)");
    let suffix = if reclaimed { " (claim reclaimed)" } else { "" };
    output.line(format!("Reassigned {id} to {shown}{suffix}"))?;
    Ok(())
}
