//! What people, workers and dispatchers do to a task that exists.

use hermes_types::TaskId;
use rusqlite::{Transaction, params};
use serde_json::{Map, Value, json};

use super::apply::{Applied, act, apply, insert_event, instant_run, load};
use super::comments::comment_in;
use super::links;
use super::open::SqliteBoard;
use super::promote::{Scope, promote_in};
use super::seam::Deciding;
use crate::error::KanbanError;
use crate::machine::{
    Action, Failed, Fence, Limit, Release, RunClose, normalize_assignee, transition,
};
use crate::model::{EventKind, Outcome, Status, Task, python};

/// A comment that goes with an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remark<'a> {
    pub author: &'a str,
    pub text: &'a str,
}

impl Deciding for SqliteBoard {
    fn block(
        &self,
        id: &TaskId,
        reason: Option<&str>,
        fence: Fence,
        remark: Option<Remark<'_>>,
    ) -> Result<Task, KanbanError> {
        let reason = reason.map(str::to_owned);
        self.act_saying(id, remark, |_, _| Ok(Action::Block { reason, fence }))
    }

    fn schedule(
        &self,
        id: &TaskId,
        reason: Option<&str>,
        fence: Fence,
        remark: Option<Remark<'_>>,
    ) -> Result<Task, KanbanError> {
        let reason = reason.map(str::to_owned);
        self.act_saying(id, remark, |_, _| Ok(Action::Schedule { reason, fence }))
    }

    fn unblock(&self, id: &TaskId, remark: Option<Remark<'_>>) -> Result<Task, KanbanError> {
        self.act_saying(id, remark, |tx, id| {
            let parents_open = !links::open_parents(tx, id)?.is_empty();
            Ok(Action::Unblock { parents_open })
        })
    }

    fn assign(&self, id: &TaskId, assignee: Option<&str>) -> Result<Task, KanbanError> {
        let assignee = assignee.map(normalize_assignee).transpose()?;
        self.act(
            id,
            &Action::Assign {
                assignee,
                source: None,
            },
        )
    }

    fn assign_default(&self, ids: &[TaskId], assignee: &str) -> Result<Vec<TaskId>, KanbanError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let now = self.now();
        self.database.write(|tx| {
            let mut assigned = Vec::with_capacity(ids.len());
            for id in ids {
                let task = load(tx, id)?;
                if task
                    .assignee
                    .as_deref()
                    .is_some_and(|name| !name.is_empty())
                {
                    continue;
                }
                let action = Action::Assign {
                    assignee: Some(assignee.to_owned()),
                    source: Some("kanban.default_assignee".to_owned()),
                };
                act(tx, &task, &action, now)?;
                assigned.push(id.clone());
            }
            Ok(assigned)
        })
    }

    fn release(
        &self,
        id: &TaskId,
        run: Option<i64>,
        release: Release,
    ) -> Result<Task, KanbanError> {
        self.act_on_run(id, run, |_| Action::Release(release))
    }

    fn fail(&self, id: &TaskId, run: Option<i64>, failed: Failed) -> Result<Task, KanbanError> {
        let configured = self.failure_limit;
        self.act_on_run(id, run, |task| {
            Action::Fail(failed.within(Limit::of(task, configured)))
        })
    }

    fn extend_for_live_worker(
        &self,
        id: &TaskId,
        run: Option<i64>,
        ttl: i64,
    ) -> Result<Task, KanbanError> {
        let expires = self.now() + ttl;
        self.act_on_run(id, run, |_| Action::ExtendClaim { expires })
    }

    fn give_up(&self, id: &TaskId, error: &str, trigger: &str) -> Result<Task, KanbanError> {
        let now = self.now();
        self.database.write(|tx| {
            let task = load(tx, id)?;
            let limit = Limit::of(&task, self.failure_limit);
            let action = Action::GiveUp {
                error: error.to_owned(),
                trigger: trigger.to_owned(),
                limit,
            };
            Ok(act(tx, &task, &action, now)?.task)
        })
    }

    fn archive(&self, id: &TaskId, fence: Fence) -> Result<Task, KanbanError> {
        let now = self.now();
        self.database.write(|tx| {
            let task = act(tx, &load(tx, id)?, &Action::Archive { fence }, now)?.task;
            promote_in(tx, Scope::ChildrenOf(id), self.failure_limit, now)?;
            Ok(task)
        })
    }

    fn delete_archived(&self, id: &TaskId) -> Result<bool, KanbanError> {
        let now = self.now();
        self.database.write(|tx| {
            if load(tx, id)?.status != Status::Archived {
                return Ok(false);
            }
            delete_in(tx, id)?;
            promote_in(tx, Scope::Board, self.failure_limit, now)?;
            Ok(true)
        })
    }

    fn move_to(&self, id: &TaskId, status: Status) -> Result<Task, KanbanError> {
        let now = self.now();
        self.database.write(|tx| {
            let before = load(tx, id)?;
            let parents_open = !links::open_parents(tx, id)?.is_empty();
            let task = act(
                tx,
                &before,
                &Action::MoveTo {
                    status,
                    parents_open,
                },
                now,
            )?
            .task;
            if before.status.is_terminal() {
                for child in links::children(tx, id)? {
                    let child = load(tx, &child)?;
                    if child.status == Status::Ready {
                        act(
                            tx,
                            &child,
                            &Action::ParentReopened { parent: id.clone() },
                            now,
                        )?;
                    }
                }
            }
            promote_in(tx, Scope::Task(id), self.failure_limit, now)?;
            Ok(task)
        })
    }

    fn reprioritize(&self, id: &TaskId, priority: i64) -> Result<Task, KanbanError> {
        self.act(id, &Action::Reprioritize { priority })
    }

    fn edit_text(
        &self,
        id: &TaskId,
        title: Option<&str>,
        body: Option<&str>,
    ) -> Result<Task, KanbanError> {
        let title = title.map(|t| t.trim().to_owned());
        if title.as_deref() == Some("") {
            return Err(KanbanError::Required { what: "title" });
        }
        self.act(
            id,
            &Action::EditText {
                title,
                body: body.map(str::to_owned),
            },
        )
    }

    fn edit_result(
        &self,
        id: &TaskId,
        result: &str,
        summary: Option<&str>,
        metadata: Option<&Map<String, Value>>,
    ) -> Result<Task, KanbanError> {
        let now = self.now();
        self.database.write(|tx| {
            let task = load(tx, id)?;
            let action = Action::EditResult {
                result: result.to_owned(),
                summary: summary.map(str::to_owned),
                metadata: metadata.cloned().map(Value::Object),
            };
            let mut change = transition(&task, &action, now)?;
            let run = rewrite_completed_run(tx, &task, summary.unwrap_or(result), metadata, now)?;
            let events = std::mem::take(&mut change.events);
            let Applied { task, .. } = apply(tx, &task, change, now)?;
            for event in events {
                insert_event(tx, id, event.kind, event.payload.as_ref(), Some(run), now)?;
            }
            Ok(task)
        })
    }

    fn set_workspaces(
        &self,
        places: &[(TaskId, String, Option<String>)],
    ) -> Result<(), KanbanError> {
        if places.is_empty() {
            return Ok(());
        }
        self.database.write(|tx| {
            for (id, path, branch) in places {
                set_workspace(tx, id, path, branch.as_deref())?;
            }
            Ok(())
        })
    }

    fn note(&self, id: &TaskId, kind: EventKind, payload: &Value) -> Result<(), KanbanError> {
        let now = self.now();
        self.database.write(|tx| {
            insert_event(tx, id, kind, Some(payload), None, now)?;
            Ok(())
        })
    }

    fn tip_scratch_workspace(&self, id: &TaskId) -> Result<(), KanbanError> {
        let message = "scratch workspaces are removed when their task is done; name files in \
                       `artifacts` to keep them, or use --workspace dir:<path> or worktree";
        self.note(
            id,
            EventKind::TipScratchWorkspace,
            &json!({ "message": message }),
        )
    }
}

impl SqliteBoard {
    /// Lets the state machine decide about one action that needs no other facts.
    fn act(&self, id: &TaskId, action: &Action) -> Result<Task, KanbanError> {
        let now = self.now();
        self.database
            .write(|tx| Ok(act(tx, &load(tx, id)?, action, now)?.task))
    }

    /// An action with what its author has to say about it: both or neither.
    fn act_saying(
        &self,
        id: &TaskId,
        remark: Option<Remark<'_>>,
        action: impl FnOnce(&Transaction<'_>, &TaskId) -> Result<Action, KanbanError>,
    ) -> Result<Task, KanbanError> {
        let now = self.now();
        self.database.write(|tx| {
            let task = load(tx, id)?;
            let action = action(tx, id)?;
            // What is refused is refused before anything is written.
            transition(&task, &action, now)?;
            if let Some(remark) = remark {
                comment_in(tx, id, remark.author, remark.text, now)?;
            }
            Ok(act(tx, &task, &action, now)?.task)
        })
    }

    fn act_on_run(
        &self,
        id: &TaskId,
        run: Option<i64>,
        action: impl FnOnce(&Task) -> Action,
    ) -> Result<Task, KanbanError> {
        let now = self.now();
        self.database.write(|tx| {
            let task = load(tx, id)?;
            if task.current_run_id != run {
                let expected = run.unwrap_or_default();
                let current = task.current_run_id;
                return Err(crate::machine::Refusal::RunIsOver { expected, current }.into());
            }
            Ok(act(tx, &task, &action(&task), now)?.task)
        })
    }
}

pub(super) fn set_workspace(
    tx: &Transaction<'_>,
    id: &TaskId,
    path: &str,
    branch: Option<&str>,
) -> Result<(), KanbanError> {
    tx.prepare_cached(
        "UPDATE tasks SET workspace_path = ?2, branch_name = COALESCE(?3, branch_name)
         WHERE id = ?1",
    )?
    .execute(params![id.as_str(), path, branch])?;
    Ok(())
}

fn rewrite_completed_run(
    tx: &Transaction<'_>,
    task: &Task,
    summary: &str,
    metadata: Option<&Map<String, Value>>,
    now: i64,
) -> Result<i64, KanbanError> {
    let run: Option<i64> = tx
        .prepare_cached(
            "SELECT id FROM task_runs WHERE task_id = ?1 AND outcome = 'completed'
             ORDER BY id DESC LIMIT 1",
        )?
        .query_map([task.id.as_str()], |row| row.get(0))?
        .next()
        .transpose()?;
    match run {
        Some(run) => {
            tx.execute(
                "UPDATE task_runs SET summary = ?2, metadata = COALESCE(?3, metadata) WHERE id = ?1",
                params![run, summary, metadata.map(python)],
            )?;
            Ok(run)
        }
        None => {
            let close = RunClose {
                outcome: Outcome::Completed,
                status: "completed",
                summary: Some(summary.to_owned()),
                metadata: metadata.cloned(),
                error: None,
            };
            instant_run(tx, task, &close, now)
        }
    }
}

/// Rows of every table that knows the task. Event ids are never used again.
fn delete_in(tx: &Transaction<'_>, id: &TaskId) -> Result<(), KanbanError> {
    tx.execute(
        "DELETE FROM worker_identity WHERE run_id IN (SELECT id FROM task_runs WHERE task_id = ?1)",
        [id.as_str()],
    )?;
    tx.execute(
        "DELETE FROM task_links WHERE parent_id = ?1 OR child_id = ?1",
        [id.as_str()],
    )?;
    for table in [
        "task_comments",
        "task_events",
        "task_runs",
        "task_attachments",
        "kanban_notify_subs",
    ] {
        tx.execute(
            &format!("DELETE FROM {table} WHERE task_id = ?1"),
            [id.as_str()],
        )?;
    }
    tx.execute("DELETE FROM tasks WHERE id = ?1", [id.as_str()])?;
    Ok(())
}
