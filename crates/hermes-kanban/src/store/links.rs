//! Who waits for whom.

use std::collections::HashSet;

use hermes_types::TaskId;
use rusqlite::{Connection, Transaction, params};

use super::apply::{act, find, load};
use super::open::SqliteBoard;
use super::seam::Linking;
use super::{promote, rows};
use crate::error::KanbanError;
use crate::machine::Action;
use crate::model::ParentState;

/// What linking did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linked {
    New,
    Already,
}

impl Linking for SqliteBoard {
    fn link(&self, parent: &TaskId, child: &TaskId) -> Result<Linked, KanbanError> {
        let now = self.now();
        self.database.write(|tx| link_in(tx, parent, child, now))
    }

    fn unlink(&self, parent: &TaskId, child: &TaskId) -> Result<bool, KanbanError> {
        let now = self.now();
        self.database.write(|tx| {
            let removed = tx.execute(
                "DELETE FROM task_links WHERE parent_id = ?1 AND child_id = ?2",
                params![parent.as_str(), child.as_str()],
            )?;
            if removed == 0 {
                return Ok(false);
            }
            if let Some(task) = find(tx, child)? {
                act(
                    tx,
                    &task,
                    &Action::Unlink {
                        parent: parent.clone(),
                    },
                    now,
                )?;
                promote::promote_in(tx, promote::Scope::Task(child), self.failure_limit, now)?;
            }
            Ok(true)
        })
    }

    fn parents(&self, task: &TaskId) -> Result<Vec<TaskId>, KanbanError> {
        parents(self.database.connection(), task)
    }

    fn children(&self, task: &TaskId) -> Result<Vec<TaskId>, KanbanError> {
        children(self.database.connection(), task)
    }
}

fn link_in(
    tx: &Transaction<'_>,
    parent: &TaskId,
    child: &TaskId,
    now: i64,
) -> Result<Linked, KanbanError> {
    if parent == child {
        return Err(KanbanError::SelfLink);
    }
    let mut missing = Vec::new();
    for id in [parent, child] {
        if find(tx, id)?.is_none() {
            missing.push(id.clone());
        }
    }
    if !missing.is_empty() {
        return Err(KanbanError::UnknownTasks(missing));
    }
    if reaches(tx, child, parent)? {
        return Err(KanbanError::Cycle {
            parent: parent.clone(),
            child: child.clone(),
        });
    }
    let fresh = insert(tx, parent, child)?;
    let parent_open = !load(tx, parent)?.status.is_terminal();
    let task = load(tx, child)?;
    act(
        tx,
        &task,
        &Action::Link {
            parent: parent.clone(),
            parent_open,
        },
        now,
    )?;
    Ok(if fresh { Linked::New } else { Linked::Already })
}

pub(super) fn insert(
    tx: &Transaction<'_>,
    parent: &TaskId,
    child: &TaskId,
) -> Result<bool, KanbanError> {
    let added = tx
        .prepare_cached("INSERT OR IGNORE INTO task_links (parent_id, child_id) VALUES (?1, ?2)")?
        .execute(params![parent.as_str(), child.as_str()])?;
    Ok(added == 1)
}

/// Whether `to` is below `from`.
fn reaches(connection: &Connection, from: &TaskId, to: &TaskId) -> Result<bool, KanbanError> {
    let mut seen: HashSet<TaskId> = HashSet::new();
    let mut open = vec![from.clone()];
    while let Some(task) = open.pop() {
        if task == *to {
            return Ok(true);
        }
        if !seen.contains(&task) {
            open.extend(children(connection, &task)?);
            seen.insert(task);
        }
    }
    Ok(false)
}

pub(super) fn parents(connection: &Connection, task: &TaskId) -> Result<Vec<TaskId>, KanbanError> {
    ids(
        connection,
        "SELECT parent_id FROM task_links WHERE child_id = ?1 ORDER BY parent_id",
        task,
    )
}

pub(super) fn children(connection: &Connection, task: &TaskId) -> Result<Vec<TaskId>, KanbanError> {
    ids(
        connection,
        "SELECT child_id FROM task_links WHERE parent_id = ?1 ORDER BY child_id",
        task,
    )
}

fn ids(connection: &Connection, sql: &str, task: &TaskId) -> Result<Vec<TaskId>, KanbanError> {
    Ok(connection
        .prepare_cached(sql)?
        .query_map([task.as_str()], |row| {
            Ok(TaskId::new(row.get::<_, String>(0)?))
        })?
        .collect::<Result<_, _>>()?)
}

/// Parents of `task` that are neither done nor archived. A parent that was
/// deleted holds nobody.
pub(super) fn open_parents(
    connection: &Connection,
    task: &TaskId,
) -> Result<Vec<TaskId>, KanbanError> {
    ids(
        connection,
        "SELECT p.id FROM task_links l JOIN tasks p ON p.id = l.parent_id
         WHERE l.child_id = ?1 AND p.status NOT IN ('done', 'archived') ORDER BY p.id",
        task,
    )
}

/// The named parents in the order given, each once; all must exist.
pub(super) fn parents_by_id(
    connection: &Connection,
    wanted: &[TaskId],
) -> Result<Vec<ParentState>, KanbanError> {
    let mut out: Vec<ParentState> = Vec::with_capacity(wanted.len());
    let mut missing = Vec::new();
    for id in wanted {
        if out.iter().any(|known| known.id == *id) {
            continue;
        }
        let status = connection
            .prepare_cached("SELECT status FROM tasks WHERE id = ?1")?
            .query_map([id.as_str()], |row| rows::status(row, 0))?
            .next()
            .transpose()?;
        match status {
            Some(status) => out.push(ParentState {
                id: id.clone(),
                status,
            }),
            None => missing.push(id.clone()),
        }
    }
    if missing.is_empty() {
        Ok(out)
    } else {
        Err(KanbanError::UnknownParents(missing))
    }
}
