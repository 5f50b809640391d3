//! Deciding about a task that somebody may be at work on.
//!
//! Whoever blocks, schedules, archives, completes or takes back a running task ends
//! its worker first, with the whole tree. A worker that cannot be ended keeps its
//! task, and nothing is changed: a second one beside it would do the work twice.

use hermes_types::TaskId;

use crate::error::KanbanError;
use crate::host::{Host, WorkerRef};
use crate::machine::{Fence, Refusal};
use crate::model::{Task, Termination};
use crate::store::Board;

/// How often somebody else may take the task up in between.
const TRIES: usize = 5;

/// Ends the worker of `id` and then acts, under the run that was seen. When another
/// worker took the task up in between, that one is ended too.
pub(crate) fn once_nobody_works<T>(
    board: &Board,
    host: &Host,
    id: &TaskId,
    mut act: impl FnMut(&Task, Fence, Termination) -> Result<T, KanbanError>,
) -> Result<T, KanbanError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let task = board.task(id)?;
        let termination = end_worker(board, host, &task)?;
        match act(&task, Fence::as_seen(task.current_run_id), termination) {
            Err(KanbanError::Refused(Refusal::RunIsOver { .. } | Refusal::TakenUp))
                if tries < TRIES => {}
            outcome => return outcome,
        }
    }
}

fn end_worker(board: &Board, host: &Host, task: &Task) -> Result<Termination, KanbanError> {
    let Some(run) = task.current_run_id else {
        return Ok(Termination::default());
    };
    let identity = board.identity(run)?;
    let run_started_at = board
        .run(run)?
        .map_or(task.created_at, |run| run.started_at);
    let termination = host.terminate(WorkerRef {
        task: &task.id,
        run: Some(run),
        lock: task.claim_lock.as_deref(),
        pid: task.worker_pid,
        run_started_at,
        identity: identity.as_ref(),
    });
    let stays = |ended: &Termination| ended.attempted && !ended.terminated;
    // What it had started may outlive it.
    if stays(&termination) || (termination.host_local && stays(&host.end_remains(&task.id, run))) {
        return Err(KanbanError::WorkerLives {
            task: task.id.clone(),
            pid: task.worker_pid.unwrap_or_default(),
        });
    }
    Ok(termination)
}
