//! Session rows: making, reading, ending, reopening and finding one.

use chrono::Local;
use hermes_home::Clock;
use hermes_types::SessionId;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use super::lineage::title_reference;
use super::{StateDb, first_id};
use crate::StoreError;
use crate::tables::UNKNOWN_SOURCE;

/// What is known when a session starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewSession {
    pub id: String,
    /// `cli`, `tui`, a platform's name, `cron`, …
    pub source: String,
    pub user_id: Option<String>,
    pub model: Option<String>,
    pub model_config: Option<Value>,
    pub system_prompt: Option<String>,
    pub parent: Option<SessionId>,
    pub cwd: Option<String>,
}

impl NewSession {
    pub fn new(id: &SessionId, source: &str) -> Self {
        Self {
            id: id.to_string(),
            source: source.to_owned(),
            ..Self::default()
        }
    }
}

/// One row, all columns that we know.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Session {
    pub id: SessionId,
    pub source: String,
    pub user_id: Option<String>,
    pub model: Option<String>,
    pub model_config: Option<Value>,
    pub system_prompt: Option<String>,
    pub parent_session_id: Option<SessionId>,
    pub started_at: f64,
    pub ended_at: Option<f64>,
    pub end_reason: Option<String>,
    pub message_count: i64,
    pub tool_call_count: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub cache_read_tokens: i64,
    pub cache_write_tokens: i64,
    pub reasoning_tokens: i64,
    pub cwd: Option<String>,
    pub billing_provider: Option<String>,
    pub billing_base_url: Option<String>,
    pub billing_mode: Option<String>,
    pub estimated_cost_usd: Option<f64>,
    pub actual_cost_usd: Option<f64>,
    pub cost_status: Option<String>,
    pub cost_source: Option<String>,
    pub title: Option<String>,
    pub api_call_count: i64,
    pub handoff_state: Option<String>,
    pub handoff_platform: Option<String>,
    pub handoff_error: Option<String>,
    pub rewind_count: i64,
    pub archived: bool,
}

impl Session {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let count = |name: &str| {
            row.get::<_, Option<i64>>(name)
                .map(Option::unwrap_or_default)
        };
        let config: Option<String> = row.get("model_config")?;
        Ok(Self {
            id: SessionId::new(row.get::<_, String>("id")?),
            source: row.get("source")?,
            user_id: row.get("user_id")?,
            model: row.get("model")?,
            model_config: config.and_then(|text| serde_json::from_str(&text).ok()),
            system_prompt: row.get("system_prompt")?,
            parent_session_id: row
                .get::<_, Option<String>>("parent_session_id")?
                .map(SessionId::new),
            started_at: row.get("started_at")?,
            ended_at: row.get("ended_at")?,
            end_reason: row.get("end_reason")?,
            message_count: count("message_count")?,
            tool_call_count: count("tool_call_count")?,
            input_tokens: count("input_tokens")?,
            output_tokens: count("output_tokens")?,
            cache_read_tokens: count("cache_read_tokens")?,
            cache_write_tokens: count("cache_write_tokens")?,
            reasoning_tokens: count("reasoning_tokens")?,
            cwd: row.get("cwd")?,
            billing_provider: row.get("billing_provider")?,
            billing_base_url: row.get("billing_base_url")?,
            billing_mode: row.get("billing_mode")?,
            estimated_cost_usd: row.get("estimated_cost_usd")?,
            actual_cost_usd: row.get("actual_cost_usd")?,
            cost_status: row.get("cost_status")?,
            cost_source: row.get("cost_source")?,
            title: row.get("title")?,
            api_call_count: count("api_call_count")?,
            handoff_state: row.get("handoff_state")?,
            handoff_platform: row.get("handoff_platform")?,
            handoff_error: row.get("handoff_error")?,
            rewind_count: count("rewind_count")?,
            archived: count("archived")? != 0,
        })
    }
}

/// `YYYYmmdd_HHMMSS_` in local time and six random hex digits.
pub fn new_session_id(clock: &Clock) -> SessionId {
    let random = Uuid::new_v4().simple().to_string();
    SessionId::new(format!(
        "{}_{}",
        clock.now().with_timezone(&Local).format("%Y%m%d_%H%M%S"),
        &random[..6]
    ))
}

impl StateDb {
    /// Makes the row; a row that is already there stays as it is, unless it was
    /// only made for counters that came first. True when this call made it.
    pub fn create_session(&self, new: &NewSession) -> Result<bool, StoreError> {
        let now = self.now();
        self.write(|transaction| create_in(transaction, new, now))
    }

    pub fn session(&self, id: &SessionId) -> Result<Option<Session>, StoreError> {
        self.read(|connection| {
            Ok(connection
                .prepare_cached("SELECT * FROM sessions WHERE id = ?1")?
                .query_row([id.as_str()], Session::from_row)
                .optional()?)
        })
    }

    /// The first end wins; true when this call was it.
    pub fn end_session(&self, id: &SessionId, reason: &str) -> Result<bool, StoreError> {
        let now = self.now();
        self.update_one(
            "UPDATE sessions SET ended_at = ?2, end_reason = ?3 WHERE id = ?1 AND ended_at IS NULL",
            params![id.as_str(), now, reason],
        )
    }

    /// Takes an end back, for a session that is resumed.
    pub fn reopen_session(&self, id: &SessionId) -> Result<bool, StoreError> {
        self.update_one(
            "UPDATE sessions SET ended_at = NULL, end_reason = NULL WHERE id = ?1",
            [id.as_str()],
        )
    }

    /// Ends the subagents' sessions below this one that nobody ended, because their
    /// process died or was stopped with them. Branches are conversations of their own.
    pub fn end_abandoned_children(&self, id: &SessionId) -> Result<usize, StoreError> {
        let now = self.now();
        self.write(|transaction| {
            Ok(transaction
                .prepare_cached(
                    "WITH RECURSIVE below(id) AS ( \
                       SELECT ?1 UNION \
                       SELECT child.id FROM sessions child JOIN below \
                         ON child.parent_session_id = below.id \
                         WHERE NOT (json_valid(child.model_config) AND \
                           json_extract(child.model_config, '$._branched_from') IS NOT NULL)) \
                     UPDATE sessions SET ended_at = ?2, end_reason = 'delegation_failed' \
                       WHERE ended_at IS NULL AND id <> ?1 AND id IN (SELECT id FROM below)",
                )?
                .execute(params![id.as_str(), now])?)
        })
    }

    pub fn set_system_prompt(&self, id: &SessionId, prompt: &str) -> Result<bool, StoreError> {
        self.update_one(
            "UPDATE sessions SET system_prompt = ?2 WHERE id = ?1",
            params![id.as_str(), prompt],
        )
    }

    /// For a model that was changed by hand; counters keep what they have.
    pub fn set_model(
        &self,
        id: &SessionId,
        model: &str,
        config: Option<&Value>,
    ) -> Result<bool, StoreError> {
        self.update_one(
            "UPDATE sessions SET model = ?2, model_config = COALESCE(?3, model_config) WHERE id = ?1",
            params![id.as_str(), model, config.map(Value::to_string)],
        )
    }

    pub fn set_cwd(&self, id: &SessionId, cwd: &str) -> Result<bool, StoreError> {
        self.update_one(
            "UPDATE sessions SET cwd = ?2 WHERE id = ?1",
            params![id.as_str(), cwd],
        )
    }

    pub fn set_archived(&self, id: &SessionId, archived: bool) -> Result<bool, StoreError> {
        self.update_one(
            "UPDATE sessions SET archived = ?2 WHERE id = ?1",
            params![id.as_str(), archived],
        )
    }

    /// An exact id, a title (its newest numbered variant first), or the beginning
    /// of exactly one id, in this order.
    pub fn resolve(&self, reference: &str) -> Result<SessionId, StoreError> {
        self.read(|connection| {
            if let Some(id) = exact(connection, reference)? {
                return Ok(id);
            }
            if let Some(id) = title_reference(connection, reference)? {
                return Ok(id);
            }
            by_prefix(connection, reference)
        })
    }

    /// An exact id or the beginning of exactly one.
    pub fn resolve_id(&self, reference: &str) -> Result<SessionId, StoreError> {
        self.read(|connection| match exact(connection, reference)? {
            Some(id) => Ok(id),
            None => by_prefix(connection, reference),
        })
    }

    pub(super) fn update_one(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
    ) -> Result<bool, StoreError> {
        self.write(|transaction| Ok(transaction.prepare_cached(sql)?.execute(parameters)? > 0))
    }
}

fn exact(connection: &Connection, reference: &str) -> Result<Option<SessionId>, StoreError> {
    Ok(connection
        .prepare_cached("SELECT id FROM sessions WHERE id = ?1")?
        .query_row([reference], first_id)
        .optional()?)
}

fn by_prefix(connection: &Connection, reference: &str) -> Result<SessionId, StoreError> {
    let not_found = || StoreError::SessionNotFound {
        reference: reference.to_owned(),
    };
    if reference.is_empty() {
        return Err(not_found());
    }
    // A range instead of LIKE: `_` and `%` in an id mean themselves, and the
    // primary key serves it.
    let after = format!("{reference}\u{10FFFF}");
    let mut matches: Vec<String> = connection
        .prepare_cached("SELECT id FROM sessions WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT 6")?
        .query_map([reference, &after], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    match matches.len() {
        0 => Err(not_found()),
        1 => Ok(SessionId::new(matches.remove(0))),
        _ => Err(StoreError::AmbiguousSession {
            reference: reference.to_owned(),
            matches,
        }),
    }
}

pub(super) fn create_in(
    transaction: &Transaction<'_>,
    new: &NewSession,
    now: f64,
) -> Result<bool, StoreError> {
    let existed: Option<String> = transaction
        .query_row(
            "SELECT source FROM sessions WHERE id = ?1",
            [&new.id],
            |row| row.get(0),
        )
        .optional()?;
    if existed.is_some_and(|source| source != UNKNOWN_SOURCE) {
        return Ok(false);
    }
    transaction
        .prepare_cached(
            "INSERT INTO sessions (id, source, user_id, model, model_config, system_prompt, \
             parent_session_id, started_at, cwd) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9) \
             ON CONFLICT(id) DO UPDATE SET source = excluded.source, \
             user_id = COALESCE(user_id, excluded.user_id), \
             model = COALESCE(model, excluded.model), \
             model_config = COALESCE(model_config, excluded.model_config), \
             system_prompt = COALESCE(system_prompt, excluded.system_prompt), \
             parent_session_id = COALESCE(parent_session_id, excluded.parent_session_id), \
             cwd = COALESCE(cwd, excluded.cwd)",
        )?
        .execute(params![
            new.id,
            new.source,
            new.user_id,
            new.model,
            new.model_config.as_ref().map(Value::to_string),
            new.system_prompt,
            new.parent.as_ref().map(SessionId::as_str),
            now,
            new.cwd,
        ])?;
    Ok(true)
}
