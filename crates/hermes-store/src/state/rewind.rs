//! Going back to an earlier question. Rows are hidden, never removed.

use hermes_types::SessionId;
use rusqlite::{OptionalExtension, Transaction, params};

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
            recount(transaction, id, message, 1, -1)?;
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
            recount(transaction, id, from, 0, 1)?;
            Ok(transaction.execute(
                "UPDATE messages SET active = 1 WHERE session_id = ?1 AND id >= ?2 AND active = 0",
                params![id.as_str(), from],
            )?)
        })
    }
}

/// The session's counters without, or again with, the messages from the given one on
/// that are in this state.
fn recount(
    transaction: &Transaction<'_>,
    id: &SessionId,
    from: i64,
    active: i64,
    sign: i64,
) -> Result<(), StoreError> {
    let (messages, calls): (i64, i64) = transaction.query_row(
        "SELECT COUNT(*), COALESCE(SUM(CASE WHEN json_valid(tool_calls) \
         THEN json_array_length(tool_calls) ELSE 0 END), 0) FROM messages \
         WHERE session_id = ?1 AND id >= ?2 AND active = ?3",
        params![id.as_str(), from, active],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    transaction.execute(
        "UPDATE sessions SET message_count = MAX(0, COALESCE(message_count, 0) + ?2), \
         tool_call_count = MAX(0, COALESCE(tool_call_count, 0) + ?3) WHERE id = ?1",
        params![id.as_str(), sign * messages, sign * calls],
    )?;
    Ok(())
}
