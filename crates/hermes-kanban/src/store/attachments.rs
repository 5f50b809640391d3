//! Rows about files; the files themselves are the caller's.

use hermes_types::TaskId;
use rusqlite::params;
use serde_json::json;

use super::apply::{insert_event, load};
use super::open::SqliteBoard;
use super::rows;
use super::seam::Attaching;
use crate::error::KanbanError;
use crate::model::{Attachment, EventKind};

impl Attaching for SqliteBoard {
    fn attach(
        &self,
        id: &TaskId,
        filename: &str,
        stored_path: &str,
        content_type: Option<&str>,
        size: i64,
        by: Option<&str>,
    ) -> Result<Attachment, KanbanError> {
        let now = self.now();
        self.database.write(|tx| {
            load(tx, id)?;
            tx.execute(
                "INSERT INTO task_attachments (task_id, filename, stored_path, content_type, size,
                     uploaded_by, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    id.as_str(),
                    filename,
                    stored_path,
                    content_type,
                    size,
                    by,
                    now
                ],
            )?;
            let attachment = Attachment {
                id: tx.last_insert_rowid(),
                task_id: id.clone(),
                filename: filename.to_owned(),
                stored_path: stored_path.to_owned(),
                content_type: content_type.map(str::to_owned),
                size,
                uploaded_by: by.map(str::to_owned),
                created_at: now,
            };
            let payload = json!({"filename": filename, "size": size, "by": by});
            insert_event(tx, id, EventKind::Attached, Some(&payload), None, now)?;
            Ok(attachment)
        })
    }

    fn attachments(&self, id: &TaskId) -> Result<Vec<Attachment>, KanbanError> {
        Ok(self
            .database
            .connection()
            .prepare_cached(&format!(
                "SELECT {} FROM task_attachments WHERE task_id = ?1 ORDER BY id",
                rows::ATTACHMENT_COLUMNS
            ))?
            .query_map([id.as_str()], rows::attachment)?
            .collect::<Result<_, _>>()?)
    }

    fn attachment(&self, attachment: i64) -> Result<Option<Attachment>, KanbanError> {
        Ok(self
            .database
            .connection()
            .prepare_cached(&format!(
                "SELECT {} FROM task_attachments WHERE id = ?1",
                rows::ATTACHMENT_COLUMNS
            ))?
            .query_map([attachment], rows::attachment)?
            .next()
            .transpose()?)
    }

    fn detach(&self, attachment: i64) -> Result<Option<Attachment>, KanbanError> {
        let Some(known) = self.attachment(attachment)? else {
            return Ok(None);
        };
        let now = self.now();
        self.database.write(|tx| {
            let removed = tx.execute("DELETE FROM task_attachments WHERE id = ?1", [attachment])?;
            if removed == 0 {
                return Ok(None);
            }
            let payload = json!({"filename": known.filename});
            let kind = EventKind::AttachmentRemoved;
            insert_event(tx, &known.task_id, kind, Some(&payload), None, now)?;
            Ok(Some(known))
        })
    }
}
