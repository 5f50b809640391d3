//! Letting go of tasks that nothing holds any more.

use hermes_types::TaskId;
use rusqlite::{Connection, Transaction, named_params};

use super::apply::{act, load};
use super::links;
use super::open::SqliteBoard;
use super::rows;
use super::seam::Promoting;
use crate::error::KanbanError;
use crate::machine::{Action, Limit, transition};
use crate::model::Task;

/// Which tasks to look at.
#[derive(Clone, Copy)]
pub(super) enum Scope<'a> {
    Board,
    Task(&'a TaskId),
    ChildrenOf(&'a TaskId),
}

/// One statement decides for the whole board. A block that a person or worker
/// asked for (the latest `blocked`/`unblocked` event says so) stays; one that the
/// breaker made goes when the counter is below the limit again.
const PROMOTABLE: &str = "
    (t.status = 'todo'
     OR (t.status = 'blocked'
         AND t.consecutive_failures <
             CASE WHEN t.max_retries >= 1 THEN t.max_retries ELSE :limit END
         AND COALESCE((SELECT e.kind FROM task_events e
                       WHERE e.task_id = t.id AND e.kind IN ('blocked', 'unblocked')
                       ORDER BY e.id DESC LIMIT 1), '') <> 'blocked'))
    AND NOT EXISTS (SELECT 1 FROM task_links l JOIN tasks p ON p.id = l.parent_id
                    WHERE l.child_id = t.id AND p.status NOT IN ('done', 'archived'))";

impl Promoting for SqliteBoard {
    fn recompute_ready(&self) -> Result<usize, KanbanError> {
        if self.promotable()?.is_empty() {
            return Ok(0);
        }
        let now = self.now();
        self.database
            .write(|tx| promote_in(tx, Scope::Board, self.failure_limit, now))
            .map(|tasks| tasks.len())
    }

    fn promotable(&self) -> Result<Vec<Task>, KanbanError> {
        candidates(self.database.connection(), Scope::Board, self.failure_limit)
    }

    fn promote(
        &self,
        id: &TaskId,
        actor: &str,
        reason: Option<&str>,
        forced: bool,
        dry_run: bool,
    ) -> Result<Task, KanbanError> {
        let now = self.now();
        let action = |open_parents| Action::PromoteManually {
            actor: actor.to_owned(),
            reason: reason.map(str::to_owned),
            forced,
            open_parents,
        };
        if dry_run {
            let connection = self.database.connection();
            let task = load(connection, id)?;
            let parents = links::open_parents(connection, id)?;
            return Ok(transition(&task, &action(parents), now)?.task);
        }
        self.database.write(|tx| {
            let task = load(tx, id)?;
            let parents = links::open_parents(tx, id)?;
            Ok(act(tx, &task, &action(parents), now)?.task)
        })
    }
}

fn candidates(
    connection: &Connection,
    scope: Scope<'_>,
    limit: i64,
) -> Result<Vec<Task>, KanbanError> {
    let (narrow, id) = match scope {
        Scope::Board => ("t.status IN ('todo', 'blocked') AND :id IS NULL", None),
        Scope::Task(id) => ("t.id = :id", Some(id.as_str())),
        Scope::ChildrenOf(id) => (
            "t.id IN (SELECT child_id FROM task_links WHERE parent_id = :id)",
            Some(id.as_str()),
        ),
    };
    let sql = format!(
        "SELECT {} FROM tasks t WHERE {narrow} AND {PROMOTABLE} ORDER BY t.created_at, t.rowid",
        rows::TASK_COLUMNS
    );
    Ok(connection
        .prepare_cached(&sql)?
        .query_map(named_params! {":limit": limit, ":id": id}, rows::task)?
        .collect::<Result<_, _>>()?)
}

pub(super) fn promote_in(
    tx: &Transaction<'_>,
    scope: Scope<'_>,
    limit: i64,
    now: i64,
) -> Result<Vec<Task>, KanbanError> {
    let mut promoted = Vec::new();
    for task in candidates(tx, scope, limit)? {
        // The statement above has found both to be so.
        let action = Action::Promote {
            parents_open: false,
            sticky_block: false,
            limit: Limit::of(&task, limit).value,
        };
        promoted.push(act(tx, &task, &action, now)?.task);
    }
    Ok(promoted)
}
