//! Counts.

use std::collections::BTreeMap;

use super::open::SqliteBoard;
use super::rows;
use super::seam::Counting;
use crate::error::KanbanError;
use crate::model::Status;

/// Tasks per status, by the status's name.
pub type StatusCounts = BTreeMap<String, i64>;
/// The same for each assignee.
pub type AssigneeCounts = BTreeMap<String, StatusCounts>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BoardStats {
    pub by_status: StatusCounts,
    pub by_assignee: AssigneeCounts,
    pub oldest_ready_at: Option<i64>,
}

impl Counting for SqliteBoard {
    fn status_counts(&self) -> Result<StatusCounts, KanbanError> {
        Ok(self
            .database
            .connection()
            .prepare_cached("SELECT status, COUNT(*) FROM tasks GROUP BY status")?
            .query_map([], |row| Ok((rows::text(row, 0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?)
    }

    fn stats(&self) -> Result<BoardStats, KanbanError> {
        let mut stats = BoardStats::default();
        let connection = self.database.connection();
        let mut statement = connection.prepare_cached(
            "SELECT status, assignee, COUNT(*), MIN(created_at) FROM tasks
             WHERE status <> 'archived' GROUP BY assignee, status",
        )?;
        let mut found = statement.query([])?;
        while let Some(row) = found.next()? {
            let status = rows::text(row, 0)?;
            let count: i64 = row.get(2)?;
            if status == Status::Ready.as_str() {
                let oldest = rows::integer(row, 3)?;
                stats.oldest_ready_at = match (stats.oldest_ready_at, oldest) {
                    (Some(known), Some(new)) => Some(known.min(new)),
                    (known, new) => known.or(new),
                };
            }
            if let Some(assignee) = rows::optional_text(row, 1)?.filter(|name| !name.is_empty()) {
                let counts = stats.by_assignee.entry(assignee).or_default();
                *counts.entry(status.clone()).or_default() += count;
            }
            *stats.by_status.entry(status).or_default() += count;
        }
        Ok(stats)
    }
}
