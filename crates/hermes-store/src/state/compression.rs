//! One compression of a session at a time, across processes: a row with a holder
//! and a time at which it lapses.

use std::time::Duration;

use hermes_types::SessionId;
use rusqlite::{OptionalExtension, params};

use super::messages::{NewMessage, append_in};
use super::sessions::{NewSession, create_in};
use super::{StateDb, titles};
use crate::StoreError;

impl StateDb {
    /// Ends `old` by compression and goes on in a new session that starts with
    /// `messages`, as one step: there is no moment at which the conversation is in
    /// neither. The title moves on with the next number. Returns the row ids.
    pub fn split_session(
        &self,
        old: &SessionId,
        new: &NewSession,
        messages: &[NewMessage],
    ) -> Result<Vec<i64>, StoreError> {
        let now = self.now();
        self.write(|transaction| {
            transaction.execute(
                "UPDATE sessions SET ended_at = ?2, end_reason = 'compression' WHERE id = ?1",
                params![old.as_str(), now],
            )?;
            create_in(transaction, new, now)?;
            titles::carry_over(transaction, old, &new.id)?;
            append_in(transaction, &SessionId::new(new.id.as_str()), messages, now)
        })
    }

    /// True when `holder` has the lock now; a lapsed lock of somebody else is taken over.
    pub fn lock_compression(
        &self,
        id: &SessionId,
        holder: &str,
        lapses_after: Duration,
    ) -> Result<bool, StoreError> {
        let now = self.now();
        self.update_one(
            "INSERT INTO compression_locks (session_id, holder, acquired_at, expires_at) \
             VALUES (?1, ?2, ?3, ?4) ON CONFLICT(session_id) DO UPDATE SET \
             holder = excluded.holder, acquired_at = excluded.acquired_at, \
             expires_at = excluded.expires_at \
             WHERE expires_at <= excluded.acquired_at OR holder = excluded.holder",
            params![id.as_str(), holder, now, now + lapses_after.as_secs_f64()],
        )
    }

    /// Who has the lock, lapsed or not.
    pub fn compression_holder(&self, id: &SessionId) -> Result<Option<String>, StoreError> {
        self.read(|connection| {
            Ok(connection
                .prepare_cached("SELECT holder FROM compression_locks WHERE session_id = ?1")?
                .query_row([id.as_str()], |row| row.get(0))
                .optional()?)
        })
    }

    /// Gives the lock back; one that somebody else has taken over stays.
    pub fn unlock_compression(&self, id: &SessionId, holder: &str) -> Result<bool, StoreError> {
        self.update_one(
            "DELETE FROM compression_locks WHERE session_id = ?1 AND holder = ?2",
            [id.as_str(), holder],
        )
    }
}
