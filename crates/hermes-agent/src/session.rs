//! The session on disk: every step is there before the next one starts.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use hermes_store::{NewSession, StateDb, StoreError, UsageUpdate, new_session_id};
use hermes_tools::{StateError, StateHandle};
use hermes_types::{Content, Cost, Message, SessionId, Usage};
use serde_json::{Value, json};

use crate::history::History;
use crate::hold::{Hold, Taken};
use crate::repair::{self, PLACEHOLDER};
use crate::setup::Setup;

/// Below `model_config`: texts that were added to the prompt by hand.
const TOLD: &str = "told";

/// Which session a conversation writes to.
pub struct Session {
    pub id: SessionId,
    pub system: Option<Arc<str>>,
    state: Option<StateHandle>,
    /// Whether the row exists.
    stored: bool,
    /// The newest row that this process knows of; 0 when there is none.
    newest: AtomicI64,
    /// Texts that were added to the prompt by hand; they outlive its renewal.
    told: Vec<String>,
    /// Loaded with calls that have no result on disk.
    unsettled: bool,
}

/// What another process added to a conversation since it was last looked at.
pub(crate) struct News {
    pub(crate) messages: Vec<Message>,
    pub(crate) todo: Option<String>,
}

/// What a resumed session brings along.
pub struct Resumed {
    pub session: Session,
    pub history: History,
    /// The stored messages that a todo list may be rebuilt from.
    pub todo: Option<String>,
    pub cwd: Option<String>,
    pub title: Option<String>,
}

impl Session {
    pub fn new(setup: &Setup) -> Self {
        Self {
            id: new_session_id(&setup.clock),
            system: None,
            state: setup.state.clone(),
            stored: false,
            newest: AtomicI64::new(0),
            told: setup.options.told.clone(),
            unsettled: false,
        }
    }

    /// Loads the live end of a session. Calls without a result get one that says so
    /// in memory; on disk only a turn may do that, because their process may live.
    pub async fn resume(state: &StateHandle, id: SessionId) -> Result<Resumed, StateError> {
        let (id, row, stored, newest) = state
            .run(move |database| {
                let id = database.resume_target(&id)?;
                database.reopen_session(&id)?;
                let row = database.session(&id)?;
                let (messages, newest) = load(database, &id)?;
                Ok((id, row, messages, newest))
            })
            .await?;
        let todo = todo_of(&stored);
        let system = row.as_ref().and_then(prompt_of);
        Ok(Resumed {
            session: Self {
                id,
                system,
                state: Some(state.clone()),
                stored: row.is_some(),
                newest: AtomicI64::new(newest),
                told: row.as_ref().map(told_of).unwrap_or_default(),
                unsettled: !repair::missing_results(&stored).is_empty(),
            },
            history: History::from_stored(stored),
            todo,
            cwd: row.as_ref().and_then(|row| row.cwd.clone()),
            title: row.and_then(|row| row.title),
        })
    }

    /// Tries to take the conversation that began in `first` for a turn. Once it is
    /// ours: what others added to it, and every call of theirs has its result on
    /// disk. `None` where nothing is stored at all.
    pub(crate) async fn take(
        &mut self,
        first: &SessionId,
    ) -> Result<Option<(Taken, Option<News>)>, StateError> {
        let Some(state) = self.state.clone() else {
            return Ok(None);
        };
        let (path, first) = (state.path().clone(), first.clone());
        let (id, known) = (self.id.clone(), self.newest.load(Ordering::Relaxed));
        let (stored, unsettled) = (self.stored, self.unsettled);
        let looked = state
            .run(move |database| {
                let hold = match Hold::take(&path, &first) {
                    Ok(Taken::Ours(hold)) => hold,
                    other => return Ok(Looked::Taken(other)),
                };
                if !stored {
                    return Ok(Looked::Taken(Ok(Taken::Ours(hold))));
                }
                let target = database.resume_target(&id)?;
                let newest = database.newest_message(&target)?.unwrap_or(0);
                let changed = target != id || newest != known;
                if !changed && !unsettled {
                    return Ok(Looked::Taken(Ok(Taken::Ours(hold))));
                }
                if changed {
                    database.reopen_session(&target)?;
                }
                // Nobody else is in a turn of it, so its subagents are gone too.
                database.end_abandoned_children(&target)?;
                let row = database.session(&target)?;
                let (messages, newest) = settled(database, &target)?;
                Ok(Looked::New {
                    hold,
                    system: row.as_ref().and_then(prompt_of),
                    id: target,
                    messages: changed.then_some(messages),
                    newest,
                })
            })
            .await?;
        match looked {
            Looked::Taken(Ok(taken)) => Ok(Some((taken, None))),
            Looked::Taken(Err(error)) => Err(StateError::NotOpen(format!(
                "its lock cannot be taken: {error}"
            ))),
            Looked::New {
                hold,
                id,
                system,
                messages,
                newest,
            } => {
                self.id = id;
                self.system = system;
                self.newest.store(newest, Ordering::Relaxed);
                self.unsettled = false;
                let news = messages.map(|messages| News {
                    todo: todo_of(&messages),
                    messages,
                });
                Ok(Some((Taken::Ours(hold), news)))
            }
        }
    }

    /// Makes the row, unless it is there.
    pub async fn begin(&mut self, setup: &Setup, system: &Arc<str>) -> Result<(), StateError> {
        self.system = Some(Arc::clone(system));
        let Some(state) = self.state.clone() else {
            return Ok(());
        };
        let row = self.row(setup, system);
        let id = self.id.clone();
        let prompt = Arc::clone(system);
        state
            .run(move |database| {
                if !database.create_session(&row)? {
                    database.set_system_prompt(&id, &prompt)?;
                }
                Ok(())
            })
            .await?;
        self.stored = true;
        Ok(())
    }

    fn row(&self, setup: &Setup, system: &Arc<str>) -> NewSession {
        let mut config = json!({
            "max_iterations": setup.options.max_iterations,
            "reasoning_config": null,
            "max_tokens": setup.options.max_output_tokens,
        });
        if !self.told.is_empty() {
            config[TOLD] = json!(self.told);
        }
        NewSession {
            id: self.id.to_string(),
            source: setup.options.source.clone(),
            user_id: None,
            model: Some(setup.model.name().to_owned()),
            model_config: Some(config),
            system_prompt: Some(system.to_string()),
            parent: setup.options.parent_session.clone(),
            cwd: setup
                .options
                .cwd
                .as_ref()
                .map(|path| path.display().to_string()),
        }
    }

    /// The prompt with what was added to it by hand.
    pub(crate) fn with_told(&self, prompt: String) -> Arc<str> {
        let mut prompt = prompt;
        for text in &self.told {
            prompt.push_str("\n\n");
            prompt.push_str(text);
        }
        Arc::from(prompt)
    }

    /// Adds to the stored prompt what is not in it yet. Whether anything was.
    pub(crate) async fn tell(&mut self, texts: &[String]) -> Result<bool, StateError> {
        let (Some(system), Some(state)) = (&self.system, &self.state) else {
            return Ok(false);
        };
        let mut prompt = system.to_string();
        let mut told = self.told.clone();
        for text in texts.iter().filter(|text| !system.contains(*text)) {
            prompt.push_str("\n\n");
            prompt.push_str(text);
            told.push(text.clone());
        }
        if told.len() == self.told.len() {
            return Ok(false);
        }
        let (id, all, stored) = (self.id.clone(), told.clone(), prompt.clone());
        state
            .run(move |database| {
                database.set_system_prompt(&id, &stored)?;
                let Some(row) = database.session(&id)? else {
                    return Ok(());
                };
                let mut config = row.model_config.unwrap_or_else(|| json!({}));
                if let Some(map) = config.as_object_mut() {
                    map.insert(TOLD.to_owned(), json!(all));
                }
                database
                    .set_model(&id, row.model.as_deref().unwrap_or_default(), Some(&config))
                    .map(drop)
            })
            .await?;
        self.told = told;
        self.system = Some(Arc::from(prompt));
        Ok(true)
    }

    pub fn is_stored(&self) -> bool {
        self.stored
    }

    /// Appends one message; its row id once it is on disk.
    pub async fn append(&self, message: Message) -> Result<Option<i64>, StateError> {
        let Some(state) = &self.state else {
            return Ok(None);
        };
        let id = self.id.clone();
        let row = state
            .run(move |database| database.append(&id, message))
            .await?;
        self.newest.fetch_max(row, Ordering::Relaxed);
        Ok(Some(row))
    }

    pub async fn set_content(&self, row: i64, content: Content) -> Result<(), StateError> {
        let Some(state) = &self.state else {
            return Ok(());
        };
        state
            .run(move |database| database.set_content(row, &content).map(drop))
            .await
    }

    pub async fn record_usage(
        &self,
        setup: &Setup,
        usage: Usage,
        cost: Cost,
    ) -> Result<(), StateError> {
        let Some(state) = &self.state else {
            return Ok(());
        };
        let id = self.id.clone();
        let update = UsageUpdate {
            usage,
            api_calls: 1,
            model: Some(setup.model.name().to_owned()),
            billing_provider: Some(setup.model.provider().to_owned()),
            cost: Some(cost),
            ..UsageUpdate::default()
        };
        state
            .run(move |database| database.record_usage(&id, &update))
            .await
    }

    /// A turn was stopped, and with it subagents that could not say so themselves.
    pub(crate) async fn end_children(&self) -> Result<(), StateError> {
        let Some(state) = self.state.as_ref().filter(|_| self.stored) else {
            return Ok(());
        };
        let id = self.id.clone();
        state
            .run(move |database| database.end_abandoned_children(&id).map(drop))
            .await
    }

    pub async fn end(&self, reason: &'static str) -> Result<(), StateError> {
        let Some(state) = self.state.as_ref().filter(|_| self.stored) else {
            return Ok(());
        };
        let id = self.id.clone();
        state
            .run(move |database| database.end_session(&id, reason).map(drop))
            .await
    }

    /// Goes on in a child session that begins with these messages. Returns the old
    /// session and the rows of the messages.
    pub async fn split(
        &mut self,
        setup: &Setup,
        system: &Arc<str>,
        messages: Vec<Message>,
    ) -> Result<(SessionId, Vec<i64>), StateError> {
        let previous = self.id.clone();
        let mut stored = Vec::new();
        let next = new_session_id(&setup.clock);
        if let Some(state) = self.state.clone() {
            let mut row = self.row(setup, system);
            row.id = next.to_string();
            row.parent = Some(previous.clone());
            let old = previous.clone();
            let rows: Vec<_> = messages.into_iter().map(Into::into).collect();
            stored = state
                .run(move |database| database.split_session(&old, &row, &rows))
                .await?;
            let newest = stored.iter().copied().max().unwrap_or(0);
            self.newest.store(newest, Ordering::Relaxed);
        }
        self.id = next;
        self.system = Some(Arc::clone(system));
        Ok((previous, stored))
    }

    pub fn state(&self) -> Option<&StateHandle> {
        self.state.as_ref()
    }
}

/// What a look at the database under the lock found.
enum Looked {
    Taken(std::io::Result<Taken>),
    New {
        hold: Hold,
        id: SessionId,
        system: Option<Arc<str>>,
        messages: Option<Vec<Message>>,
        newest: i64,
    },
}

/// The live messages of a session and the row of the newest.
fn load(database: &StateDb, id: &SessionId) -> Result<(Vec<Message>, i64), StoreError> {
    let stored = database.messages(id)?;
    let newest = stored.iter().map(|stored| stored.id).max().unwrap_or(0);
    let messages = stored.into_iter().map(|stored| stored.message).collect();
    Ok((messages, newest))
}

/// As `load`; calls that a killed process left without a result get one that says
/// so, on disk too.
fn settled(database: &StateDb, id: &SessionId) -> Result<(Vec<Message>, i64), StoreError> {
    let (mut messages, mut newest) = load(database, id)?;
    let placeholders: Vec<Message> = repair::missing_results(&messages)
        .iter()
        .map(|call| Message::tool_result(call, PLACEHOLDER))
        .collect();
    if !placeholders.is_empty() {
        let rows: Vec<_> = placeholders.iter().cloned().map(Into::into).collect();
        let ids = database.append_batch(id, &rows)?;
        newest = ids.into_iter().max().unwrap_or(newest);
        messages.extend(placeholders);
    }
    Ok((messages, newest))
}

fn todo_of(messages: &[Message]) -> Option<String> {
    messages
        .iter()
        .rev()
        .filter(|message| message.tool_name.as_deref() == Some("todo"))
        .map(|message| message.content.text())
        .find(|text| text.contains("\"todos\""))
}

fn told_of(row: &hermes_store::Session) -> Vec<String> {
    let texts = row
        .model_config
        .as_ref()
        .and_then(|config| config.get(TOLD));
    let texts = texts.and_then(Value::as_array).into_iter().flatten();
    texts.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn prompt_of(row: &hermes_store::Session) -> Option<Arc<str>> {
    row.system_prompt
        .as_deref()
        .filter(|prompt| !prompt.is_empty())
        .map(Arc::from)
}
