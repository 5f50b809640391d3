//! Turning a rough idea into tasks, whole or not at all.

use hermes_types::TaskId;
use serde_json::json;

use super::apply::{act, insert_event, load};
use super::comments::comment_in;
use super::create::insert;
use super::open::SqliteBoard;
use super::promote::{Scope, promote_in};
use super::seam::Triaging;
use super::{links, rows};
use crate::error::KanbanError;
use crate::machine::{Action, Refusal};
use crate::model::{EventKind, Status, Task, WorkspaceKind, new_task_id};

/// A part of a larger task. Parents are positions in the same list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewChild {
    pub title: String,
    pub body: Option<String>,
    pub assignee: Option<String>,
    pub parents: Vec<usize>,
}

impl Triaging for SqliteBoard {
    fn in_triage(&self, tenant: Option<&str>) -> Result<Vec<Task>, KanbanError> {
        Ok(self
            .database
            .connection()
            .prepare_cached(&format!(
                "SELECT {} FROM tasks WHERE status = 'triage' AND (?1 IS NULL OR tenant = ?1)
                 ORDER BY priority DESC, created_at ASC, rowid",
                rows::TASK_COLUMNS
            ))?
            .query_map([tenant], rows::task)?
            .collect::<Result<_, _>>()?)
    }

    fn specify(
        &self,
        id: &TaskId,
        title: Option<&str>,
        body: Option<&str>,
        assignee: Option<&str>,
        author: &str,
    ) -> Result<Task, KanbanError> {
        let now = self.now();
        self.database.write(|tx| {
            let before = load(tx, id)?;
            let action = Action::Specify {
                title: title.map(str::to_owned),
                body: body.map(str::to_owned),
                assignee: assignee.map(str::to_owned),
            };
            let task = act(tx, &before, &action, now)?.task;
            let mut changed = Vec::new();
            if task.title != before.title {
                changed.push("title");
            }
            if task.body != before.body {
                changed.push("body");
            }
            if task.assignee != before.assignee {
                changed.push("assignee");
            }
            let what = if changed.is_empty() {
                "nothing".to_owned()
            } else {
                changed.join(", ")
            };
            comment_in(tx, id, author, &format!("specified; changed: {what}"), now)?;
            let promoted = promote_in(tx, Scope::Task(id), self.failure_limit, now)?;
            Ok(promoted.into_iter().next().unwrap_or(task))
        })
    }

    fn decompose(
        &self,
        id: &TaskId,
        parts: &[NewChild],
        root_assignee: Option<&str>,
        author: &str,
        hold: bool,
    ) -> Result<Vec<TaskId>, KanbanError> {
        if is_cyclic(parts) {
            return Err(KanbanError::CyclicChildren);
        }
        let now = self.now();
        self.database.write(|tx| {
            let root = load(tx, id)?;
            if root.status != Status::Triage {
                return Err(Refusal::WrongStatus {
                    status: root.status,
                }
                .into());
            }
            let mut ids = Vec::with_capacity(parts.len());
            for part in parts {
                ids.push(insert_part(tx, &root, part, author, hold, now)?);
            }
            for (part, child) in parts.iter().zip(&ids) {
                for parent in part.parents.iter().filter_map(|at| ids.get(*at)) {
                    links::insert(tx, parent, child)?;
                }
                links::insert(tx, child, id)?;
            }
            let action = Action::Decompose {
                children: ids.clone(),
                assignee: root_assignee.map(str::to_owned),
            };
            act(tx, &root, &action, now)?;
            let names = crate::error::join(&ids);
            comment_in(
                tx,
                id,
                author,
                &format!("decomposed into {}: {names}", ids.len()),
                now,
            )?;
            promote_in(tx, Scope::Board, self.failure_limit, now)?;
            Ok(ids)
        })
    }
}

fn insert_part(
    tx: &rusqlite::Transaction<'_>,
    root: &Task,
    part: &NewChild,
    author: &str,
    hold: bool,
    now: i64,
) -> Result<TaskId, KanbanError> {
    // `todo` would be promoted by the next look at the board; a hold must last.
    let status = if hold {
        Status::Scheduled
    } else {
        Status::Todo
    };
    loop {
        let task = Task {
            body: part.body.clone(),
            assignee: part.assignee.clone(),
            created_by: Some(author.to_owned()),
            tenant: root.tenant.clone(),
            priority: root.priority,
            // A scratch directory belongs to one task: its completion removes it.
            workspace_kind: root.workspace_kind,
            workspace_path: match root.workspace_kind {
                WorkspaceKind::Scratch => None,
                WorkspaceKind::Dir | WorkspaceKind::Worktree => root.workspace_path.clone(),
            },
            max_runtime_seconds: root.max_runtime_seconds,
            max_retries: root.max_retries,
            skills: root.skills.clone(),
            ..Task::new(new_task_id(), part.title.clone(), status, now)
        };
        if !insert(tx, &task)? {
            continue;
        }
        let payload = json!({"by": author, "from_decompose_of": root.id});
        insert_event(tx, &task.id, EventKind::Created, Some(&payload), None, now)?;
        if hold {
            let payload = json!({"reason": "kanban.auto_promote_children is off"});
            insert_event(
                tx,
                &task.id,
                EventKind::Scheduled,
                Some(&payload),
                None,
                now,
            )?;
        }
        return Ok(task.id);
    }
}

fn is_cyclic(parts: &[NewChild]) -> bool {
    let mut left: Vec<usize> = (0..parts.len()).collect();
    loop {
        let before = left.len();
        let open = left.clone();
        left.retain(|at| {
            parts[*at]
                .parents
                .iter()
                .any(|parent| open.contains(parent))
        });
        if left.is_empty() {
            return false;
        }
        if left.len() == before {
            return true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(parents: &[usize]) -> NewChild {
        NewChild {
            title: "x".into(),
            body: None,
            assignee: None,
            parents: parents.to_vec(),
        }
    }

    #[test]
    fn chains_and_diamonds_are_fine_and_circles_are_not() {
        assert!(!is_cyclic(&[
            part(&[]),
            part(&[0]),
            part(&[0]),
            part(&[1, 2])
        ]));
        assert!(is_cyclic(&[part(&[2]), part(&[0]), part(&[1])]));
        assert!(!is_cyclic(&[]));
    }
}
