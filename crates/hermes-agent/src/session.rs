//! The session on disk: every step is there before the next one starts.

use std::sync::Arc;

use hermes_store::{NewSession, UsageUpdate, new_session_id};
use hermes_tools::{StateError, StateHandle};
use hermes_types::{Content, Cost, Message, SessionId, Usage};
use serde_json::json;

use crate::history::History;
use crate::repair::{self, PLACEHOLDER};
use crate::setup::Setup;

/// Which session a conversation writes to.
pub struct Session {
    pub id: SessionId,
    pub system: Option<Arc<str>>,
    state: Option<StateHandle>,
    /// Whether the row exists.
    stored: bool,
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
        }
    }

    /// Loads the live end of a session. Calls that a killed process left without
    /// a result get one that says so, on disk too.
    pub async fn resume(state: &StateHandle, id: SessionId) -> Result<Resumed, StateError> {
        let (id, row, stored) = state
            .run(move |database| {
                let id = database.resume_target(&id)?;
                database.reopen_session(&id)?;
                let row = database.session(&id)?;
                let mut messages: Vec<Message> = database
                    .messages(&id)?
                    .into_iter()
                    .map(|stored| stored.message)
                    .collect();
                let placeholders: Vec<Message> = repair::missing_results(&messages)
                    .iter()
                    .map(|call| Message::tool_result(call, PLACEHOLDER))
                    .collect();
                if !placeholders.is_empty() {
                    let rows: Vec<_> = placeholders.iter().cloned().map(Into::into).collect();
                    database.append_batch(&id, &rows)?;
                    messages.extend(placeholders);
                }
                Ok((id, row, messages))
            })
            .await?;
        let todo = stored
            .iter()
            .rev()
            .filter(|message| message.tool_name.as_deref() == Some("todo"))
            .map(|message| message.content.text())
            .find(|text| text.contains("\"todos\""));
        let system = row
            .as_ref()
            .and_then(|row| row.system_prompt.as_deref())
            .filter(|prompt| !prompt.is_empty())
            .map(Arc::from);
        Ok(Resumed {
            session: Self {
                id,
                system,
                state: Some(state.clone()),
                stored: row.is_some(),
            },
            history: History::from_stored(stored),
            todo,
            cwd: row.as_ref().and_then(|row| row.cwd.clone()),
            title: row.and_then(|row| row.title),
        })
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
        NewSession {
            id: self.id.to_string(),
            source: setup.options.source.clone(),
            user_id: None,
            model: Some(setup.model.name().to_owned()),
            model_config: Some(json!({
                "max_iterations": setup.options.max_iterations,
                "reasoning_config": null,
                "max_tokens": setup.options.max_output_tokens,
            })),
            system_prompt: Some(system.to_string()),
            parent: setup.options.parent_session.clone(),
            cwd: setup
                .options
                .cwd
                .as_ref()
                .map(|path| path.display().to_string()),
        }
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
        state
            .run(move |database| database.append(&id, message).map(Some))
            .await
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
        }
        self.id = next;
        self.system = Some(Arc::clone(system));
        Ok((previous, stored))
    }

    pub fn state(&self) -> Option<&StateHandle> {
        self.state.as_ref()
    }
}
