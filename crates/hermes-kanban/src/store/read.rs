//! Reading tasks: one, many, and one with everything around it.

use hermes_types::TaskId;
use rusqlite::types::ToSql;

use super::open::SqliteBoard;
use super::seam::Reading;
use super::{apply, links, rows};
use crate::error::KanbanError;
use crate::model::{Attachment, Comment, Event, PublicTask, Run, Status, Task, python};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFilter {
    pub assignee: Option<String>,
    pub status: Option<Status>,
    pub tenant: Option<String>,
    pub session: Option<String>,
    /// Archived tasks too; asking for the status asks for them anyway.
    pub archived: bool,
    pub workflow_template_id: Option<String>,
    pub step_key: Option<String>,
    pub limit: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListSort {
    #[default]
    Priority,
    /// Lowest first; the name is the reference's.
    PriorityDesc,
    Created,
    CreatedDesc,
    Status,
    Assignee,
    Title,
    Updated,
}

impl ListSort {
    fn sql(self) -> &'static str {
        match self {
            ListSort::Priority => "priority DESC, created_at ASC",
            ListSort::PriorityDesc => "priority ASC, created_at DESC",
            ListSort::Created => "created_at ASC",
            ListSort::CreatedDesc => "created_at DESC",
            ListSort::Status => "status ASC, created_at ASC",
            ListSort::Assignee => "assignee ASC, created_at ASC",
            ListSort::Title => "title ASC, created_at ASC",
            ListSort::Updated => "started_at IS NULL, started_at DESC, created_at DESC",
        }
    }
}

/// What a line of a list shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRow {
    pub id: TaskId,
    pub status: Status,
    pub assignee: Option<String>,
    pub tenant: Option<String>,
    pub title: String,
}

/// Which runs to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunFilter {
    Status(String),
    Outcome(String),
}

impl RunFilter {
    pub fn accepts(&self, run: &Run) -> bool {
        match self {
            RunFilter::Status(status) => run.status == *status,
            RunFilter::Outcome(outcome) => run.outcome.as_deref() == Some(outcome.as_str()),
        }
    }
}

/// A task and everything that hangs on it.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskView {
    pub task: Task,
    pub parents: Vec<TaskId>,
    pub children: Vec<TaskId>,
    pub comments: Vec<Comment>,
    pub events: Vec<Event>,
    pub runs: Vec<Run>,
    pub attachments: Vec<Attachment>,
}

impl TaskView {
    /// What the newest run that said something said.
    pub fn latest_summary(&self) -> Option<&str> {
        self.runs
            .iter()
            .rev()
            .find_map(|run| run.summary.as_deref().filter(|text| !text.is_empty()))
    }
}

impl Reading for SqliteBoard {
    fn find(&self, id: &TaskId) -> Result<Option<Task>, KanbanError> {
        apply::find(self.database.connection(), id)
    }

    fn task(&self, id: &TaskId) -> Result<Task, KanbanError> {
        apply::load(self.database.connection(), id)
    }

    fn list(&self, filter: &ListFilter, sort: ListSort) -> Result<Vec<Task>, KanbanError> {
        let mut out = Vec::new();
        self.each(rows::TASK_COLUMNS, filter, sort, |row| {
            out.push(rows::task(row)?);
            Ok(())
        })?;
        Ok(out)
    }

    fn list_public(
        &self,
        filter: &ListFilter,
        sort: ListSort,
        visit: &mut dyn FnMut(PublicTask<'_>),
    ) -> Result<(), KanbanError> {
        self.each(rows::PUBLIC_COLUMNS, filter, sort, |row| {
            rows::public_task(row, &mut *visit)
        })
    }

    fn list_rows(
        &self,
        filter: &ListFilter,
        sort: ListSort,
        visit: &mut dyn FnMut(TaskRow),
    ) -> Result<(), KanbanError> {
        self.each("id, status, assignee, tenant, title", filter, sort, |row| {
            visit(TaskRow {
                id: TaskId::new(rows::text(row, 0)?),
                status: rows::status(row, 1)?,
                assignee: rows::optional_text(row, 2)?,
                tenant: rows::optional_text(row, 3)?,
                title: rows::text(row, 4)?,
            });
            Ok(())
        })
    }

    fn view(&self, id: &TaskId) -> Result<TaskView, KanbanError> {
        self.database.read(|tx| {
            let task = apply::load(tx, id)?;
            let of_task = [id.as_str()];
            let comments = tx
                .prepare_cached(&format!(
                    "SELECT {} FROM task_comments WHERE task_id = ?1 ORDER BY id",
                    rows::COMMENT_COLUMNS
                ))?
                .query_map(of_task, rows::comment)?
                .collect::<Result<_, _>>()?;
            let events = tx
                .prepare_cached(&format!(
                    "SELECT {} FROM task_events WHERE task_id = ?1 ORDER BY id",
                    rows::EVENT_COLUMNS
                ))?
                .query_map(of_task, rows::event)?
                .collect::<Result<_, _>>()?;
            let runs = tx
                .prepare_cached(&format!(
                    "SELECT {} FROM task_runs WHERE task_id = ?1 ORDER BY id",
                    rows::RUN_COLUMNS
                ))?
                .query_map(of_task, rows::run)?
                .collect::<Result<_, _>>()?;
            let attachments = tx
                .prepare_cached(&format!(
                    "SELECT {} FROM task_attachments WHERE task_id = ?1 ORDER BY id",
                    rows::ATTACHMENT_COLUMNS
                ))?
                .query_map(of_task, rows::attachment)?
                .collect::<Result<_, _>>()?;
            Ok(TaskView {
                parents: links::parents(tx, id)?,
                children: links::children(tx, id)?,
                task,
                comments,
                events,
                runs,
                attachments,
            })
        })
    }

    fn runs(&self, id: &TaskId) -> Result<Vec<Run>, KanbanError> {
        let connection = self.database.connection();
        apply::load(connection, id)?;
        Ok(connection
            .prepare_cached(&format!(
                "SELECT {} FROM task_runs WHERE task_id = ?1 ORDER BY id",
                rows::RUN_COLUMNS
            ))?
            .query_map([id.as_str()], rows::run)?
            .collect::<Result<_, _>>()?)
    }

    fn run(&self, run: i64) -> Result<Option<Run>, KanbanError> {
        Ok(self
            .database
            .connection()
            .prepare_cached(&format!(
                "SELECT {} FROM task_runs WHERE id = ?1",
                rows::RUN_COLUMNS
            ))?
            .query_map([run], rows::run)?
            .next()
            .transpose()?)
    }

    fn newest_completed_run(&self, id: &TaskId) -> Result<Option<Run>, KanbanError> {
        Ok(self
            .database
            .connection()
            .prepare_cached(&format!(
                "SELECT {} FROM task_runs WHERE task_id = ?1 AND outcome = 'completed'
                 ORDER BY id DESC LIMIT 1",
                rows::RUN_COLUMNS
            ))?
            .query_map([id.as_str()], rows::run)?
            .next()
            .transpose()?)
    }

    fn recent_work(
        &self,
        profile: &str,
        except: &TaskId,
        count: usize,
    ) -> Result<Vec<(Run, String)>, KanbanError> {
        let columns = rows::RUN_COLUMNS
            .split(", ")
            .map(|name| format!("r.{}", name.trim()))
            .collect::<Vec<_>>()
            .join(", ");
        Ok(self
            .database
            .connection()
            .prepare_cached(&format!(
                "SELECT {columns}, t.title FROM task_runs r JOIN tasks t ON t.id = r.task_id
                 WHERE r.profile = ?1 AND r.task_id <> ?2 AND r.outcome = 'completed'
                 ORDER BY r.ended_at DESC, r.id DESC LIMIT ?3"
            ))?
            .query_map(
                rusqlite::params![profile, except.as_str(), count as i64],
                |row| Ok((rows::run(row)?, rows::text(row, 16)?)),
            )?
            .collect::<Result<_, _>>()?)
    }

    fn ids_with_prefix(
        &self,
        prefix: &str,
        statuses: &[Status],
        count: usize,
    ) -> Result<Vec<(TaskId, String)>, KanbanError> {
        let names: Vec<&str> = statuses.iter().map(|status| status.as_str()).collect();
        Ok(self
            .database
            .connection()
            .prepare(
                "SELECT id, title FROM tasks
                 WHERE substr(id, 1, length(?1)) = ?1
                   AND CASE WHEN ?2 = '[]' THEN status <> 'archived'
                            ELSE status IN (SELECT value FROM json_each(?2)) END
                 ORDER BY priority DESC, created_at, rowid LIMIT ?3",
            )?
            .query_map(
                rusqlite::params![prefix, python(&names), count as i64],
                |row| Ok((TaskId::new(rows::text(row, 0)?), rows::text(row, 1)?)),
            )?
            .collect::<Result<_, _>>()?)
    }
}

impl SqliteBoard {
    fn each(
        &self,
        columns: &str,
        filter: &ListFilter,
        sort: ListSort,
        mut visit: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), KanbanError> {
        let status = filter.status.map(Status::as_str);
        let wanted: [(&str, Option<&dyn ToSql>); 6] = [
            (
                "assignee = ?",
                filter.assignee.as_ref().map(|v| v as &dyn ToSql),
            ),
            ("status = ?", status.as_ref().map(|v| v as &dyn ToSql)),
            (
                "tenant = ?",
                filter.tenant.as_ref().map(|v| v as &dyn ToSql),
            ),
            (
                "session_id = ?",
                filter.session.as_ref().map(|v| v as &dyn ToSql),
            ),
            (
                "workflow_template_id = ?",
                filter
                    .workflow_template_id
                    .as_ref()
                    .map(|v| v as &dyn ToSql),
            ),
            (
                "current_step_key = ?",
                filter.step_key.as_ref().map(|v| v as &dyn ToSql),
            ),
        ];
        let mut clauses: Vec<&str> = Vec::new();
        let mut values: Vec<&dyn ToSql> = Vec::new();
        for (clause, value) in wanted {
            if let Some(value) = value {
                clauses.push(clause);
                values.push(value);
            }
        }
        if !filter.archived && filter.status.is_none() {
            clauses.push("status <> 'archived'");
        }
        let where_clause = if clauses.is_empty() {
            "1"
        } else {
            &clauses.join(" AND ")
        };
        let limit = filter.limit.map_or(-1, |n| i64::try_from(n).unwrap_or(-1));
        let sql = format!(
            "SELECT {columns} FROM tasks WHERE {where_clause} ORDER BY {}, rowid LIMIT {limit}",
            sort.sql()
        );
        let connection = self.database.connection();
        let mut statement = connection.prepare_cached(&sql)?;
        let mut found = statement.query(values.as_slice())?;
        while let Some(row) = found.next()? {
            visit(row)?;
        }
        Ok(())
    }
}
