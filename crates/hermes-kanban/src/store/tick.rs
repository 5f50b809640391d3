//! What a dispatcher must know, in few questions: one for the running tasks, one
//! per page of waiting ones, three for the respawn guard of a whole page.

use std::collections::HashMap;

use hermes_types::TaskId;
use rusqlite::params;
use serde_json::json;

use super::apply::insert_event;
use super::open::SqliteBoard;
use super::rows;
use super::seam::Planning;
use crate::error::KanbanError;
use crate::host::WorkerRef;
use crate::model::{EventKind, Status, Task, WorkerIdentity, from_stored, python};

/// A task somebody works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningTask {
    pub id: TaskId,
    pub assignee: Option<String>,
    pub claim_lock: Option<String>,
    pub claim_expires: Option<i64>,
    pub worker_pid: Option<i64>,
    pub last_heartbeat_at: Option<i64>,
    pub run: Option<i64>,
    /// Start of this attempt.
    pub run_started_at: i64,
    pub max_runtime_seconds: Option<i64>,
    pub max_retries: Option<i64>,
    pub failures: i64,
    /// Only for runs of our own dispatcher.
    pub identity: Option<WorkerIdentity>,
    pub priority: i64,
    pub created_at: i64,
}

impl RunningTask {
    /// Whom to look for in the process table.
    pub fn worker(&self) -> WorkerRef<'_> {
        WorkerRef {
            task: &self.id,
            run: self.run,
            lock: self.claim_lock.as_deref(),
            pid: self.worker_pid,
            run_started_at: self.run_started_at,
            identity: self.identity.as_ref(),
        }
    }

    /// The task as it waits when its claim is gone.
    pub fn released(&self, last_failure_error: Option<String>) -> ReadyTask {
        ReadyTask {
            id: self.id.clone(),
            assignee: self.assignee.clone(),
            failures: self.failures,
            max_retries: self.max_retries,
            last_failure_error,
            priority: self.priority,
            created_at: self.created_at,
        }
    }
}

/// A task that waits for a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyTask {
    pub id: TaskId,
    pub assignee: Option<String>,
    pub failures: i64,
    pub max_retries: Option<i64>,
    pub last_failure_error: Option<String>,
    pub priority: i64,
    pub created_at: i64,
}

impl From<&Task> for ReadyTask {
    fn from(task: &Task) -> Self {
        Self {
            id: task.id.clone(),
            assignee: task.assignee.clone(),
            failures: task.consecutive_failures,
            max_retries: task.max_retries,
            last_failure_error: task.last_failure_error.clone(),
            priority: task.priority,
            created_at: task.created_at,
        }
    }
}

/// What is going on, from one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TickFacts {
    pub running: Vec<RunningTask>,
    pub ready_count: usize,
    pub review_count: usize,
}

/// Facts about one waiting task that may defer it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuardFacts {
    pub last_outcome: Option<(String, i64)>,
    pub completed_at: Option<i64>,
    pub pull_request_at: Option<i64>,
    /// When a person last said that the task may run.
    pub lifted_at: Option<i64>,
    /// The last reason it was deferred for, how often, and the event that says so.
    pub deferred: Option<(String, i64, i64)>,
}

/// A task that was deferred, and the event and count of an earlier time for the
/// same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deferral {
    pub task: TaskId,
    pub reason: &'static str,
    pub known: Option<(i64, i64)>,
}

impl Planning for SqliteBoard {
    fn tick_facts(&self) -> Result<TickFacts, KanbanError> {
        self.database.read(|tx| {
            let running = tx
                .prepare_cached(
                    "SELECT t.id, t.assignee, t.claim_lock, t.claim_expires, t.worker_pid,
                         t.last_heartbeat_at, t.current_run_id,
                         COALESCE(r.started_at, t.started_at, t.created_at),
                         COALESCE(r.max_runtime_seconds, t.max_runtime_seconds), t.max_retries,
                         t.consecutive_failures, w.run_id, w.pid, w.start_time, w.boot_id, w.host,
                         w.exit_code, w.signal, w.ended_at, t.priority, t.created_at
                     FROM tasks t
                     LEFT JOIN task_runs r ON r.id = t.current_run_id
                     LEFT JOIN worker_identity w ON w.run_id = t.current_run_id
                     WHERE t.status = 'running' ORDER BY t.created_at, t.rowid",
                )?
                .query_map([], running_task)?
                .collect::<Result<_, _>>()?;
            let (ready_count, review_count) = self.tick_counts()?;
            Ok(TickFacts {
                running,
                ready_count,
                review_count,
            })
        })
    }

    fn tick_counts(&self) -> Result<(usize, usize), KanbanError> {
        let count = |status: Status| -> Result<usize, KanbanError> {
            let count: i64 = self
                .database
                .connection()
                .prepare_cached(
                    "SELECT COUNT(*) FROM tasks WHERE status = ?1 AND claim_lock IS NULL",
                )?
                .query_row([status.as_str()], |row| row.get(0))?;
            Ok(usize::try_from(count).unwrap_or(0))
        };
        Ok((count(Status::Ready)?, count(Status::Review)?))
    }

    fn waiting(
        &self,
        status: Status,
        offset: usize,
        count: Option<usize>,
    ) -> Result<Vec<ReadyTask>, KanbanError> {
        Ok(self
            .database
            .connection()
            .prepare_cached(
                "SELECT id, assignee, consecutive_failures, max_retries, last_failure_error,
                     priority, created_at
                 FROM tasks WHERE status = ?1 AND claim_lock IS NULL
                 ORDER BY priority DESC, created_at ASC, rowid LIMIT ?2 OFFSET ?3",
            )?
            .query_map(
                params![
                    status.as_str(),
                    count.map_or(-1, |n| i64::try_from(n).unwrap_or(-1)),
                    offset as i64
                ],
                |row| {
                    Ok(ReadyTask {
                        id: TaskId::new(rows::text(row, 0)?),
                        assignee: rows::optional_text(row, 1)?
                            .filter(|name| !name.trim().is_empty()),
                        failures: rows::integer(row, 2)?.unwrap_or(0),
                        max_retries: rows::integer(row, 3)?,
                        last_failure_error: rows::optional_text(row, 4)?,
                        priority: rows::integer(row, 5)?.unwrap_or(0),
                        created_at: rows::integer(row, 6)?.unwrap_or(0),
                    })
                },
            )?
            .collect::<Result<_, _>>()?)
    }

    fn guard_facts(
        &self,
        tasks: &[ReadyTask],
        comments_since: i64,
    ) -> Result<HashMap<TaskId, GuardFacts>, KanbanError> {
        let mut facts: HashMap<TaskId, GuardFacts> = HashMap::new();
        let ids = python(&tasks.iter().map(|task| &task.id).collect::<Vec<_>>());
        let connection = self.database.connection();
        // Both tables are walked by task or as a whole, whichever is shorter.
        let narrow = |table: &str| -> rusqlite::Result<&'static str> {
            let rows: i64 = connection
                .prepare_cached(&format!("SELECT COALESCE(MAX(id), 0) FROM {table}"))?
                .query_row([], |row| row.get(0))?;
            Ok(if rows < tasks.len() as i64 * 4 {
                "?1 IS NOT NULL"
            } else {
                "task_id IN (SELECT value FROM json_each(?1))"
            })
        };
        let mut statement = connection.prepare_cached(&format!(
            "SELECT task_id, outcome, ended_at FROM task_runs
             WHERE ended_at IS NOT NULL AND {} ORDER BY id",
            narrow("task_runs")?
        ))?;
        let mut found = statement.query([&ids])?;
        while let Some(row) = found.next()? {
            let known = facts.entry(TaskId::new(rows::text(row, 0)?)).or_default();
            let outcome = rows::text(row, 1)?;
            let ended_at = rows::integer(row, 2)?.unwrap_or(0);
            if outcome == "completed" {
                known.completed_at = Some(known.completed_at.unwrap_or(0).max(ended_at));
            }
            known.last_outcome = Some((outcome, ended_at));
        }
        let mut statement = connection.prepare_cached(&format!(
            "SELECT task_id, body, created_at FROM task_comments
             WHERE created_at >= ?2 AND body LIKE '%github.com/%/pull/%' AND {}",
            narrow("task_comments")?
        ))?;
        let mut found = statement.query(params![ids, comments_since])?;
        while let Some(row) = found.next()? {
            if crate::dispatch::names_a_pull_request(&rows::text(row, 1)?) {
                let known = facts.entry(TaskId::new(rows::text(row, 0)?)).or_default();
                let at = rows::integer(row, 2)?.unwrap_or(0);
                known.pull_request_at = Some(known.pull_request_at.unwrap_or(0).max(at));
            }
        }
        self.add_liftings(tasks, &mut facts)?;
        Ok(facts)
    }

    fn record_deferrals(&self, deferrals: &[Deferral]) -> Result<(), KanbanError> {
        if deferrals.is_empty() {
            return Ok(());
        }
        let now = self.now();
        self.database.write(|tx| {
            for Deferral {
                task: id,
                reason,
                known,
            } in deferrals
            {
                match known {
                    Some((event, ticks)) => {
                        let payload = json!({"reason": reason, "ticks": ticks});
                        tx.prepare_cached("UPDATE task_events SET payload = ?2 WHERE id = ?1")?
                            .execute(params![event, python(&payload)])?;
                    }
                    None => {
                        let payload = json!({"reason": reason, "ticks": 1});
                        insert_event(tx, id, EventKind::RespawnGuarded, Some(&payload), None, now)?;
                    }
                }
            }
            Ok(())
        })
    }
}

impl SqliteBoard {
    /// Only for tasks that something might defer: an error, a run or a comment.
    fn add_liftings(
        &self,
        tasks: &[ReadyTask],
        facts: &mut HashMap<TaskId, GuardFacts>,
    ) -> Result<(), KanbanError> {
        let suspects: Vec<&TaskId> = tasks
            .iter()
            .filter(|task| task.last_failure_error.is_some() || facts.contains_key(&task.id))
            .map(|task| &task.id)
            .collect();
        if suspects.is_empty() {
            return Ok(());
        }
        let connection = self.database.connection();
        let mut statement = connection.prepare_cached(
            "SELECT task_id, kind, payload, created_at, id FROM task_events
             WHERE task_id IN (SELECT value FROM json_each(?1))
               AND kind IN ('unblocked', 'promoted_manual', 'reclaimed', 'assigned', 'status',
                            'respawn_guarded', 'claimed')
             ORDER BY id",
        )?;
        let mut found = statement.query([python(&suspects)])?;
        while let Some(row) = found.next()? {
            let known = facts.entry(TaskId::new(rows::text(row, 0)?)).or_default();
            let kind = rows::text(row, 1)?;
            let payload = from_stored(rows::optional_text(row, 2)?);
            let says = |key: &str| payload.as_ref().and_then(|p| p.get(key));
            let at = rows::integer(row, 3)?.unwrap_or(0);
            let by_a_person = match kind.as_str() {
                "unblocked" | "promoted_manual" => true,
                "reclaimed" => says("manual").and_then(|v| v.as_bool()) == Some(true),
                "assigned" => says("source").is_none(),
                "status" => says("status").and_then(|v| v.as_str()) == Some("ready"),
                _ => false,
            };
            if by_a_person {
                known.lifted_at = Some(known.lifted_at.unwrap_or(0).max(at));
                known.deferred = None;
            }
            match kind.as_str() {
                "respawn_guarded" => {
                    let reason = says("reason").and_then(|v| v.as_str()).unwrap_or_default();
                    let ticks = says("ticks").and_then(|v| v.as_i64()).unwrap_or(1);
                    known.deferred = Some((reason.to_owned(), ticks, row.get(4)?));
                }
                "claimed" => known.deferred = None,
                _ => {}
            }
        }
        Ok(())
    }
}

fn running_task(row: &rusqlite::Row<'_>) -> rusqlite::Result<RunningTask> {
    let identity = match rows::integer(row, 11)? {
        None => None,
        Some(run_id) => Some(WorkerIdentity {
            run_id,
            pid: rows::integer(row, 12)?,
            start_time: rows::integer(row, 13)?,
            boot_id: rows::optional_text(row, 14)?,
            host: rows::text(row, 15)?,
            exit_code: rows::integer(row, 16)?,
            signal: rows::integer(row, 17)?,
            ended_at: rows::integer(row, 18)?,
        }),
    };
    Ok(RunningTask {
        id: TaskId::new(rows::text(row, 0)?),
        assignee: rows::optional_text(row, 1)?,
        claim_lock: rows::optional_text(row, 2)?,
        claim_expires: rows::integer(row, 3)?,
        worker_pid: rows::integer(row, 4)?,
        last_heartbeat_at: rows::integer(row, 5)?,
        run: rows::integer(row, 6)?,
        run_started_at: rows::integer(row, 7)?.unwrap_or(0),
        max_runtime_seconds: rows::integer(row, 8)?,
        max_retries: rows::integer(row, 9)?,
        failures: rows::integer(row, 10)?.unwrap_or(0),
        identity,
        priority: rows::integer(row, 19)?.unwrap_or(0),
        created_at: rows::integer(row, 20)?.unwrap_or(0),
    })
}
