//! Whole sessions as JSON, every column of the live tables by its own name, so
//! that columns of a newer version are not lost.

use hermes_types::SessionId;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use serde_json::{Map, Value};

use super::{StateDb, first_id};
use crate::StoreError;
use crate::tables::STRUCTURED_CONTENT;

impl StateDb {
    /// Ids to export, the most recently used first.
    pub fn export_ids(&self, source: Option<&str>) -> Result<Vec<SessionId>, StoreError> {
        self.read(|connection| {
            Ok(connection
                .prepare(
                    "SELECT s.id FROM sessions s WHERE ?1 IS NULL OR s.source = ?1 \
                     ORDER BY COALESCE((SELECT MAX(m.timestamp) FROM messages m \
                     WHERE m.session_id = s.id), s.started_at) DESC, s.started_at DESC, s.id DESC",
                )?
                .query_map([source], first_id)?
                .collect::<rusqlite::Result<_>>()?)
        })
    }

    /// All columns of the session, `last_active`, and `messages` with all columns
    /// of the active ones.
    pub fn export(&self, id: &SessionId) -> Result<Option<Value>, StoreError> {
        self.read(|connection| {
            let Some(mut session) = rows(
                connection,
                "SELECT s.*, COALESCE((SELECT MAX(m.timestamp) FROM messages m \
                 WHERE m.session_id = s.id), s.started_at) AS last_active \
                 FROM sessions s WHERE s.id = ?1",
                id,
                plain,
            )?
            .pop() else {
                return Ok(None);
            };
            let messages = rows(
                connection,
                "SELECT * FROM messages WHERE session_id = ?1 AND active = 1 ORDER BY id",
                id,
                message_value,
            )?;
            session.insert(
                "messages".to_owned(),
                messages.into_iter().map(Value::Object).collect(),
            );
            Ok(Some(Value::Object(session)))
        })
    }
}

type Convert = fn(&str, ValueRef<'_>) -> Value;

fn rows(
    connection: &Connection,
    sql: &str,
    id: &SessionId,
    convert: Convert,
) -> Result<Vec<Map<String, Value>>, StoreError> {
    let mut statement = connection.prepare_cached(sql)?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let object = |row: &Row<'_>| -> rusqlite::Result<Map<String, Value>> {
        names
            .iter()
            .enumerate()
            .map(|(index, name)| Ok((name.clone(), convert(name, row.get_ref(index)?))))
            .collect()
    };
    Ok(statement
        .query_map([id.as_str()], object)?
        .collect::<rusqlite::Result<_>>()?)
}

fn plain(_name: &str, value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            String::from_utf8_lossy(bytes).into_owned().into()
        }
    }
}

/// Content and calls are shown as what they are, not as the text that stores them.
fn message_value(name: &str, value: ValueRef<'_>) -> Value {
    let value = plain(name, value);
    let json = match (&value, name) {
        (Value::String(text), "content") => text.strip_prefix(STRUCTURED_CONTENT),
        (Value::String(text), "tool_calls") => Some(text.as_str()),
        _ => None,
    };
    match json.map(serde_json::from_str) {
        Some(Ok(decoded)) => decoded,
        _ => value,
    }
}
