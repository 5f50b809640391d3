//! Facts for diagnostics: only tasks that a rule might have something to say
//! about, each with the events and runs that rules look at.

use std::collections::HashMap;

use hermes_types::TaskId;
use rusqlite::named_params;

use super::open::SqliteBoard;
use super::rows;
use super::seam::Examining;
use crate::error::KanbanError;
use crate::model::{Event, Run, Task, python};

/// A task with what the rules look at.
#[derive(Clone, Debug, PartialEq)]
pub struct Examined {
    pub task: Task,
    pub events: Vec<Event>,
    pub runs: Vec<Run>,
}

/// Payloads that a rule reads; the others are not worth parsing.
const WITH_PAYLOAD: &str =
    "'completion_blocked_hallucination', 'suspected_hallucinated_references'";
const KINDS: &str = "'completion_blocked_hallucination', 'suspected_hallucinated_references', \
    'completed', 'edited', 'blocked', 'unblocked', 'commented', 'created', 'promoted', \
    'reclaimed', 'promoted_manual'";

impl Examining for SqliteBoard {
    fn examine(
        &self,
        only: Option<&TaskId>,
        ready_before: i64,
    ) -> Result<Vec<Examined>, KanbanError> {
        self.database.read(|tx| {
            let tasks: Vec<Task> = tx
                .prepare_cached(&format!(
                    "SELECT {} FROM tasks WHERE status <> 'archived'
                     AND (:only IS NULL OR id = :only)
                     AND (:only IS NOT NULL
                          OR consecutive_failures > 0
                          OR status IN ('blocked', 'triage')
                          OR (status = 'ready' AND claim_lock IS NULL AND assignee IS NOT NULL
                              AND created_at <= :ready_before)
                          OR id IN (SELECT task_id FROM task_runs WHERE status = 'crashed')
                          OR id IN (SELECT task_id FROM task_events WHERE kind IN ({WITH_PAYLOAD})))
                     ORDER BY priority DESC, created_at ASC, rowid",
                    rows::TASK_COLUMNS
                ))?
                .query_map(
                    named_params! {
                        ":only": only.map(TaskId::as_str),
                        ":ready_before": ready_before,
                    },
                    rows::task,
                )?
                .collect::<Result<_, _>>()?;
            let at: HashMap<&TaskId, usize> = tasks
                .iter()
                .enumerate()
                .map(|(index, task)| (&task.id, index))
                .collect();
            let ids = python(&tasks.iter().map(|task| &task.id).collect::<Vec<_>>());
            let mut events: Vec<Vec<Event>> = vec![Vec::new(); tasks.len()];
            let mut runs: Vec<Vec<Run>> = vec![Vec::new(); tasks.len()];
            let mut statement = tx.prepare_cached(&format!(
                "SELECT id, task_id, run_id, kind,
                     CASE WHEN kind IN ({WITH_PAYLOAD}) THEN payload END, created_at
                 FROM task_events WHERE task_id IN (SELECT value FROM json_each(?1))
                   AND kind IN ({KINDS}) ORDER BY id"
            ))?;
            let mut found = statement.query([&ids])?;
            while let Some(row) = found.next()? {
                let event = rows::event(row)?;
                if let Some(list) = at
                    .get(&event.task_id)
                    .and_then(|index| events.get_mut(*index))
                {
                    list.push(event);
                }
            }
            let mut statement = tx.prepare_cached(&format!(
                "SELECT {} FROM task_runs WHERE task_id IN (SELECT value FROM json_each(?1))
                 ORDER BY id",
                rows::RUN_COLUMNS
            ))?;
            let mut found = statement.query([&ids])?;
            while let Some(row) = found.next()? {
                let run = rows::run(row)?;
                if let Some(list) = at.get(&run.task_id).and_then(|index| runs.get_mut(*index)) {
                    list.push(run);
                }
            }
            drop(at);
            Ok(tasks
                .into_iter()
                .zip(events)
                .zip(runs)
                .map(|((task, events), runs)| Examined { task, events, runs })
                .collect())
        })
    }
}
