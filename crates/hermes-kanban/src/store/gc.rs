//! What nobody needs any more.

use hermes_types::TaskId;

use super::open::SqliteBoard;
use super::rows;
use super::seam::Collecting;
use crate::error::KanbanError;

/// What collection found in the database; files are the caller's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    pub events: usize,
    /// Archived tasks with a scratch directory that may still be there.
    pub scratch: Vec<(TaskId, Option<String>)>,
}

impl Collecting for SqliteBoard {
    fn collect(&self, older_than: i64) -> Result<Collected, KanbanError> {
        let connection = self.database.connection();
        let scratch = connection
            .prepare(
                "SELECT id, workspace_path FROM tasks
                 WHERE status = 'archived' AND workspace_kind = 'scratch'",
            )?
            .query_map([], |row| {
                Ok((
                    TaskId::new(rows::text(row, 0)?),
                    rows::optional_text(row, 1)?,
                ))
            })?
            .collect::<Result<_, _>>()?;
        const OLD: &str = "created_at < ?1
            AND task_id IN (SELECT id FROM tasks WHERE status IN ('done', 'archived'))
            AND NOT EXISTS (SELECT 1 FROM kanban_notify_subs s
                            WHERE s.task_id = task_events.task_id
                              AND s.last_event_id < task_events.id)";
        let any = connection
            .prepare(&format!("SELECT 1 FROM task_events WHERE {OLD} LIMIT 1"))?
            .exists([older_than])?;
        let events = if any {
            self.database.write(|tx| {
                Ok::<_, KanbanError>(tx.execute(
                    &format!("DELETE FROM task_events WHERE {OLD}"),
                    [older_than],
                )?)
            })?
        } else {
            0
        };
        Ok(Collected { events, scratch })
    }
}
