//! The chat's side of the screen: opens conversations and keeps what they share.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use hermes_agent::build::Wishes;
use hermes_agent::demo::DEMO_MODEL;
use hermes_agent::prompt::expand;
use hermes_agent::{Control, Conversation};
use hermes_llm::resolve::Selection;
use hermes_sandbox::background::{Notice, ProcessView};
use hermes_tools::StateHandle;
use hermes_tools::approval::Occasion;
use hermes_tools::checkpoint::Checkpoints;
use hermes_tui::{App, Chat, Host, Incoming, Outcome};
use hermes_types::{Content, Part, SessionId};
use ratatui::text::Line;
use tokio::sync::mpsc;

use super::super::resume;
use super::super::run::{self, preload};
use super::super::worktree::Worktree;
use super::recap::{RecapLimits, recap};
use super::{Start, commands};
use crate::wiring::{Place, Wanted, Wired, is_demo, open_models, place, wire};
use crate::{CommandError, Context, Out, editor};

/// Remarks that may wait to be shown.
const REMARKS: usize = 64;

pub(super) struct ChatHost<'a> {
    pub(super) context: &'a Context,
    start: Start,
    /// What model the user wants; `/model` changes it.
    pub(super) selection: Selection,
    pub(super) state: StateHandle,
    worktree: Option<Worktree>,
    cwd: PathBuf,
    /// Where commands run: one for all conversations of this chat.
    place: Option<Place>,
    pub(super) wired: Option<Wired>,
    control: Arc<Control>,
    /// A name for a session that nothing was said in yet.
    pub(super) pending_title: Option<String>,
    notices: bool,
    /// Sentences of the sandbox for the user.
    remark: mpsc::Sender<String>,
    remarks: mpsc::Receiver<String>,
    failure: Option<CommandError>,
    /// The model's name for the first screen, before anything is opened.
    model: String,
    demo: bool,
}

impl<'a> ChatHost<'a> {
    pub(super) fn new(
        context: &'a Context,
        start: Start,
        selection: Selection,
        state: StateHandle,
        worktree: Option<Worktree>,
    ) -> Result<Self, CommandError> {
        let cwd = match &worktree {
            Some(worktree) => worktree.path().to_owned(),
            None => run::current_directory()?,
        };
        let demo = is_demo(context, &selection)?;
        let model = match demo {
            true => DEMO_MODEL.to_owned(),
            false => open_models(context)?
                .resolve(&selection)
                .map(|resolved| resolved.endpoint.model().to_owned())
                .unwrap_or_default(),
        };
        let notices = context
            .config()?
            .string("display.background_process_notifications")?
            != "off";
        let (remark, remarks) = mpsc::channel(REMARKS);
        Ok(Self {
            context,
            start,
            selection,
            state,
            worktree,
            cwd,
            place: None,
            wired: None,
            control: Arc::default(),
            pending_title: None,
            notices,
            remark,
            remarks,
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
                let remark = self.remark.clone();
                let made = place(
                    self.context,
                    &self.cwd,
                    Wanted {
                        occasion: Occasion::Terminal,
                        yolo: self.start.options.yolo,
                        checkpoints: self.start.checkpoints,
                    },
                    // A remark that finds no room is one of too many.
                    Arc::new(move |text| drop(remark.try_send(text))),
                )?;
                self.place.insert(made).clone()
            }
        };
        let mut wired = wire(
            self.context,
            &self.selection,
            self.state.clone(),
            self.wishes(),
            place,
        )
        .await?;
        if let Some(worktree) = &self.worktree {
            wired.tell(&worktree.note());
        }
        preload(&mut wired, &self.start.options.skills)?;
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
        self.wired = Some(wired);
        Ok(Chat {
            conversation,
            events,
            greeting,
        })
    }

    async fn recap(&self, id: &SessionId) -> Result<Vec<Line<'static>>, CommandError> {
        let limits = RecapLimits::read(self.context.config()?)?;
        let id = id.clone();
        let messages = self
            .state
            .run(move |database| database.messages(&id))
            .await?;
        Ok(recap(&messages, &limits))
    }

    fn wishes(&self) -> Wishes {
        Wishes {
            attended: true,
            ..run::wishes(
                &self.start.options,
                self.start.max_turns,
                self.start.source.as_deref(),
                self.context,
                &self.cwd,
            )
        }
    }

    async fn first(&mut self) -> Result<Chat, CommandError> {
        let found = resume::find(&self.state, &self.start.options).await?;
        if let Some(cwd) = found.as_ref().and_then(|found| found.cwd.clone())
            && self.worktree.is_none()
        {
            self.cwd = cwd;
        }
        let mut chat = self.chat(found.as_ref().map(|found| &found.id)).await?;
        if let Some(found) = &found {
            chat.greeting.push(Line::from(found.sentence()));
            chat.greeting.push(Line::default());
        }
        Ok(chat)
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
        let task = self.session().map(|id| id.to_string());
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

    /// Lets go of what the conversations shared.
    pub(super) async fn close(&mut self) {
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
    fn store_pending_title(&mut self) {
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

impl Host for ChatHost<'_> {
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
        app: &'a mut App,
        conversation: &'a Conversation,
        name: &'static str,
        arguments: String,
    ) -> LocalBoxFuture<'a, Outcome> {
        let width = app.page().width;
        commands::run(self, conversation, name, arguments, width).boxed_local()
    }

    fn prepare(&mut self, content: Content) -> LocalBoxFuture<'_, (Content, Vec<String>)> {
        async move {
            let window = self.wired.as_ref().map_or(0, Wired::window);
            let text = content.text();
            let expanded = expand(&text, &self.cwd, self.context.home.path(), window).await;
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
                    let texts: Vec<String> = notices.iter().map(Notice::message).collect();
                    return Incoming::Message(texts.join("\n\n"));
                }
                processes.notice_arrival().await;
            }
        };
        let remarks = &mut self.remarks;
        async move {
            tokio::select! {
                Some(text) = remarks.recv() => Incoming::Remark(text),
                message = message => message,
            }
        }
        .boxed_local()
    }

    fn edit(&mut self, draft: &str) -> Result<String, String> {
        edit(draft, self.context).map_err(|error| error.error.to_string())
    }

    fn refresh(&mut self, app: &mut App) {
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
        if let Some(place) = &self.place {
            status.yolo = place.yolo.is_on();
            status.processes = place.sandbox.processes().running().len();
        }
        self.store_pending_title();
    }
}

/// The draft in the user's editor, and what it became.
fn edit(draft: &str, context: &Context) -> Result<String, CommandError> {
    use std::io::Write as _;
    let program = editor::find(&context.environment)
        .ok_or_else(|| CommandError::user("no editor found: set EDITOR"))?;
    let directory = context.home.join("cache");
    std::fs::create_dir_all(&directory)?;
    let path = directory.join(format!("draft-{}.md", uuid::Uuid::new_v4().simple()));
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)?;
    file.write_all(draft.as_bytes())?;
    drop(file);
    // The editor is awaited on a thread of its own: this one drives the runtime.
    let code = std::thread::scope(|scope| scope.spawn(|| editor::open(&program, &path)).join());
    let text = std::fs::read_to_string(&path);
    let _ = std::fs::remove_file(&path);
    match code {
        Ok(Ok(0)) => Ok(text?),
        Ok(Ok(code)) => Err(CommandError::user(format!(
            "`{program}` ended with code {code}; the draft is unchanged"
        ))),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(CommandError::internal("the editor's thread failed")),
    }
}
