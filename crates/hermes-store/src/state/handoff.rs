//! Moving a session to another platform: `pending`, `running`, then `completed`
//! or `failed`. A claim is a conditional update, so one taker wins.

use hermes_types::SessionId;
use rusqlite::params;

use super::{StateDb, first_id};
use crate::StoreError;

const LONGEST_ERROR: usize = 500;

impl StateDb {
    pub fn request_handoff(&self, id: &SessionId, platform: &str) -> Result<bool, StoreError> {
        self.update_one(
            "UPDATE sessions SET handoff_state = 'pending', handoff_platform = ?2, \
             handoff_error = NULL WHERE id = ?1 \
             AND (handoff_state IS NULL OR handoff_state NOT IN ('pending', 'running'))",
            params![id.as_str(), platform],
        )
    }

    /// Sessions that wait to be taken over by `platform`, oldest first.
    pub fn pending_handoffs(&self, platform: &str) -> Result<Vec<SessionId>, StoreError> {
        self.read(|connection| {
            Ok(connection
                .prepare_cached(
                    "SELECT id FROM sessions WHERE handoff_state = 'pending' \
                     AND handoff_platform = ?1 ORDER BY started_at",
                )?
                .query_map([platform], first_id)?
                .collect::<rusqlite::Result<_>>()?)
        })
    }

    /// True for exactly one of those who try.
    pub fn claim_handoff(&self, id: &SessionId) -> Result<bool, StoreError> {
        self.update_one(
            "UPDATE sessions SET handoff_state = 'running' \
             WHERE id = ?1 AND handoff_state = 'pending'",
            [id.as_str()],
        )
    }

    pub fn finish_handoff(
        &self,
        id: &SessionId,
        outcome: Result<(), &str>,
    ) -> Result<bool, StoreError> {
        let (state, error) = match outcome {
            Ok(()) => ("completed", None),
            Err(error) => (
                "failed",
                Some(error.chars().take(LONGEST_ERROR).collect::<String>()),
            ),
        };
        self.update_one(
            "UPDATE sessions SET handoff_state = ?2, handoff_error = ?3 WHERE id = ?1",
            params![id.as_str(), state, error],
        )
    }
}
