//! The chat's side of the screen: opens conversations and keeps what they share.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use hermes_agent::build::Wishes;
use hermes_agent::demo::DEMO_MODEL;
use hermes_agent::{Control, Conversation};
use hermes_llm::resolve::Selection;
use hermes_sandbox::background::ProcessView;
use hermes_tools::StateHandle;
use hermes_tools::approval::Occasion;
use hermes_tools::checkpoint::Checkpoints;
use hermes_tui::{Chat, Incoming};
use hermes_types::SessionId;
use ratatui::style::{Modifier, Stylize as _};
use ratatui::text::Line;
use tokio::sync::mpsc;

use super::super::resume::Found;
use super::super::run::{self, preload};
use super::super::worktree::Worktree;
use super::Start;
use super::beside::Beside;
use super::own::OwnCommands;
use super::recap::{RecapLimits, recap};
use crate::wiring::{Place, Wanted, Wired, is_demo, open_models, place, wire};
use crate::{CommandError, Context, Out};

/// News that may wait to be shown.
const NEWS: usize = 64;

pub(super) struct ChatHost {
    pub(super) context: Context,
    pub(super) start: Start,
    /// What model the user wants; `/model` changes it.
    pub(super) selection: Selection,
    pub(super) state: StateHandle,
    worktree: Option<Worktree>,
    cwd: PathBuf,
    /// Where commands run: one for all conversations of this chat.
    pub(super) place: Option<Place>,
    pub(super) wired: Option<Wired>,
    /// The session to begin with.
    resumed: Option<Found>,
    control: Arc<Control>,
    /// A name for a session that nothing was said in yet.
    pub(super) pending_title: Option<String>,
    pub(super) notices: bool,
    /// Questions that are answered beside the conversation.
    pub(super) beside: Beside,
    /// Commands of the configuration, and skills.
    pub(super) own: OwnCommands,
    /// What comes up by itself for the user: sentences of the sandbox, answers
    /// that were asked for beside.
    pub(super) news: mpsc::Sender<Incoming>,
    pub(super) arriving: mpsc::Receiver<Incoming>,
    /// Messages to the model that nobody typed; they wait for an idle moment.
    pub(super) next_turn: mpsc::Sender<String>,
    pub(super) next_turns: mpsc::Receiver<String>,
    /// How many messages were sent: what was meant for the moment before one of
    /// them is of no use after it.
    pub(super) sent: Arc<AtomicU64>,
    /// For the model, with the next message: what changed under it.
    pub(super) note: Option<String>,
    /// The session that the user left with `/quit --delete`.
    pub(super) unwanted: Option<SessionId>,
    pub(super) failure: Option<CommandError>,
    /// The model's name for the first screen, before anything is opened.
    pub(super) model: String,
    demo: bool,
}

impl ChatHost {
    pub(super) fn new(
        context: Context,
        start: Start,
        selection: Selection,
        state: StateHandle,
        worktree: Option<Worktree>,
        resumed: Option<Found>,
    ) -> Result<Self, CommandError> {
        let cwd = match &worktree {
            Some(worktree) => worktree.path().to_owned(),
            None => run::current_directory()?,
        };
        let demo = is_demo(&context, &selection)?;
        let model = match demo {
            true => DEMO_MODEL.to_owned(),
            false => open_models(&context)?
                .resolve(&selection)
                .map(|resolved| resolved.endpoint.model().to_owned())
                .unwrap_or_default(),
        };
        let notices = context
            .config()?
            .string("display.background_process_notifications")?
            != "off";
        let (news, arriving) = mpsc::channel(NEWS);
        let (next_turn, next_turns) = mpsc::channel(NEWS);
        Ok(Self {
            context,
            start,
            selection,
            state,
            worktree,
            cwd,
            place: None,
            wired: None,
            resumed,
            control: Arc::default(),
            pending_title: None,
            notices,
            beside: Beside::default(),
            own: OwnCommands::default(),
            news,
            arriving,
            next_turn,
            next_turns,
            sent: Arc::default(),
            note: None,
            unwanted: None,
            failure: None,
            model,
            demo,
        })
    }

    pub(super) fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// The directory, with `~` for the user's home.
    pub(super) fn short_cwd(&self) -> String {
        match self.cwd.strip_prefix(self.context.home.user_home()) {
            Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => self.cwd.display().to_string(),
        }
    }

    pub(super) fn model_name(&self) -> &str {
        match &self.wired {
            Some(wired) => wired.model().0,
            None => &self.model,
        }
    }

    pub(super) fn is_demo(&self) -> bool {
        self.demo
    }

    pub(super) fn sandbox_name(&self) -> String {
        let config = self.context.config();
        config
            .and_then(|config| config.string("terminal.backend"))
            .unwrap_or_default()
    }

    /// What stopped the chat from opening.
    pub(super) fn failure(&mut self) -> Option<CommandError> {
        self.failure.take()
    }

    pub(super) fn session(&self) -> Option<SessionId> {
        self.control.session()
    }

    /// A conversation with what is chosen now, new or going on.
    pub(super) async fn chat(&mut self, resumed: Option<&SessionId>) -> Result<Chat, CommandError> {
        let place = match &self.place {
            Some(place) => place.clone(),
            None => {
                let news = self.news.clone();
                let made = place(
                    &self.context,
                    &self.cwd,
                    Wanted {
                        occasion: Occasion::Terminal,
                        yolo: self.start.options.yolo,
                        checkpoints: self.start.checkpoints,
                    },
                    // A remark that finds no room is one of too many.
                    Arc::new(move |text| drop(news.try_send(Incoming::Remark(text)))),
                )?;
                self.place.insert(made).clone()
            }
        };
        let mut wired = wire(
            &self.context,
            &self.selection,
            self.state.clone(),
            self.wishes(),
            place,
        )
        .await?;
        if let Some(worktree) = &self.worktree {
            wired.tell_for_good(&worktree.note());
        }
        preload(&mut wired, &self.start.options.skills).await?;
        let mut greeting: Vec<Line<'static>> = wired
            .warnings
            .iter()
            .map(|warning| Line::from(format!("! {warning}")))
            .collect();
        if let Some(id) = resumed {
            greeting.extend(self.recap(id).await?);
        }
        let (agent, events) = wired.agent(resumed).await?;
        self.control = Arc::clone(&wired.control);
        self.demo = wired.model().1 == hermes_agent::demo::DEMO_PROVIDER;
        let conversation = Conversation::spawn(agent, Arc::clone(&wired.control));
        self.own.learn(self.context.config()?, &wired.shelf);
        self.wired = Some(wired);
        Ok(Chat {
            conversation,
            events,
            greeting,
        })
    }

    async fn recap(&self, id: &SessionId) -> Result<Vec<Line<'static>>, CommandError> {
        let limits = RecapLimits::read(self.context.config()?)?;
        let Some(exchanges) = limits.exchanges() else {
            return Ok(Vec::new());
        };
        let id = id.clone();
        let (said, earlier) = self
            .state
            .run(move |database| database.last_said(&id, exchanges))
            .await?;
        Ok(recap(&said, earlier, &limits))
    }

    pub(super) fn wishes(&self) -> Wishes {
        Wishes {
            attended: true,
            ..run::wishes(
                &self.start.options,
                self.start.max_turns,
                self.start.source.as_deref(),
                &self.context,
                &self.cwd,
            )
        }
    }

    /// The conversation that the chat begins with.
    pub(super) async fn first(&mut self) -> Result<Chat, CommandError> {
        let found = self.resumed.take();
        if let Some(cwd) = found.as_ref().and_then(|found| found.cwd.clone())
            && self.worktree.is_none()
        {
            self.cwd = cwd;
        }
        let mut chat = self.chat(found.as_ref().map(|found| &found.id)).await?;
        if found.is_none() && !self.context.config()?.bool("display.compact")? {
            chat.greeting.splice(0..0, self.facts());
        }
        if let Some(found) = &found {
            chat.greeting.push(Line::from(found.sentence()));
            chat.greeting.push(Line::default());
        }
        Ok(chat)
    }

    /// What there is to work with, in a line under the greeting.
    pub(super) fn facts(&self) -> Vec<Line<'static>> {
        let Some(wired) = &self.wired else {
            return Vec::new();
        };
        let mut facts = vec![format!("{} tools", wired.tool_count())];
        match wired.shelf.library().offered().len() {
            0 => {}
            1 => facts.push("1 skill".to_owned()),
            count => facts.push(format!("{count} skills")),
        }
        if let Some(id) = self.session() {
            facts.push(format!("session {id}"));
        }
        let line = Line::from(facts.join(" · ")).add_modifier(Modifier::DIM);
        vec![line, Line::default()]
    }

    pub(super) fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    /// Another place for what follows; the old one is let go of.
    pub(super) async fn move_to(&mut self, context: Context) -> Context {
        if let Some(place) = self.place.take() {
            place.sandboxes.close().await;
        }
        std::mem::replace(&mut self.context, context)
    }

    /// The session that is stored, if anything was said yet.
    pub(super) async fn stored(&self) -> Result<Option<SessionId>, CommandError> {
        let Some(id) = self.session() else {
            return Ok(None);
        };
        let asked = id.clone();
        let row = self
            .state
            .run(move |database| database.session(&asked))
            .await?;
        Ok(row.map(|_| id))
    }

    /// Whether the session has messages that were not taken back.
    pub(super) async fn anything_said(&self) -> bool {
        let Some(id) = self.session() else {
            return false;
        };
        let row = self.state.run(move |database| database.session(&id)).await;
        // Who cannot look asks once too often.
        row.is_ok_and(|row| row.is_some_and(|row| row.message_count > 0))
    }

    /// How many messages were sent so far.
    pub(super) fn sent(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.sent)
    }

    /// Tells the model something with the next message.
    pub(super) fn tell_next(&mut self, text: &str) {
        let note = self.note.get_or_insert_with(String::new);
        if !note.is_empty() {
            note.push('\n');
        }
        note.push_str(text);
    }

    /// Switches questions about dangerous commands off or on; whether they are off.
    pub(super) fn toggle_yolo(&mut self) -> bool {
        let Some(place) = &self.place else {
            return false;
        };
        let on = !place.yolo.is_on();
        place.yolo.set(on);
        on
    }

    /// What was approved for one session is not approved for the next; so with
    /// questions that were switched off.
    pub(super) fn forget_approvals(&self) {
        if let Some(place) = &self.place {
            place.gate.forget();
            place.yolo.set(place.yolo_at_start);
        }
    }

    /// The snapshots that `/rollback` goes back to; `None` where none are taken.
    pub(super) fn checkpoints(&self) -> Option<Arc<Checkpoints>> {
        self.place.as_ref()?.checkpoints.clone()
    }

    /// Where the conversation's commands run now.
    pub(super) fn live_directory(&self) -> PathBuf {
        let task = self.control.task();
        match (&self.place, task) {
            (Some(place), Some(task)) => PathBuf::from(place.sandbox.session(&task).cwd()),
            _ => self.cwd.clone(),
        }
    }

    /// What runs in the background.
    pub(super) fn running(&self) -> Vec<ProcessView> {
        self.place
            .as_ref()
            .map(|place| place.sandbox.processes().running())
            .unwrap_or_default()
    }

    /// Ends all of it; what could not be ended is returned.
    pub(super) async fn end_processes(&mut self) -> Vec<String> {
        let Some(place) = &self.place else {
            return Vec::new();
        };
        let left = place.sandbox.processes().end_all().await;
        left.into_iter()
            .map(|(id, error)| format!("{id} ({error})"))
            .collect()
    }

    /// Looks for skills again: those that are new, and those that are gone.
    pub(super) fn look_for_skills(&self) -> Result<(Vec<String>, Vec<String>), CommandError> {
        match &self.wired {
            Some(wired) => Ok(self.own.look_for_skills(&wired.shelf)),
            None => Err(CommandError::internal("the conversation is not open yet")),
        }
    }

    /// Lets go of what the conversations shared.
    pub(super) async fn close(&mut self) {
        self.beside.close().await;
        if let Some(place) = self.place.take() {
            place.sandboxes.close().await;
        }
    }

    pub(super) async fn leave_worktree(&mut self, out: &mut Out) {
        if let Some(worktree) = self.worktree.take() {
            worktree.leave(out).await;
        }
    }

    /// A title that was given before the first message.
    pub(super) fn store_pending_title(&mut self) {
        let (Some(title), Some(id)) = (self.pending_title.clone(), self.session()) else {
            return;
        };
        let state = self.state.clone();
        self.pending_title = None;
        tokio::spawn(async move {
            let stored = state
                .run(move |database| database.set_title(&id, &title))
                .await;
            if let Err(error) = stored {
                tracing::warn!(%error, "the title was not stored");
            }
        });
    }
}
