//! What figures over many sessions are made of.

use rusqlite::params;

use super::StateDb;
use crate::StoreError;

/// One session, without its words.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionFigures {
    pub id: String,
    pub source: String,
    pub model: Option<String>,
    pub started_at: f64,
    pub ended_at: Option<f64>,
    pub messages: i64,
    pub tool_calls: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub cache_tokens: i64,
    /// What it cost, as far as that is known.
    pub cost_usd: Option<f64>,
}

impl SessionFigures {
    pub fn tokens(&self) -> i64 {
        self.input_tokens + self.output_tokens + self.cache_tokens
    }

    pub fn seconds(&self) -> Option<f64> {
        Some((self.ended_at? - self.started_at).max(0.0))
    }
}

impl StateDb {
    /// The sessions that began at or after a moment, oldest first.
    pub fn figures_since(
        &self,
        since: f64,
        source: Option<&str>,
    ) -> Result<Vec<SessionFigures>, StoreError> {
        let mut statement = self.database().connection().prepare(
            "SELECT id, source, model, started_at, ended_at, message_count, tool_call_count,
                 input_tokens, output_tokens, cache_read_tokens + cache_write_tokens,
                 coalesce(actual_cost_usd, estimated_cost_usd)
             FROM sessions
             WHERE started_at >= ?1 AND (?2 IS NULL OR source = ?2)
             ORDER BY started_at, id",
        )?;
        let number = |value: Option<i64>| value.unwrap_or(0);
        let rows = statement.query_map(params![since, source], |row| {
            Ok(SessionFigures {
                id: row.get(0)?,
                source: row.get(1)?,
                model: row.get(2)?,
                started_at: row.get(3)?,
                ended_at: row.get(4)?,
                messages: number(row.get(5)?),
                tool_calls: number(row.get(6)?),
                input_tokens: number(row.get(7)?),
                output_tokens: number(row.get(8)?),
                cache_tokens: number(row.get(9)?),
                cost_usd: row.get(10)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// How many messages people wrote in those sessions.
    pub fn user_messages_since(&self, since: f64, source: Option<&str>) -> Result<i64, StoreError> {
        Ok(self.database().connection().query_row(
            "SELECT count(*) FROM sessions s JOIN messages m ON m.session_id = s.id
             WHERE s.started_at >= ?1 AND (?2 IS NULL OR s.source = ?2) AND m.role = 'user'",
            params![since, source],
            |row| row.get(0),
        )?)
    }

    /// Hands every stored list of tool calls of those sessions to `each`, with its
    /// time, one at a time: there may be many, and long ones.
    pub fn tool_calls_since(
        &self,
        since: f64,
        source: Option<&str>,
        mut each: impl FnMut(f64, &str),
    ) -> Result<(), StoreError> {
        let mut statement = self.database().connection().prepare(
            "SELECT m.timestamp, m.tool_calls FROM sessions s JOIN messages m ON m.session_id = s.id
             WHERE s.started_at >= ?1 AND (?2 IS NULL OR s.source = ?2)
               AND m.role = 'assistant' AND m.tool_calls IS NOT NULL
             ORDER BY m.id",
        )?;
        let mut rows = statement.query(params![since, source])?;
        while let Some(row) = rows.next()? {
            let text: String = row.get(1)?;
            each(row.get(0)?, &text);
        }
        Ok(())
    }
}
