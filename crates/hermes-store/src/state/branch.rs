//! A copy of a session to go on in, while the old one stays as it was.

use hermes_types::SessionId;
use rusqlite::params;

use super::{StateDb, new_session_id};
use crate::StoreError;

impl StateDb {
    /// Copies the active history into a child session with this title; the old
    /// session ends as `branched`. Returns the child.
    pub fn branch(&self, id: &SessionId, title: &str) -> Result<SessionId, StoreError> {
        let child = new_session_id(&self.clock);
        let now = self.now();
        self.write(|transaction| {
            let made = transaction.execute(
                "INSERT INTO sessions (id, source, user_id, model, model_config, system_prompt, \
                   parent_session_id, started_at, message_count, tool_call_count, cwd) \
                 SELECT ?2, source, user_id, model, \
                   json_set(CASE WHEN json_valid(model_config) THEN model_config ELSE '{}' END, \
                     '$._branched_from', id), \
                   system_prompt, id, ?3, message_count, tool_call_count, cwd \
                 FROM sessions WHERE id = ?1",
                params![id.as_str(), child.as_str(), now],
            )?;
            if made == 0 {
                return Err(StoreError::SessionNotFound {
                    reference: id.to_string(),
                });
            }
            transaction.execute(
                "INSERT INTO messages (session_id, role, content, tool_call_id, tool_calls, \
                   tool_name, timestamp, token_count, finish_reason, reasoning, reasoning_content, \
                   reasoning_details, codex_reasoning_items, codex_message_items, observed) \
                 SELECT ?2, role, content, tool_call_id, tool_calls, tool_name, timestamp, \
                   token_count, finish_reason, reasoning, reasoning_content, reasoning_details, \
                   codex_reasoning_items, codex_message_items, observed \
                 FROM messages WHERE session_id = ?1 AND active = 1 ORDER BY id",
                params![id.as_str(), child.as_str()],
            )?;
            transaction.execute(
                "UPDATE sessions SET ended_at = ?2, end_reason = 'branched' \
                 WHERE id = ?1 AND ended_at IS NULL",
                params![id.as_str(), now],
            )?;
            Ok(())
        })?;
        self.set_title(&child, title)?;
        Ok(child)
    }
}
