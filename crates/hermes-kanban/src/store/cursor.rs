//! Following events. Their ids only grow and are never used twice, so the last
//! one seen is all a reader has to remember.

use hermes_types::TaskId;
use rusqlite::named_params;

use super::open::SqliteBoard;
use super::rows;
use super::seam::Following;
use crate::error::KanbanError;
use crate::model::{Event, python};

/// Which events a follower wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    pub task: Option<TaskId>,
    pub assignee: Option<String>,
    pub tenant: Option<String>,
    /// Empty means all.
    pub kinds: Vec<String>,
}

impl Following for SqliteBoard {
    fn latest_event_id(&self) -> Result<i64, KanbanError> {
        Ok(self
            .database
            .connection()
            .prepare_cached("SELECT COALESCE(MAX(id), 0) FROM task_events")?
            .query_row([], |row| row.get(0))?)
    }

    fn events_after(
        &self,
        after: i64,
        filter: &EventFilter,
        count: usize,
    ) -> Result<Vec<Event>, KanbanError> {
        let columns = rows::EVENT_COLUMNS
            .split(", ")
            .map(|name| format!("e.{name}"))
            .collect::<Vec<_>>()
            .join(", ");
        let kinds = (!filter.kinds.is_empty()).then(|| python(&filter.kinds));
        Ok(self
            .database
            .connection()
            .prepare_cached(&format!(
                "SELECT {columns} FROM task_events e LEFT JOIN tasks t ON t.id = e.task_id
                 WHERE e.id > :after
                   AND (:task IS NULL OR e.task_id = :task)
                   AND (:assignee IS NULL OR t.assignee = :assignee)
                   AND (:tenant IS NULL OR t.tenant = :tenant)
                   AND (:kinds IS NULL OR e.kind IN (SELECT value FROM json_each(:kinds)))
                 ORDER BY e.id LIMIT :count"
            ))?
            .query_map(
                named_params! {
                    ":after": after,
                    ":task": filter.task.as_ref().map(TaskId::as_str),
                    ":assignee": filter.assignee,
                    ":tenant": filter.tenant,
                    ":kinds": kinds,
                    ":count": count as i64,
                },
                rows::event,
            )?
            .collect::<Result<_, _>>()?)
    }

    fn data_version(&self) -> Result<i64, KanbanError> {
        Ok(self
            .database
            .connection()
            .pragma_query_value(None, "data_version", |row| row.get(0))?)
    }

    fn event_gaps(&self, newest: i64) -> Result<Vec<(i64, i64)>, KanbanError> {
        Ok(self
            .database
            .connection()
            .prepare_cached(
                "SELECT id, before FROM (
                     SELECT id, LAG(id) OVER (ORDER BY id) AS before FROM task_events
                     WHERE id > (SELECT COALESCE(MAX(id), 0) FROM task_events) - ?1)
                 WHERE before IS NOT NULL AND id - before > 1",
            )?
            .query_map([newest], |row| {
                Ok((row.get::<_, i64>(1)? + 1, row.get::<_, i64>(0)? - 1))
            })?
            .collect::<Result<_, _>>()?)
    }
}
