//! What people and workers say about a task.

use hermes_types::TaskId;
use rusqlite::{Transaction, params};
use serde_json::json;

use super::apply::{insert_event, load};
use super::open::SqliteBoard;
use super::seam::Commenting;
use crate::error::KanbanError;
use crate::model::EventKind;

impl Commenting for SqliteBoard {
    fn comment(&self, id: &TaskId, author: &str, body: &str) -> Result<i64, KanbanError> {
        let now = self.now();
        self.database
            .write(|tx| comment_in(tx, id, author, body, now))
    }
}

pub(super) fn comment_in(
    tx: &Transaction<'_>,
    id: &TaskId,
    author: &str,
    body: &str,
    now: i64,
) -> Result<i64, KanbanError> {
    let author = author.trim();
    let body = body.trim();
    if author.is_empty() {
        return Err(KanbanError::Required {
            what: "comment author",
        });
    }
    if body.is_empty() {
        return Err(KanbanError::Required {
            what: "comment body",
        });
    }
    load(tx, id)?;
    tx.prepare_cached(
        "INSERT INTO task_comments (task_id, author, body, created_at) VALUES (?1, ?2, ?3, ?4)",
    )?
    .execute(params![id.as_str(), author, body, now])?;
    let comment = tx.last_insert_rowid();
    let payload = json!({"author": author, "len": body.chars().count()});
    insert_event(tx, id, EventKind::Commented, Some(&payload), None, now)?;
    Ok(comment)
}
