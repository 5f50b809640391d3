//! Messages: appended one by one or in a batch, on disk when the call returns.

use hermes_types::{Content, Message, Part, Role, SessionId};
use rusqlite::{Connection, Row, Transaction, params};
use serde_json::Value;

use super::StateDb;
use super::codec::{
    decode_calls, decode_content, encode_calls, encode_content, strip_memory_context,
};
use crate::StoreError;

/// A message and what the database keeps beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct NewMessage {
    pub message: Message,
    /// Now, unless said otherwise.
    pub timestamp: Option<f64>,
    pub token_count: Option<i64>,
    /// What a chat platform calls this message.
    pub platform_message_id: Option<String>,
    /// Seen in a group chat, not addressed to us.
    pub observed: bool,
    /// Reasoning that a provider wants back under this name.
    pub reasoning_content: Option<String>,
    pub codex_reasoning_items: Option<Value>,
    pub codex_message_items: Option<Value>,
}

impl From<Message> for NewMessage {
    fn from(message: Message) -> Self {
        Self {
            message,
            timestamp: None,
            token_count: None,
            platform_message_id: None,
            observed: false,
            reasoning_content: None,
            codex_reasoning_items: None,
            codex_message_items: None,
        }
    }
}

/// A stored message. `id` grows with every append to the file.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredMessage {
    pub id: i64,
    pub session_id: SessionId,
    pub message: Message,
    pub timestamp: f64,
    pub token_count: Option<i64>,
    pub platform_message_id: Option<String>,
    pub observed: bool,
    pub active: bool,
    pub reasoning_content: Option<String>,
    pub codex_reasoning_items: Option<Value>,
    pub codex_message_items: Option<Value>,
}

impl StoredMessage {
    /// `None` for rows that are no part of a conversation (`session_meta`).
    pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<Option<Self>> {
        let role: String = row.get("role")?;
        let Some(role) = Role::parse(&role) else {
            return Ok(None);
        };
        let value = |name: &str| -> rusqlite::Result<Option<Value>> {
            let text: Option<String> = row.get(name)?;
            Ok(text.map(|text| serde_json::from_str(&text).unwrap_or(Value::String(text))))
        };
        let reasoning_content: Option<String> = row.get("reasoning_content")?;
        let reasoning: Option<String> = row.get("reasoning")?;
        Ok(Some(Self {
            id: row.get("id")?,
            session_id: SessionId::new(row.get::<_, String>("session_id")?),
            message: Message {
                role,
                content: decode_content(row.get("content")?),
                tool_calls: decode_calls(row.get("tool_calls")?),
                tool_call_id: row.get("tool_call_id")?,
                tool_name: row.get("tool_name")?,
                reasoning: reasoning.or_else(|| reasoning_content.clone()),
                reasoning_details: value("reasoning_details")?,
                finish_reason: row.get("finish_reason")?,
            },
            timestamp: row.get("timestamp")?,
            token_count: row.get("token_count")?,
            platform_message_id: row.get("platform_message_id")?,
            observed: row.get::<_, Option<i64>>("observed")?.unwrap_or(0) != 0,
            active: row.get::<_, Option<i64>>("active")?.unwrap_or(1) != 0,
            reasoning_content,
            codex_reasoning_items: value("codex_reasoning_items")?,
            codex_message_items: value("codex_message_items")?,
        }))
    }
}

impl StateDb {
    /// Appends one message and returns its row id.
    pub fn append(
        &self,
        session: &SessionId,
        message: impl Into<NewMessage>,
    ) -> Result<i64, StoreError> {
        let ids = self.append_batch(session, &[message.into()])?;
        ids.first().copied().ok_or(StoreError::SessionNotFound {
            reference: session.to_string(),
        })
    }

    /// Appends all or none, in this order.
    pub fn append_batch(
        &self,
        session: &SessionId,
        messages: &[NewMessage],
    ) -> Result<Vec<i64>, StoreError> {
        let now = self.now();
        self.write(|transaction| append_in(transaction, session, messages, now))
    }

    /// Replaces what a message says, such as a result that guidance was added to.
    pub fn set_content(&self, id: i64, content: &Content) -> Result<bool, StoreError> {
        self.update_one(
            "UPDATE messages SET content = ?2 WHERE id = ?1",
            params![id, encode_content(content)],
        )
    }

    /// The active history of a session, oldest first.
    pub fn messages(&self, session: &SessionId) -> Result<Vec<StoredMessage>, StoreError> {
        self.read(|connection| load(connection, session, Rows::Active))
    }

    /// What was said last: the newest `exchanges` questions with the answers that
    /// followed them, oldest first, and how many messages came before. Results of
    /// tools are neither returned nor read.
    pub fn last_said(
        &self,
        session: &SessionId,
        exchanges: usize,
    ) -> Result<(Vec<StoredMessage>, usize), StoreError> {
        let exchanges = i64::try_from(exchanges).unwrap_or(i64::MAX).max(1);
        self.read(|connection| {
            let first: Option<i64> = connection
                .prepare_cached(
                    "SELECT min(id) FROM (SELECT id FROM messages WHERE session_id = ?1 \
                     AND active = 1 AND role = 'user' ORDER BY id DESC LIMIT ?2)",
                )?
                .query_row(params![session.as_str(), exchanges], |row| row.get(0))?;
            let first = first.unwrap_or(0);
            let mut said = collect(
                connection,
                "SELECT * FROM messages WHERE session_id = ?1 AND active = 1 AND id >= ?2 \
                 AND role IN ('user', 'assistant') ORDER BY id",
                params![session.as_str(), first],
            )?;
            for stored in &mut said {
                clean(&mut stored.message.content);
            }
            let earlier: i64 = connection
                .prepare_cached(
                    "SELECT count(*) FROM messages WHERE session_id = ?1 AND active = 1 \
                     AND id < ?2 AND role IN ('user', 'assistant')",
                )?
                .query_row(params![session.as_str(), first], |row| row.get(0))?;
            Ok((said, usize::try_from(earlier).unwrap_or(0)))
        })
    }

    /// The newest row of the active history: another one means that somebody went on.
    pub fn newest_message(&self, session: &SessionId) -> Result<Option<i64>, StoreError> {
        self.read(|connection| {
            Ok(connection
                .prepare_cached(
                    "SELECT max(id) FROM messages WHERE session_id = ?1 AND active = 1",
                )?
                .query_row([session.as_str()], |row| row.get(0))?)
        })
    }

    /// Rewound rows too.
    pub fn all_messages(&self, session: &SessionId) -> Result<Vec<StoredMessage>, StoreError> {
        self.read(|connection| load(connection, session, Rows::All))
    }

    /// The history with that of the sessions it was compressed from in front; a
    /// user message that compression carried over appears once.
    pub fn messages_with_ancestors(
        &self,
        session: &SessionId,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        let mut lineage = self.ancestors(session)?;
        lineage.reverse();
        lineage.push(session.clone());
        self.read(|connection| {
            let mut history: Vec<StoredMessage> = Vec::new();
            for id in &lineage {
                for stored in load(connection, id, Rows::Active)? {
                    let repeated = stored.message.role == Role::User
                        && history.iter().any(|earlier| {
                            earlier.message.role == Role::User
                                && earlier.session_id != stored.session_id
                                && earlier.message.content == stored.message.content
                        });
                    if !repeated {
                        history.push(stored);
                    }
                }
            }
            Ok(history)
        })
    }

    /// A window around one message of a session: up to `each_side` before and after.
    pub fn messages_around(
        &self,
        session: &SessionId,
        message: i64,
        each_side: usize,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        let side = i64::try_from(each_side).unwrap_or(i64::MAX);
        self.read(|connection| {
            let mut window = collect(
                connection,
                "SELECT * FROM messages WHERE session_id = ?1 AND active = 1 AND id < ?2 \
                 ORDER BY id DESC LIMIT ?3",
                params![session.as_str(), message, side],
            )?;
            window.reverse();
            window.extend(collect(
                connection,
                "SELECT * FROM messages WHERE session_id = ?1 AND active = 1 AND id >= ?2 \
                 ORDER BY id LIMIT ?3",
                params![session.as_str(), message, side.saturating_add(1)],
            )?);
            Ok(window)
        })
    }

    /// Which message a platform's id belongs to.
    pub fn message_by_platform_id(
        &self,
        session: &SessionId,
        platform_id: &str,
    ) -> Result<Option<StoredMessage>, StoreError> {
        self.read(|connection| {
            Ok(collect(
                connection,
                "SELECT * FROM messages WHERE session_id = ?1 AND platform_message_id = ?2 \
                 ORDER BY id DESC LIMIT 1",
                params![session.as_str(), platform_id],
            )?
            .pop())
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rows {
    Active,
    All,
}

fn load(
    connection: &Connection,
    session: &SessionId,
    rows: Rows,
) -> Result<Vec<StoredMessage>, StoreError> {
    let sql = match rows {
        Rows::Active => "SELECT * FROM messages WHERE session_id = ?1 AND active = 1 ORDER BY id",
        Rows::All => "SELECT * FROM messages WHERE session_id = ?1 ORDER BY id",
    };
    let mut history = collect(connection, sql, [session.as_str()])?;
    for stored in &mut history {
        if matches!(stored.message.role, Role::User | Role::Assistant) {
            clean(&mut stored.message.content);
        }
    }
    Ok(history)
}

fn clean(content: &mut Content) {
    let strip = |text: &mut String| *text = strip_memory_context(std::mem::take(text));
    match content {
        Content::Text(text) => strip(text),
        Content::Parts(parts) => {
            for part in parts {
                if let Part::Text { text } = part {
                    strip(text);
                }
            }
        }
    }
}

fn collect(
    connection: &Connection,
    sql: &str,
    parameters: impl rusqlite::Params,
) -> Result<Vec<StoredMessage>, StoreError> {
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(parameters, StoredMessage::from_row)?;
    let mut messages = Vec::new();
    for row in rows {
        messages.extend(row?);
    }
    Ok(messages)
}

pub(super) fn append_in(
    transaction: &Transaction<'_>,
    session: &SessionId,
    messages: &[NewMessage],
    now: f64,
) -> Result<Vec<i64>, StoreError> {
    let ids = messages
        .iter()
        .map(|message| insert(transaction, session, message, now))
        .collect::<Result<Vec<i64>, StoreError>>()?;
    count(transaction, session, messages)?;
    Ok(ids)
}

fn insert(
    transaction: &Transaction<'_>,
    session: &SessionId,
    new: &NewMessage,
    now: f64,
) -> Result<i64, StoreError> {
    let message = &new.message;
    let json = |value: &Option<Value>| value.as_ref().map(Value::to_string);
    transaction
        .prepare_cached(
            "INSERT INTO messages (session_id, role, content, tool_call_id, tool_calls, tool_name, \
             timestamp, token_count, finish_reason, reasoning, reasoning_content, reasoning_details, \
             codex_reasoning_items, codex_message_items, platform_message_id, observed) \
             VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16)",
        )?
        .execute(params![
            session.as_str(),
            message.role.as_str(),
            encode_content(&message.content),
            message.tool_call_id,
            encode_calls(&message.tool_calls),
            message.tool_name,
            new.timestamp.unwrap_or(now),
            new.token_count,
            message.finish_reason,
            message.reasoning,
            new.reasoning_content,
            json(&message.reasoning_details),
            json(&new.codex_reasoning_items),
            json(&new.codex_message_items),
            new.platform_message_id,
            new.observed,
        ])
        .map_err(|error| unknown_session(error, session))?;
    Ok(transaction.last_insert_rowid())
}

fn unknown_session(error: rusqlite::Error, session: &SessionId) -> StoreError {
    match &error {
        rusqlite::Error::SqliteFailure(code, _)
            if code.extended_code == rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY =>
        {
            StoreError::SessionNotFound {
                reference: session.to_string(),
            }
        }
        _ => error.into(),
    }
}

fn count(
    transaction: &Transaction<'_>,
    session: &SessionId,
    messages: &[NewMessage],
) -> Result<(), StoreError> {
    let calls: usize = messages
        .iter()
        .map(|new| new.message.tool_calls.len())
        .sum();
    transaction
        .prepare_cached(
            "UPDATE sessions SET message_count = COALESCE(message_count, 0) + ?2, \
             tool_call_count = COALESCE(tool_call_count, 0) + ?3 WHERE id = ?1",
        )?
        .execute(params![
            session.as_str(),
            i64::try_from(messages.len()).unwrap_or(i64::MAX),
            i64::try_from(calls).unwrap_or(i64::MAX),
        ])?;
    Ok(())
}
