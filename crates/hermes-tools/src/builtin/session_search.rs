//! `session_search`: what was said in earlier conversations.

use std::collections::HashSet;
use std::path::PathBuf;

use futures_util::future::BoxFuture;
use hermes_home::{Clock, Home};
use hermes_store::{
    ListFilter, ListOrder, SearchOrder, SearchRequest, StateDb, StoreError, StoredMessage,
};
use hermes_types::{ProfileName, Role, SessionId, ToolOutput, ToolSpec};
use serde_json::{Value, json};

use super::arguments::{number, text};
use crate::preview::one_line;
use crate::state::{StateError, StateHandle};
use crate::tool::{Tool, ToolContext};

const HITS: usize = 50;
const BOOKENDS: usize = 3;
const READ_FIRST: usize = 20;
const READ_LAST: usize = 10;
const MESSAGE_CHARACTERS: usize = 2000;
const NEIGHBOUR_CHARACTERS: usize = 400;

pub struct SessionSearchTool {
    state: StateHandle,
    home: Home,
    clock: Clock,
}

impl SessionSearchTool {
    pub fn new(state: StateHandle, home: Home, clock: Clock) -> Self {
        Self { state, home, clock }
    }
}

/// What is asked for, worked out before the database is touched.
#[derive(Clone, Debug)]
enum Question {
    Browse {
        limit: usize,
    },
    Discover {
        query: String,
        limit: usize,
        order: SearchOrder,
        window: usize,
        roles: Vec<Role>,
    },
    Read {
        session: String,
    },
    Scroll {
        session: String,
        around: i64,
        window: usize,
    },
}

impl Question {
    fn of(arguments: &Value) -> Result<Self, String> {
        let session = text(arguments, "session_id").filter(|id| !id.trim().is_empty());
        let query = text(arguments, "query").filter(|query| !query.trim().is_empty());
        let limit = number(arguments, "limit", 3, 1, 10) as usize;
        let window = number(arguments, "window", 5, 1, 20) as usize;
        Ok(match (session, query) {
            (Some(session), _) => {
                match arguments.get("around_message_id").and_then(Value::as_i64) {
                    Some(around) => Question::Scroll {
                        session: session.to_owned(),
                        around,
                        window,
                    },
                    None => Question::Read {
                        session: session.to_owned(),
                    },
                }
            }
            (None, Some(query)) => Question::Discover {
                query: query.to_owned(),
                limit,
                order: match text(arguments, "sort") {
                    Some("newest") => SearchOrder::Newest,
                    Some("oldest") => SearchOrder::Oldest,
                    _ => SearchOrder::Relevance,
                },
                window,
                roles: text(arguments, "role_filter")
                    .into_iter()
                    .flat_map(|roles| roles.split(','))
                    .map(str::trim)
                    .filter(|role| !role.is_empty())
                    .map(|role| {
                        Role::parse(role).ok_or_else(|| format!("role_filter: {role:?} is no role"))
                    })
                    .collect::<Result<_, _>>()?,
            },
            (None, None) => Question::Browse { limit },
        })
    }

    fn answer(&self, database: &StateDb, current: Option<&SessionId>) -> Result<Value, StoreError> {
        match self {
            Question::Browse { limit } => browse(database, *limit, current),
            Question::Discover {
                query,
                limit,
                order,
                window,
                roles,
            } => {
                let request = SearchRequest {
                    order: *order,
                    roles: roles.clone(),
                    limit: HITS,
                    ..SearchRequest::new(query.clone())
                };
                discover(database, &request, *limit, *window, current)
            }
            Question::Read { session } => read(database, session),
            Question::Scroll {
                session,
                around,
                window,
            } => scroll(database, session, *around, *window),
        }
    }
}

fn browse(
    database: &StateDb,
    limit: usize,
    current: Option<&SessionId>,
) -> Result<Value, StoreError> {
    let own = lineage(database, current)?;
    let filter = ListFilter {
        order: ListOrder::LastActive,
        limit: limit + own.len().min(5) + 1,
        ..ListFilter::default()
    };
    let sessions: Vec<Value> = database
        .list(&filter)?
        .into_iter()
        .filter(|row| !own.contains(row.id.as_str()))
        .take(limit)
        .map(|row| {
            json!({
                "session_id": row.id,
                "title": row.title,
                "preview": row.preview,
                "source": row.source,
                "last_active": when(row.last_active),
                "messages": row.message_count,
            })
        })
        .collect();
    Ok(json!({"success": true, "mode": "browse", "count": sessions.len(), "sessions": sessions}))
}

fn discover(
    database: &StateDb,
    request: &SearchRequest,
    limit: usize,
    window: usize,
    current: Option<&SessionId>,
) -> Result<Value, StoreError> {
    let own = lineage(database, current)?;
    let mut seen = HashSet::new();
    let mut results = Vec::new();
    for hit in database.search(request)? {
        let root = database.lineage_root(&hit.session_id)?;
        if own.contains(hit.session_id.as_str())
            || own.contains(root.as_str())
            || !seen.insert(root)
        {
            continue;
        }
        let all = database.messages(&hit.session_id)?;
        let around = database.messages_around(&hit.session_id, hit.id, window)?;
        let inside: HashSet<i64> = around.iter().map(|message| message.id).collect();
        let bookend = |messages: &mut dyn Iterator<Item = &StoredMessage>| -> Vec<Value> {
            messages
                .filter(|message| is_spoken(message) && !inside.contains(&message.id))
                .take(BOOKENDS)
                .map(|message| shown(message, NEIGHBOUR_CHARACTERS))
                .collect()
        };
        let start = bookend(&mut all.iter());
        let mut end = bookend(&mut all.iter().rev());
        end.reverse();
        results.push(json!({
            "session_id": hit.session_id,
            "title": hit.title,
            "source": hit.source,
            "started": when(hit.session_started),
            "match_message_id": hit.id,
            "role": hit.role,
            "snippet": hit.snippet,
            "messages": around.iter().map(|message| {
                let limit = if message.id == hit.id { MESSAGE_CHARACTERS } else { NEIGHBOUR_CHARACTERS };
                shown(message, limit)
            }).collect::<Vec<_>>(),
            "session_start": start,
            "session_end": end,
        }));
        if results.len() == limit {
            break;
        }
    }
    Ok(json!({
        "success": true,
        "mode": "discover",
        "query": request.query,
        "count": results.len(),
        "results": results,
    }))
}

fn read(database: &StateDb, session: &str) -> Result<Value, StoreError> {
    let id = database.resolve(session)?;
    let messages = database.messages(&id)?;
    let total = messages.len();
    let kept: Vec<Value> = messages
        .iter()
        .enumerate()
        .filter(|(index, _)| *index < READ_FIRST || *index + READ_LAST >= total)
        .map(|(_, message)| shown(message, MESSAGE_CHARACTERS))
        .collect();
    let left_out = total - kept.len();
    Ok(json!({
        "success": true,
        "mode": "read",
        "session_id": id,
        "total_messages": total,
        "left_out": left_out,
        "messages": kept,
    }))
}

fn scroll(
    database: &StateDb,
    session: &str,
    around: i64,
    window: usize,
) -> Result<Value, StoreError> {
    let id = database.resolve(session)?;
    let messages: Vec<Value> = database
        .messages_around(&id, around, window)?
        .iter()
        .map(|message| shown(message, MESSAGE_CHARACTERS))
        .collect();
    Ok(json!({
        "success": true,
        "mode": "scroll",
        "session_id": id,
        "around_message_id": around,
        "messages": messages,
    }))
}

/// The sessions that are this conversation itself.
fn lineage(database: &StateDb, current: Option<&SessionId>) -> Result<HashSet<String>, StoreError> {
    let Some(current) = current else {
        return Ok(HashSet::new());
    };
    let mut all: HashSet<String> = database
        .ancestors(current)?
        .into_iter()
        .map(|id| id.to_string())
        .collect();
    all.insert(current.to_string());
    Ok(all)
}

fn is_spoken(message: &StoredMessage) -> bool {
    matches!(message.message.role, Role::User | Role::Assistant)
        && !message.message.content.is_empty()
}

fn shown(stored: &StoredMessage, limit: usize) -> Value {
    let message = &stored.message;
    let text: String = {
        let full = message.content.text();
        let cut: String = full.chars().take(limit).collect();
        if cut.len() < full.len() {
            format!("{cut}…")
        } else {
            cut
        }
    };
    let mut value = json!({"id": stored.id, "role": message.role.as_str(), "content": text});
    if let Some(name) = &message.tool_name {
        value["tool"] = json!(name);
    }
    if !message.tool_calls.is_empty() {
        value["calls"] = message
            .tool_calls
            .iter()
            .map(|call| json!(format!("{} {}", call.name, one_line(&call.arguments, 120))))
            .collect();
    }
    value
}

fn when(seconds: f64) -> String {
    chrono::DateTime::from_timestamp_micros((seconds * 1e6) as i64)
        .map(|time| {
            time.with_timezone(&chrono::Local)
                .format("%Y-%m-%d %H:%M")
                .to_string()
        })
        .unwrap_or_default()
}

impl SessionSearchTool {
    async fn ask(&self, question: Question, current: SessionId) -> Result<Value, StateError> {
        self.state
            .run(move |database| question.answer(database, Some(&current)))
            .await
    }

    /// Another profile's sessions, read without changing anything there.
    async fn ask_profile(&self, question: Question, profile: &str) -> Result<Value, String> {
        let name = ProfileName::parse(profile).map_err(|error| error.to_string())?;
        let path: PathBuf = self.home.of_profile(&name).state_db();
        let clock = self.clock.clone();
        let profile = name.to_string();
        tokio::task::spawn_blocking(move || {
            let database = StateDb::open_read_only(&path, clock)
                .map_err(|error| error.to_string())?
                .ok_or_else(|| format!("profile {profile:?} has no sessions"))?;
            question
                .answer(&database, None)
                .map_err(|error| error.to_string())
        })
        .await
        .map_err(|error| error.to_string())?
    }
}

impl Tool for SessionSearchTool {
    fn name(&self) -> &str {
        "session_search"
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "session_search".to_owned(),
            description: "Look into earlier conversations. Without arguments: the newest sessions. With query: the best matches, one per conversation, each with its surroundings. With session_id: read it (first 20 and last 10 messages), or with around_message_id the messages around one. Use it when the user refers to something from before, instead of asking.".to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "Words to find; AND, OR, NOT, \"phrases\" and prefix* work. Few rare words are best"},
                    "limit": {"type": "integer", "default": 3, "description": "Sessions to return, 1 to 10"},
                    "sort": {"type": "string", "enum": ["newest", "oldest"], "description": "By time instead of relevance"},
                    "session_id": {"type": "string", "description": "Read this session"},
                    "around_message_id": {"type": "integer", "description": "With session_id: show what surrounds this message (match_message_id of a hit, or an id to scroll from)"},
                    "window": {"type": "integer", "default": 5, "description": "Messages on each side, 1 to 20"},
                    "role_filter": {"type": "string", "description": "Only these roles, separated by commas: user, assistant, tool"},
                    "profile": {"type": "string", "description": "Search another profile's sessions"}
                }
            }),
        }
    }

    fn call<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let question = match Question::of(&arguments) {
                Ok(question) => question,
                Err(why) => return ToolOutput::error(why),
            };
            let profile = text(&arguments, "profile")
                .map(str::trim)
                .filter(|name| !name.is_empty() && *name != self.home.profile_name());
            let answer = match profile {
                Some(profile) => self.ask_profile(question, profile).await,
                None => self
                    .ask(question, context.session.clone())
                    .await
                    .map_err(|error| error.to_string()),
            };
            match answer {
                Ok(value) => ToolOutput::json(&value),
                Err(why) => ToolOutput::error(why),
            }
        })
    }
}
