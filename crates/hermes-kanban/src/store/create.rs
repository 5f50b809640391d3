//! New cards, one or many in a transaction.

use hermes_types::TaskId;
use rusqlite::{ErrorCode, Transaction, params};

use super::apply::insert_event;
use super::open::SqliteBoard;
use super::seam::Creating;
use super::{apply, links};
use crate::error::KanbanError;
use crate::machine::{NewTask, create};
use crate::model::{Task, new_task_id, python};

/// Tries before a clash of random ids counts as an error.
const ID_TRIES: u32 = 5;

impl Creating for SqliteBoard {
    fn create(&self, new: &NewTask) -> Result<Task, KanbanError> {
        let now = self.now();
        self.database.write(|tx| create_in(tx, new, now))
    }

    fn create_many(&self, cards: &[NewTask]) -> Result<Vec<Task>, (usize, KanbanError)> {
        let now = self.now();
        let mut at = 0;
        let outcome = self.database.write(|tx| {
            cards
                .iter()
                .enumerate()
                .map(|(index, card)| {
                    at = index;
                    create_in(tx, card, now)
                })
                .collect::<Result<Vec<_>, KanbanError>>()
        });
        outcome.map_err(|error| (at, error))
    }
}

pub(super) fn create_in(
    tx: &Transaction<'_>,
    new: &NewTask,
    now: i64,
) -> Result<Task, KanbanError> {
    // Inside the transaction, so that of two racers one finds the other's card.
    if let Some(key) = &new.idempotency_key
        && let Some(existing) = by_key(tx, key)?
    {
        return apply::load(tx, &existing);
    }
    let parents = links::parents_by_id(tx, &new.parents)?;
    let parents_open = parents.iter().any(|p| !p.status.is_terminal());
    for _ in 0..ID_TRIES {
        let (task, events) = create(new, new_task_id(), parents_open, now)?;
        if !insert(tx, &task)? {
            continue;
        }
        for parent in &parents {
            links::insert(tx, &parent.id, &task.id)?;
        }
        for event in events {
            insert_event(tx, &task.id, event.kind, event.payload.as_ref(), None, now)?;
        }
        return Ok(task);
    }
    Err(KanbanError::NoFreeId(ID_TRIES))
}

fn by_key(tx: &Transaction<'_>, key: &str) -> Result<Option<TaskId>, KanbanError> {
    let mut statement = tx.prepare_cached(
        "SELECT id FROM tasks WHERE idempotency_key = ?1 AND status <> 'archived'
         ORDER BY created_at DESC LIMIT 1",
    )?;
    let mut rows = statement.query([key])?;
    Ok(match rows.next()? {
        Some(row) => Some(TaskId::new(row.get::<_, String>(0)?)),
        None => None,
    })
}

/// `false` when the id is taken.
pub(super) fn insert(tx: &Transaction<'_>, task: &Task) -> Result<bool, KanbanError> {
    let outcome = tx
        .prepare_cached(
            "INSERT INTO tasks (id, title, body, assignee, status, priority, created_by, created_at,
                 workspace_kind, workspace_path, branch_name, tenant, idempotency_key,
                 max_runtime_seconds, skills, max_retries, goal_mode, goal_max_turns, session_id,
                 model_override)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
                 ?18, ?19, ?20)",
        )?
        .execute(params![
            task.id.as_str(),
            task.title,
            task.body,
            task.assignee,
            task.status.as_str(),
            task.priority,
            task.created_by,
            task.created_at,
            task.workspace_kind.as_str(),
            task.workspace_path,
            task.branch_name,
            task.tenant,
            task.idempotency_key,
            task.max_runtime_seconds,
            task.skills.as_ref().map(python),
            task.max_retries,
            i64::from(task.goal_mode),
            task.goal_max_turns,
            task.session_id,
            task.model_override,
        ]);
    match outcome {
        Ok(_) => Ok(true),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}
