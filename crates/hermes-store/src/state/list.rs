//! Lists of conversations: one row per chain, at its live end.

use hermes_types::SessionId;
use rusqlite::types::Value as SqlValue;
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};
use serde::Serialize;

use super::StateDb;
use super::codec::{decode_content, one_line};
use super::lineage::compression_tip;
use crate::StoreError;
use crate::tables::TOOL_SOURCE;

const PREVIEW_CHARS: usize = 60;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListOrder {
    /// Newest start first.
    #[default]
    Started,
    /// Newest message first, anywhere in the chain.
    LastActive,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListFilter {
    pub source: Option<String>,
    /// Left out unless `source` names one of them.
    pub hidden_sources: Vec<String>,
    pub archived: bool,
    /// Children of delegation and middle parts of compressed chains too, unprojected.
    pub every_row: bool,
    pub order: ListOrder,
    pub limit: usize,
    pub offset: usize,
}

impl Default for ListFilter {
    fn default() -> Self {
        Self {
            source: None,
            hidden_sources: vec![TOOL_SOURCE.to_owned()],
            archived: false,
            every_row: false,
            order: ListOrder::default(),
            limit: 20,
            offset: 0,
        }
    }
}

/// A conversation as lists show it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListedSession {
    pub id: SessionId,
    pub source: String,
    pub title: Option<String>,
    /// The beginning of the first user message, on one line.
    pub preview: String,
    pub model: Option<String>,
    pub cwd: Option<String>,
    pub started_at: f64,
    pub ended_at: Option<f64>,
    pub end_reason: Option<String>,
    pub last_active: f64,
    pub message_count: i64,
    pub tool_call_count: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub estimated_cost_usd: Option<f64>,
    pub archived: bool,
    pub parent_session_id: Option<SessionId>,
    /// Where the chain began, when `id` is not that session.
    #[serde(rename = "_lineage_root_id", skip_serializing_if = "Option::is_none")]
    pub lineage_root: Option<SessionId>,
}

const COLUMNS: &str = "s.id, s.source, s.title, s.model, s.cwd, s.started_at, s.ended_at, \
    s.end_reason, s.message_count, s.tool_call_count, s.input_tokens, s.output_tokens, \
    s.estimated_cost_usd, s.archived, s.parent_session_id, \
    COALESCE((SELECT MAX(m.timestamp) FROM messages m WHERE m.session_id = s.id), s.started_at) \
    AS last_active";

/// A row of its own in lists: no parent, or branched off on purpose.
const IS_ROOT: &str = "(s.parent_session_id IS NULL \
    OR (json_valid(s.model_config) AND json_extract(s.model_config, '$._branched_from') IS NOT NULL) \
    OR EXISTS (SELECT 1 FROM sessions p WHERE p.id = s.parent_session_id \
    AND p.end_reason = 'branched' AND s.started_at >= p.ended_at))";

/// The newest message in the whole chain of a root.
const CHAIN_ACTIVITY: &str = "(WITH RECURSIVE chain(id, end_reason, ended_at, depth) AS ( \
    SELECT s.id, s.end_reason, s.ended_at, 0 UNION ALL \
    SELECT c.id, c.end_reason, c.ended_at, chain.depth + 1 FROM chain JOIN sessions c \
    ON c.parent_session_id = chain.id AND chain.end_reason = 'compression' \
    AND c.started_at >= chain.ended_at WHERE chain.depth < 100) \
    SELECT MAX((SELECT MAX(m.timestamp) FROM messages m WHERE m.session_id = chain.id)) FROM chain)";

impl StateDb {
    pub fn list(&self, filter: &ListFilter) -> Result<Vec<ListedSession>, StoreError> {
        self.read(|connection| {
            let (sql, values) = query(filter);
            let mut rows: Vec<ListedSession> = connection
                .prepare(&sql)?
                .query_map(params_from_iter(values), listed)?
                .collect::<rusqlite::Result<_>>()?;
            for row in &mut rows {
                if !filter.every_row && row.end_reason.as_deref() == Some("compression") {
                    project_to_tip(connection, row)?;
                }
                row.preview = preview(connection, &row.id)?;
            }
            Ok(rows)
        })
    }

    /// One conversation as a list would show it.
    pub fn listed(&self, id: &SessionId) -> Result<Option<ListedSession>, StoreError> {
        self.read(|connection| {
            let Some(mut row) = one(connection, id)? else {
                return Ok(None);
            };
            row.preview = preview(connection, id)?;
            Ok(Some(row))
        })
    }

    /// The conversation of a source that was used last, at its live end.
    pub fn newest_of_source(&self, source: &str) -> Result<Option<SessionId>, StoreError> {
        let filter = ListFilter {
            source: Some(source.to_owned()),
            order: ListOrder::LastActive,
            limit: 1,
            ..ListFilter::default()
        };
        Ok(self.list(&filter)?.pop().map(|row| row.id))
    }
}

fn query(filter: &ListFilter) -> (String, Vec<SqlValue>) {
    let mut conditions = Vec::new();
    let mut values: Vec<SqlValue> = Vec::new();
    if !filter.every_row {
        conditions.push(IS_ROOT.to_owned());
    }
    if !filter.archived {
        conditions.push("s.archived = 0".to_owned());
    }
    match &filter.source {
        Some(source) => {
            conditions.push("s.source = ?".to_owned());
            values.push(source.clone().into());
        }
        None => {
            for hidden in &filter.hidden_sources {
                // The plus keeps the index on `source` out: the order needs the other one.
                conditions.push("+s.source <> ?".to_owned());
                values.push(hidden.clone().into());
            }
        }
    }
    let conditions = if conditions.is_empty() {
        "1".to_owned()
    } else {
        conditions.join(" AND ")
    };
    let order = match filter.order {
        ListOrder::Started => "s.started_at DESC".to_owned(),
        ListOrder::LastActive => {
            format!("COALESCE({CHAIN_ACTIVITY}, s.started_at) DESC, s.started_at DESC")
        }
    };
    let number = |value: usize| SqlValue::from(i64::try_from(value).unwrap_or(i64::MAX));
    values.push(number(filter.limit));
    values.push(number(filter.offset));
    (
        format!(
            "SELECT {COLUMNS} FROM sessions s WHERE {conditions} ORDER BY {order} LIMIT ? OFFSET ?"
        ),
        values,
    )
}

fn listed(row: &Row<'_>) -> rusqlite::Result<ListedSession> {
    let count = |name: &str| {
        row.get::<_, Option<i64>>(name)
            .map(Option::unwrap_or_default)
    };
    Ok(ListedSession {
        id: SessionId::new(row.get::<_, String>("id")?),
        source: row.get("source")?,
        title: row.get("title")?,
        preview: String::new(),
        model: row.get("model")?,
        cwd: row.get("cwd")?,
        started_at: row.get("started_at")?,
        ended_at: row.get("ended_at")?,
        end_reason: row.get("end_reason")?,
        last_active: row.get("last_active")?,
        message_count: count("message_count")?,
        tool_call_count: count("tool_call_count")?,
        input_tokens: count("input_tokens")?,
        output_tokens: count("output_tokens")?,
        estimated_cost_usd: row.get("estimated_cost_usd")?,
        archived: count("archived")? != 0,
        parent_session_id: row
            .get::<_, Option<String>>("parent_session_id")?
            .map(SessionId::new),
        lineage_root: None,
    })
}

fn one(connection: &Connection, id: &SessionId) -> Result<Option<ListedSession>, StoreError> {
    Ok(connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM sessions s WHERE s.id = ?1"))?
        .query_row([id.as_str()], listed)
        .optional()?)
}

/// The chain keeps the root's start and source, so that its place in the list stays.
fn project_to_tip(connection: &Connection, row: &mut ListedSession) -> Result<(), StoreError> {
    let tip = compression_tip(connection, &row.id)?;
    if tip == row.id {
        return Ok(());
    }
    if let Some(live) = one(connection, &tip)? {
        *row = ListedSession {
            started_at: row.started_at,
            source: std::mem::take(&mut row.source),
            cwd: live.cwd.or_else(|| row.cwd.take()),
            lineage_root: Some(row.id.clone()),
            ..live
        };
    }
    Ok(())
}

pub(super) fn preview(connection: &Connection, id: &SessionId) -> Result<String, StoreError> {
    let content: Option<Option<String>> = connection
        .prepare_cached(
            "SELECT content FROM messages WHERE session_id = ?1 AND role = 'user' AND active = 1 \
             ORDER BY timestamp, id LIMIT 1",
        )?
        .query_row([id.as_str()], |row| row.get(0))
        .optional()?;
    Ok(match content {
        Some(content) => one_line(decode_content(content).text().trim(), PREVIEW_CHARS),
        None => String::new(),
    })
}
