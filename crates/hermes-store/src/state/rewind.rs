//! Going back to an earlier question. Rows are hidden, never removed.

use hermes_types::SessionId;
use rusqlite::{OptionalExtension, params};

use super::StateDb;
use crate::StoreError;

impl StateDb {
    /// Hides the given user message and all that followed it. Returns how many.
    pub fn rewind(&self, id: &SessionId, message: i64) -> Result<usize, StoreError> {
        self.write_healing(|transaction| {
            let role: Option<String> = transaction
                .query_row(
                    "SELECT role FROM messages WHERE id = ?1 AND session_id = ?2",
                    params![message, id.as_str()],
                    |row| row.get(0),
                )
                .optional()?;
            if role.as_deref() != Some("user") {
                return Err(StoreError::NotAUserMessage {
                    session: id.to_string(),
                    message,
                });
            }
            let hidden = transaction.execute(
                "UPDATE messages SET active = 0 WHERE session_id = ?1 AND id >= ?2 AND active = 1",
                params![id.as_str(), message],
            )?;
            transaction.execute(
                "UPDATE sessions SET rewind_count = rewind_count + 1 WHERE id = ?1",
                [id.as_str()],
            )?;
            Ok(hidden)
        })
    }

    /// Shows hidden rows again, from the given message on. Returns how many.
    pub fn restore_rewound(&self, id: &SessionId, from: i64) -> Result<usize, StoreError> {
        self.write_healing(|transaction| {
            Ok(transaction.execute(
                "UPDATE messages SET active = 1 WHERE session_id = ?1 AND id >= ?2 AND active = 0",
                params![id.as_str(), from],
            )?)
        })
    }
}
