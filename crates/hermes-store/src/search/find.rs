//! Looking up a planned query and dressing the hits.

use hermes_types::{Role, SessionId};
use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;

use super::query::{Plan, plan};
use crate::StoreError;
use crate::state::{StateDb, decode_content, one_line};
use crate::tables::TOOL_SOURCE;

const MARK: (&str, &str) = (">>>", "<<<");
const SNIPPET_TOKENS: usize = 40;
const SNIPPET_CHARS_EACH_SIDE: usize = 80;
const CONTEXT_CHARS: usize = 200;
/// How many matches are ranked against each other at once.
const JUDGED_TOGETHER: usize = 3_000;
/// Beyond this many alternatives a scan is cheaper than the index.
const MOST_TRIGRAMS: usize = 300;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchOrder {
    #[default]
    Relevance,
    /// Highest message id first.
    Newest,
    Oldest,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchRequest {
    pub query: String,
    pub order: SearchOrder,
    /// Any role when empty.
    pub roles: Vec<Role>,
    /// Any source when empty.
    pub sources: Vec<String>,
    pub hidden_sources: Vec<String>,
    /// Rewound messages too.
    pub inactive: bool,
    pub limit: usize,
}

impl SearchRequest {
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            order: SearchOrder::default(),
            roles: Vec::new(),
            sources: Vec::new(),
            hidden_sources: vec![TOOL_SOURCE.to_owned()],
            inactive: false,
            limit: 20,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchHit {
    /// Id of the message.
    pub id: i64,
    pub session_id: SessionId,
    pub role: String,
    /// The place that matched, between `>>>` and `<<<`.
    pub snippet: String,
    pub timestamp: f64,
    pub tool_name: Option<String>,
    pub source: String,
    pub model: Option<String>,
    pub title: Option<String>,
    pub session_started: f64,
    /// The message before, this one and the one after.
    pub context: Vec<ContextLine>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ContextLine {
    pub role: String,
    pub content: String,
}

impl StateDb {
    /// Messages that match, in the order asked for. Any text is a valid query.
    pub fn search(&self, request: &SearchRequest) -> Result<Vec<SearchHit>, StoreError> {
        if request.limit == 0 {
            return Ok(Vec::new());
        }
        let plan = plan(&request.query);
        let look_up = |connection: &Connection| match &plan {
            Plan::Nothing => Ok(Vec::new()),
            Plan::Words(expression) => indexed(connection, request, "messages_fts", expression),
            Plan::Trigrams(expression) => {
                indexed(connection, request, "messages_fts_trigram", expression)
            }
            Plan::Short(words) => short_text(connection, request, words),
        };
        self.healing(|| self.read(look_up))
    }
}

fn indexed(
    connection: &Connection,
    request: &SearchRequest,
    table: &str,
    expression: &str,
) -> Result<Vec<SearchHit>, StoreError> {
    let mut snippet = connection.prepare_cached(&format!(
        "SELECT snippet({table}, 0, '{}', '{}', '...', {SNIPPET_TOKENS}) FROM {table} \
         WHERE {table} MATCH ?1 AND rowid = ?2",
        MARK.0, MARK.1
    ))?;
    let mut hits = Vec::new();
    let mut below = i64::MAX;
    loop {
        let window = Window::below(connection, request.order, table, expression, below)?;
        let mut ids = connection.prepare_cached(&window.sql)?;
        let mut rows = ids.query(params![expression, window.above, below])?;
        // Rows are fetched one by one and filters looked up by key, so the walk
        // ends with the last hit that is wanted.
        while let Some(row) = rows.next()? {
            let id: i64 = row.get(0)?;
            if let Some(mut hit) = passing(connection, request, id)? {
                hit.snippet = snippet
                    .query_row(params![expression, id], |row| row.get(0))
                    .optional()?
                    .unwrap_or_default();
                hits.push(hit);
                if hits.len() == request.limit {
                    return dress(connection, hits);
                }
            }
        }
        match window.above {
            0 => return dress(connection, hits),
            above => below = above,
        }
    }
}

/// A range of message ids that is looked at in one go.
struct Window {
    sql: String,
    /// 0 when it reaches down to the first message.
    above: i64,
}

impl Window {
    /// In the order of ids one window is enough: the index walks them in both
    /// directions by itself. Judging relevance costs about a microsecond a match,
    /// so it is done for the newest matches first, and older ones follow only when
    /// those are not enough.
    fn below(
        connection: &Connection,
        order: SearchOrder,
        table: &str,
        expression: &str,
        below: i64,
    ) -> Result<Self, StoreError> {
        let (order, above) = match order {
            SearchOrder::Newest => ("rowid DESC", None),
            SearchOrder::Oldest => ("rowid", None),
            SearchOrder::Relevance => {
                let last: Option<i64> = connection
                    .prepare_cached(&format!(
                        "SELECT rowid FROM {table} WHERE {table} MATCH ?1 AND rowid < ?2 \
                         ORDER BY rowid DESC LIMIT 1 OFFSET {JUDGED_TOGETHER}"
                    ))?
                    .query_row(params![expression, below], |row| row.get(0))
                    .optional()?;
                // The match found is the first of the next window.
                ("rank", last.map(|id| id + 1))
            }
        };
        let above = above.unwrap_or(0);
        let sql = format!(
            "SELECT rowid FROM {table} WHERE {table} MATCH ?1 \
             AND rowid >= ?2 AND rowid < ?3 ORDER BY {order}"
        );
        Ok(Self { sql, above })
    }
}

/// Text too short for the trigram index itself: found through the trigrams that
/// begin with it where those are few, else by reading every message.
fn short_text(
    connection: &Connection,
    request: &SearchRequest,
    words: &[String],
) -> Result<Vec<SearchHit>, StoreError> {
    let order = match request.order {
        SearchOrder::Relevance | SearchOrder::Newest => "DESC",
        SearchOrder::Oldest => "ASC",
    };
    match trigrams_beginning_with(connection, words)? {
        Some(trigrams) if trigrams.is_empty() => Ok(Vec::new()),
        Some(trigrams) => walk(
            connection,
            request,
            words,
            &format!(
                "SELECT rowid FROM messages_fts_trigram WHERE messages_fts_trigram MATCH ?1 \
                 ORDER BY rowid {order}"
            ),
            &[trigrams.join(" OR ")],
        ),
        None => {
            let conditions: Vec<String> = (1..=words.len())
                .map(|n| {
                    format!(
                        "instr(lower(content), ?{n}) OR instr(lower(tool_name), ?{n}) \
                         OR instr(lower(tool_calls), ?{n})"
                    )
                })
                .collect();
            let folded: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
            let sql = format!(
                "SELECT id FROM messages WHERE {} ORDER BY id {order}",
                conditions.join(" OR ")
            );
            walk(connection, request, words, &sql, &folded)
        }
    }
}

/// Quoted trigrams that begin with one of the words, and words that are long enough
/// themselves; `None` when there are too many
/// to ask for. Every word in the index is followed by something: the indexed text
/// ends with the spaces between its columns.
fn trigrams_beginning_with(
    connection: &Connection,
    words: &[String],
) -> Result<Option<Vec<String>>, StoreError> {
    connection.execute_batch(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.trigrams \
         USING fts5vocab('main', 'messages_fts_trigram', 'row')",
    )?;
    let mut statement = connection
        .prepare_cached("SELECT term FROM temp.trigrams WHERE term >= ?1 AND term < ?2 LIMIT ?3")?;
    let mut trigrams: Vec<String> = Vec::new();
    for word in words {
        if word.chars().count() >= 3 {
            trigrams.push(format!("\"{word}\""));
            continue;
        }
        let start = word.to_lowercase();
        let end = format!("{start}\u{10FFFF}");
        let most = i64::try_from(MOST_TRIGRAMS).unwrap_or(i64::MAX);
        let rows =
            statement.query_map(params![start, end, most + 1], |row| row.get::<_, String>(0))?;
        for term in rows {
            trigrams.push(format!("\"{}\"", term?.replace('"', "\"\"")));
        }
        if trigrams.len() > MOST_TRIGRAMS {
            return Ok(None);
        }
    }
    Ok(Some(trigrams))
}

/// Goes through ids until enough messages pass, and cuts the snippets by hand.
fn walk(
    connection: &Connection,
    request: &SearchRequest,
    words: &[String],
    sql: &str,
    values: &[String],
) -> Result<Vec<SearchHit>, StoreError> {
    let mut text =
        connection.prepare_cached("SELECT content, tool_calls FROM messages WHERE id = ?1")?;
    let mut ids = connection.prepare(sql)?;
    let mut rows = ids.query(rusqlite::params_from_iter(values))?;
    let mut hits = Vec::new();
    while let Some(row) = rows.next()? {
        if let Some(mut hit) = passing(connection, request, row.get(0)?)? {
            let (content, calls) = text.query_row([hit.id], |row| {
                Ok((row.get(0)?, row.get::<_, Option<String>>(1)?))
            })?;
            let content = decode_content(content).text();
            hit.snippet = words
                .iter()
                .find_map(|word| cut_out(&content, word))
                .or_else(|| {
                    words
                        .iter()
                        .find_map(|word| cut_out(calls.as_deref()?, word))
                })
                .unwrap_or_else(|| one_line(&content, SNIPPET_CHARS_EACH_SIDE));
            hits.push(hit);
            if hits.len() == request.limit {
                break;
            }
        }
    }
    dress(connection, hits)
}

/// The place where `word` stands in `text`, marked, with something around it.
fn cut_out(text: &str, word: &str) -> Option<String> {
    let at = text.find(word)?;
    let (before, after) = (&text[..at], &text[at + word.len()..]);
    let skipped = before
        .chars()
        .count()
        .saturating_sub(SNIPPET_CHARS_EACH_SIDE);
    let head: String = before.chars().skip(skipped).collect();
    let tail: String = after.chars().take(SNIPPET_CHARS_EACH_SIDE).collect();
    let dots = |cut: bool| if cut { "..." } else { "" };
    Some(format!(
        "{}{head}{}{word}{}{tail}{}",
        dots(skipped > 0),
        MARK.0,
        MARK.1,
        dots(tail.len() < after.len())
    ))
}

/// The message with its session, when it passes the filters.
fn passing(
    connection: &Connection,
    request: &SearchRequest,
    id: i64,
) -> Result<Option<SearchHit>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT m.session_id, m.role, m.timestamp, m.tool_name, m.active, \
         s.source, s.model, s.title, s.started_at \
         FROM messages m JOIN sessions s ON s.id = m.session_id WHERE m.id = ?1",
    )?;
    let found = statement
        .query_row([id], |row| {
            let active = row.get::<_, Option<i64>>(4)?.unwrap_or(1) != 0;
            let hit = SearchHit {
                id,
                session_id: SessionId::new(row.get::<_, String>(0)?),
                role: row.get(1)?,
                snippet: String::new(),
                timestamp: row.get(2)?,
                tool_name: row.get(3)?,
                source: row.get(5)?,
                model: row.get(6)?,
                title: row.get(7)?,
                session_started: row.get(8)?,
                context: Vec::new(),
            };
            Ok((active, hit))
        })
        .optional()?;
    Ok(found.and_then(|(active, hit)| {
        let role_fits =
            request.roles.is_empty() || request.roles.iter().any(|role| role.as_str() == hit.role);
        let source_fits = if request.sources.is_empty() {
            !request.hidden_sources.contains(&hit.source)
        } else {
            request.sources.contains(&hit.source)
        };
        ((active || request.inactive) && role_fits && source_fits).then_some(hit)
    }))
}

fn dress(connection: &Connection, mut hits: Vec<SearchHit>) -> Result<Vec<SearchHit>, StoreError> {
    // By time and id, because that is what the index of a session is sorted by.
    let mut neighbours = [
        "SELECT role, content FROM messages WHERE session_id = ?1 \
         AND (timestamp, id) < (?2, ?3) AND active = 1 ORDER BY timestamp DESC, id DESC LIMIT 1",
        "SELECT role, content FROM messages WHERE session_id = ?1 AND timestamp = ?2 AND id = ?3",
        "SELECT role, content FROM messages WHERE session_id = ?1 \
         AND (timestamp, id) > (?2, ?3) AND active = 1 ORDER BY timestamp, id LIMIT 1",
    ]
    .into_iter()
    .map(|sql| connection.prepare_cached(sql))
    .collect::<rusqlite::Result<Vec<_>>>()?;
    for hit in &mut hits {
        for statement in &mut neighbours {
            let line = statement
                .query_row(
                    params![hit.session_id.as_str(), hit.timestamp, hit.id],
                    |row| {
                        let content: Option<String> = row.get(1)?;
                        Ok(ContextLine {
                            role: row.get(0)?,
                            content: one_line(&decode_content(content).text(), CONTEXT_CHARS),
                        })
                    },
                )
                .optional()?;
            hit.context.extend(line);
        }
    }
    Ok(hits)
}
