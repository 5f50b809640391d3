//! What the screen asks of the program, answered.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use hermes_agent::Conversation;
use hermes_agent::prompt::expand;
use hermes_config::edit::{Change, change_config};
use hermes_sandbox::background::Notice;
use hermes_tui::{App, Call, Chat, Host, Incoming, Outcome};
use hermes_types::{Content, Part, TurnOutcome};

use super::host::ChatHost;
use super::{clipboard, commands, draft, goal};
use crate::wiring::Wired;

impl Host for ChatHost {
    fn open(&mut self) -> LocalBoxFuture<'_, Result<Chat, String>> {
        async move {
            match self.first().await {
                Ok(chat) => Ok(chat),
                Err(error) => {
                    let text = error.error.to_string();
                    self.failure = Some(error);
                    Err(text)
                }
            }
        }
        .boxed_local()
    }

    fn command<'a>(
        &'a mut self,
        conversation: &'a Conversation,
        call: Call,
    ) -> LocalBoxFuture<'a, Outcome> {
        commands::run(self, conversation, call).boxed_local()
    }

    fn clipboard_picture(&mut self) -> LocalBoxFuture<'_, Result<Part, String>> {
        clipboard::picture_of(&self.context).boxed_local()
    }

    fn stop_confirming(&mut self) -> Result<(), String> {
        let change = Change::Set {
            path: "approvals.destructive_slash_confirm".to_owned(),
            value: false.into(),
        };
        self.context
            .config()
            .and_then(|config| change_config(&self.context.home, config.environment(), &[change]))
            .map(drop)
            .map_err(|error| format!("this could not be stored: {error}"))
    }

    fn hint_shown(&mut self, name: &'static str) {
        let change = Change::Set {
            path: format!("onboarding.seen.{name}"),
            value: true.into(),
        };
        let stored = self
            .context
            .config()
            .and_then(|config| change_config(&self.context.home, config.environment(), &[change]));
        // Seeing it once more is no harm.
        if let Err(error) = stored {
            tracing::warn!(%error, "a hint that was shown is not remembered");
        }
    }

    fn prepare(&mut self, content: Content) -> LocalBoxFuture<'_, (Content, Vec<String>)> {
        async move {
            self.sent.fetch_add(1, Ordering::Relaxed);
            let window = self.wired.as_ref().map_or(0, Wired::window);
            let text = content.text();
            let mut expanded = expand(&text, self.cwd(), self.context.home.path(), window).await;
            if let Some(note) = self.note.take() {
                expanded.text = format!("[{note}]\n\n{}", expanded.text);
            }
            let content = match content {
                Content::Text(_) => Content::Text(expanded.text),
                Content::Parts(parts) => {
                    let mut whole = vec![Part::Text {
                        text: expanded.text,
                    }];
                    whole.extend(
                        parts
                            .into_iter()
                            .filter(|part| matches!(part, Part::Image { .. })),
                    );
                    Content::Parts(whole)
                }
            };
            (content, expanded.warnings)
        }
        .boxed_local()
    }

    fn incoming(&mut self, idle: bool) -> LocalBoxFuture<'_, Incoming> {
        let processes = self
            .place
            .as_ref()
            .filter(|_| idle && self.notices)
            .map(|place| Arc::clone(place.sandbox.processes()));
        let message = async move {
            let Some(processes) = processes else {
                return std::future::pending().await;
            };
            loop {
                let notices = processes.take_notices(|_| true);
                if !notices.is_empty() {
                    let joined = |text: fn(&Notice) -> String, between: &str| {
                        let all: Vec<String> = notices.iter().map(text).collect();
                        all.join(between)
                    };
                    return Incoming::Notice {
                        line: joined(Notice::line, "\n"),
                        message: joined(Notice::message, "\n\n"),
                    };
                }
                processes.notice_arrival().await;
            }
        };
        let (arriving, next_turns) = (&mut self.arriving, &mut self.next_turns);
        async move {
            tokio::select! {
                Some(news) = arriving.recv() => news,
                Some(text) = next_turns.recv(), if idle => Incoming::Message(text),
                message = message => message,
            }
        }
        .boxed_local()
    }

    fn after_turn(&mut self, outcome: TurnOutcome, goes_on: bool) {
        goal::after_turn(self, outcome, goes_on);
    }

    fn edit(&mut self, draft: &str) -> Result<String, String> {
        draft::edit(draft, &self.context).map_err(|error| error.error.to_string())
    }

    fn refresh<'a>(&'a mut self, app: &'a mut App) -> LocalBoxFuture<'a, ()> {
        async move {
            let budget = match &self.wired {
                // A counter that cannot be read stops the next turn, and says so there.
                Some(wired) => wired.budget().await.unwrap_or_default(),
                None => None,
            };
            app.status_mut().budget = budget;
            app.anything_said(self.anything_said().await);
            self.refresh_facts(app);
            self.store_pending_title();
        }
        .boxed_local()
    }
}

impl ChatHost {
    fn refresh_facts(&self, app: &mut App) {
        let (model, window) = match &self.wired {
            Some(wired) => (wired.model().0.to_owned(), wired.window()),
            None => (self.model.clone(), 0),
        };
        let cwd = self.short_cwd();
        let sandbox = self.sandbox_name();
        let status = app.status_mut();
        status.model = model;
        status.cwd = cwd;
        status.sandbox = sandbox;
        status.context_window = window;
        status.beside = self.beside.running().len();
        if let Some(place) = &self.place {
            status.yolo = place.yolo.is_on();
            status.processes = place.sandbox.processes().running().len();
        }
    }
}
