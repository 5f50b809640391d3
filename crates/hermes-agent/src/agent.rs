//! One agent: a model, its tools and the state of one conversation. `turn` is in
//! the module of that name.

use std::sync::Arc;

use hermes_llm::Retelling;
use hermes_tools::{Asker, StateError, StateHandle};
use hermes_types::{SessionId, ToolSpec};

use crate::compress::CompressionState;
use crate::control::{Control, EventAsker, Events};
use crate::history::History;
use crate::prompt::{Hints, Retold};
use crate::session::Session;
use crate::setup::Setup;

pub struct Agent {
    pub(crate) setup: Setup,
    pub(crate) session: Session,
    pub(crate) history: History,
    pub(crate) control: Arc<Control>,
    pub(crate) events: Events,
    pub(crate) asker: Arc<dyn Asker>,
    /// Built once, in a stable order: the same bytes in every request.
    pub(crate) specs: Arc<[ToolSpec]>,
    specs_characters: usize,
    wire_system: Arc<str>,
    retelling: Arc<dyn Retelling>,
    /// Names the shell, the processes and the files of this conversation; stays when
    /// the conversation goes on in another session.
    pub(crate) task: String,
    /// The session that the conversation began in.
    pub(crate) first: SessionId,
    pub(crate) hints: Hints,
    pub(crate) compression: CompressionState,
}

impl Agent {
    /// A new conversation. Nothing is written before its first message.
    pub fn new(setup: Setup, control: Arc<Control>, events: Events) -> Self {
        let session = Session::new(&setup);
        let first = session.id.clone();
        Self::with(setup, control, events, session, &first, History::default())
    }

    /// Goes on with a stored conversation, from its live end.
    pub async fn resume(
        setup: Setup,
        control: Arc<Control>,
        events: Events,
        state: &StateHandle,
        id: SessionId,
    ) -> Result<Self, StateError> {
        let resumed = Session::resume(state, id).await?;
        if let (Some(todos), Some(text)) = (&setup.todos, &resumed.todo) {
            todos.restore(text);
        }
        let (root, first) = {
            let id = resumed.session.id.clone();
            state
                .run(move |database| {
                    Ok((database.lineage_root(&id)?, database.compression_root(&id)?))
                })
                .await?
        };
        setup.spend.of_lineage(&root);
        Ok(Self::with(
            setup,
            control,
            events,
            resumed.session,
            &first,
            resumed.history,
        ))
    }

    fn with(
        setup: Setup,
        control: Arc<Control>,
        events: Events,
        session: Session,
        first: &SessionId,
        history: History,
    ) -> Self {
        let specs = setup.tools.specs();
        let specs_characters = specs
            .iter()
            .map(|spec| {
                spec.name.len() + spec.description.len() + spec.parameters.to_string().len() + 50
            })
            .sum();
        let asker = Arc::new(EventAsker::new(
            Arc::clone(&control),
            events.clone(),
            setup.options.attended,
        ));
        control.set_session(&session.id);
        let task = setup.options.task.clone();
        let task = task.unwrap_or_else(|| first.to_string());
        control.set_task(&task);
        let hints = Hints::new(setup.options.cwd.clone());
        let retelling = Arc::new(Retold {
            enforcement: setup.prompt.options.enforcement.clone(),
            has_tools: !specs.is_empty(),
        });
        let mut agent = Self {
            session,
            history,
            control,
            events,
            asker,
            specs,
            specs_characters,
            wire_system: Arc::from(""),
            retelling,
            task,
            first: first.clone(),
            hints,
            compression: CompressionState::default(),
            setup,
        };
        if let Some(system) = agent.session.system.clone() {
            agent.system_changed(system);
        }
        agent
    }

    pub fn session_id(&self) -> &SessionId {
        &self.session.id
    }

    /// What its shell and its processes are called.
    pub fn task(&self) -> &str {
        &self.task
    }

    /// Whether anything was said yet.
    pub fn is_fresh(&self) -> bool {
        !self.session.is_stored()
    }

    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Marks the session as ended for this reason; a later resume takes it back.
    pub async fn end(&self, reason: &'static str) -> Result<(), StateError> {
        self.session.end(reason).await
    }

    /// The prompt is composed once per session and sent unchanged ever after, by
    /// this process and by those that resume it.
    pub(crate) async fn prepare_session(&mut self) -> Result<(), StateError> {
        if self.session.system.is_some() {
            if self.session.tell(&self.setup.options.told).await?
                && let Some(system) = self.session.system.clone()
            {
                self.system_changed(system);
            }
            return Ok(());
        }
        if self.session.is_stored() {
            self.events
                .notice("the session had no stored prompt; it was composed again")
                .await;
        }
        let system = self.compose_prompt().await;
        self.session.begin(&self.setup, &system).await?;
        self.system_changed(system);
        Ok(())
    }

    pub(crate) async fn compose_prompt(&self) -> Arc<str> {
        let tools: Vec<&str> = self.setup.tools.names().collect();
        let prompt = self.setup.prompt.compose(
            &tools,
            self.setup.model.name(),
            self.setup.model.provider(),
            &self.session.id,
        );
        self.session.with_told(prompt.text())
    }

    pub(crate) fn system_changed(&mut self, system: Arc<str>) {
        self.wire_system = match &self.setup.options.ephemeral_system {
            Some(more) => Arc::from(format!("{system}\n\n{more}")),
            None => system,
        };
    }

    /// How the stored prompt reads for a model that it was not composed for.
    pub(crate) fn retelling(&self) -> Arc<dyn Retelling> {
        Arc::clone(&self.retelling)
    }

    pub(crate) fn wire_system(&self) -> Arc<str> {
        Arc::clone(&self.wire_system)
    }

    /// System text, schemas and history together, four characters to a token.
    pub(crate) fn estimated_prompt(&self) -> u64 {
        ((self.wire_system.len() + self.specs_characters) / 4) as u64
            + self.history.estimated_tokens()
    }

    pub(crate) fn window(&self) -> u64 {
        self.compression.window(self.setup.model.context_window())
    }
}
