//! Writing a transition down.

use hermes_types::TaskId;
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde_json::Value;

use super::rows;
use crate::error::KanbanError;
use crate::machine::{
    Action, EventRun, NewEvent, Refusal, RunClose, RunOpen, Transition, transition,
};
use crate::model::{EventKind, Task, python};

/// The task after a change, and the run that the change opened or wrote.
pub(super) struct Applied {
    pub(super) task: Task,
    pub(super) new_run: Option<i64>,
}

pub(super) fn find(connection: &Connection, id: &TaskId) -> Result<Option<Task>, KanbanError> {
    Ok(connection
        .prepare_cached(&format!(
            "SELECT {} FROM tasks WHERE id = ?1",
            rows::TASK_COLUMNS
        ))?
        .query_row([id.as_str()], rows::task)
        .optional()?)
}

pub(super) fn load(connection: &Connection, id: &TaskId) -> Result<Task, KanbanError> {
    find(connection, id)?.ok_or_else(|| KanbanError::UnknownTask(id.clone()))
}

/// Decides and writes.
pub(super) fn act(
    tx: &Transaction<'_>,
    task: &Task,
    action: &Action,
    now: i64,
) -> Result<Applied, KanbanError> {
    let change = transition(task, action, now)?;
    apply(tx, task, change, now)
}

pub(super) fn apply(
    tx: &Transaction<'_>,
    before: &Task,
    change: Transition,
    now: i64,
) -> Result<Applied, KanbanError> {
    let previous_run = before.current_run_id;
    if let (Some(run), Some(close)) = (previous_run, &change.close) {
        close_run(tx, run, close, now)?;
    }
    let mut task = change.task;
    let mut new_run = None;
    if let Some(open) = &change.open {
        let run = open_run(tx, &task.id, open, now)?;
        task.current_run_id = Some(run);
        new_run = Some(run);
    } else if let Some(instant) = &change.instant {
        new_run = Some(instant_run(tx, &task, instant, now)?);
    }
    if task != *before {
        write(tx, before, &task)?;
        if change.open.is_none() && task.current_run_id.is_some() {
            mirror_run(tx, &task)?;
        }
    }
    for event in change.events {
        add_event(tx, &task.id, event, previous_run, new_run, now)?;
    }
    Ok(Applied { task, new_run })
}

/// Compare-and-swap: the row must still be what the decision was made on.
pub(super) fn write(tx: &Transaction<'_>, before: &Task, after: &Task) -> Result<(), KanbanError> {
    let changed = tx
        .prepare_cached(
            "UPDATE tasks SET title = ?1, body = ?2, assignee = ?3, status = ?4, priority = ?5,
                 started_at = ?6, completed_at = ?7, workspace_kind = ?8, workspace_path = ?9,
                 branch_name = ?10, claim_lock = ?11, claim_expires = ?12, result = ?13,
                 consecutive_failures = ?14, worker_pid = ?15, last_failure_error = ?16,
                 last_heartbeat_at = ?17, current_run_id = ?18
             WHERE id = ?19 AND status = ?20 AND claim_lock IS ?21 AND current_run_id IS ?22",
        )?
        .execute(params![
            after.title,
            after.body,
            after.assignee,
            after.status.as_str(),
            after.priority,
            after.started_at,
            after.completed_at,
            after.workspace_kind.as_str(),
            after.workspace_path,
            after.branch_name,
            after.claim_lock,
            after.claim_expires,
            after.result,
            after.consecutive_failures,
            after.worker_pid,
            after.last_failure_error,
            after.last_heartbeat_at,
            after.current_run_id,
            after.id.as_str(),
            before.status.as_str(),
            before.claim_lock,
            before.current_run_id,
        ])?;
    if changed == 1 {
        Ok(())
    } else {
        Err(Refusal::WrongStatus {
            status: before.status,
        }
        .into())
    }
}

fn open_run(
    tx: &Transaction<'_>,
    task: &TaskId,
    open: &RunOpen,
    now: i64,
) -> Result<i64, KanbanError> {
    tx.prepare_cached(
        "INSERT INTO task_runs (task_id, profile, step_key, status, claim_lock, claim_expires,
             max_runtime_seconds, started_at)
         VALUES (?1, ?2, ?3, 'running', ?4, ?5, ?6, ?7)",
    )?
    .execute(params![
        task.as_str(),
        open.profile,
        open.step_key,
        open.lock,
        open.expires,
        open.max_runtime_seconds,
        now,
    ])?;
    Ok(tx.last_insert_rowid())
}

fn close_run(
    tx: &Transaction<'_>,
    run: i64,
    close: &RunClose,
    now: i64,
) -> Result<(), KanbanError> {
    tx.prepare_cached(
        "UPDATE task_runs SET status = ?2, outcome = ?3, summary = COALESCE(?4, summary),
             metadata = COALESCE(?5, metadata), error = ?6, ended_at = ?7, claim_lock = NULL,
             claim_expires = NULL, worker_pid = NULL
         WHERE id = ?1 AND ended_at IS NULL",
    )?
    .execute(params![
        run,
        close.status,
        close.outcome.as_str(),
        close.summary,
        close
            .metadata
            .as_ref()
            .filter(|m| !m.is_empty())
            .map(python),
        close.error,
        now,
    ])?;
    Ok(())
}

pub(super) fn instant_run(
    tx: &Transaction<'_>,
    task: &Task,
    close: &RunClose,
    now: i64,
) -> Result<i64, KanbanError> {
    tx.prepare_cached(
        "INSERT INTO task_runs (task_id, profile, step_key, status, outcome, summary, metadata,
             error, started_at, ended_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9)",
    )?
    .execute(params![
        task.id.as_str(),
        task.assignee,
        task.current_step_key,
        close.status,
        close.outcome.as_str(),
        close.summary,
        close
            .metadata
            .as_ref()
            .filter(|m| !m.is_empty())
            .map(python),
        close.error,
        now,
    ])?;
    Ok(tx.last_insert_rowid())
}

/// The open run says the same as the task about its claim and its worker.
fn mirror_run(tx: &Transaction<'_>, task: &Task) -> Result<(), KanbanError> {
    tx.prepare_cached(
        "UPDATE task_runs SET claim_lock = ?2, claim_expires = ?3, worker_pid = ?4,
             last_heartbeat_at = ?5
         WHERE id = ?1 AND ended_at IS NULL",
    )?
    .execute(params![
        task.current_run_id,
        task.claim_lock,
        task.claim_expires,
        task.worker_pid,
        task.last_heartbeat_at,
    ])?;
    Ok(())
}

fn add_event(
    tx: &Transaction<'_>,
    task: &TaskId,
    mut event: NewEvent,
    previous_run: Option<i64>,
    new_run: Option<i64>,
    now: i64,
) -> Result<(), KanbanError> {
    let run = match event.run {
        EventRun::None => None,
        EventRun::Previous => previous_run,
        EventRun::New => new_run,
    };
    if event.run == EventRun::New
        && let Some(slot) = event.payload.as_mut().and_then(|p| p.get_mut("run_id"))
    {
        *slot = Value::from(run);
    }
    insert_event(tx, task, event.kind, event.payload.as_ref(), run, now)?;
    Ok(())
}

/// An empty payload is stored as none.
pub(super) fn insert_event(
    tx: &Transaction<'_>,
    task: &TaskId,
    kind: EventKind,
    payload: Option<&Value>,
    run: Option<i64>,
    now: i64,
) -> Result<i64, KanbanError> {
    let stored = payload
        .filter(|p| !p.as_object().is_some_and(serde_json::Map::is_empty))
        .map(python);
    tx.prepare_cached(
        "INSERT INTO task_events (task_id, run_id, kind, payload, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![task.as_str(), run, kind.as_str(), stored, now])?;
    Ok(tx.last_insert_rowid())
}
