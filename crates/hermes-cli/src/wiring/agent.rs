//! One conversation, wired.

use std::sync::Arc;

use hermes_agent::build::{Parts, Place as AgentPlace, Wishes, build};
use hermes_agent::{Agent, Control, Events, Setup, SideTask};
use hermes_kanban::Host;
use hermes_kanban::tools::{ToolAccess, kanban_tools};
use hermes_llm::Models;
use hermes_llm::resolve::Selection;
use hermes_tools::StateHandle;
use hermes_tools::approval::ModelJudge;
use hermes_tools::builtin::{SkillShelf, required_variables};
use hermes_types::{SessionId, TurnEvent};
use tokio::sync::mpsc;

use super::model;
use super::sandbox::Place;
use crate::{CommandError, Context};

/// Everything a front end needs to run a conversation.
pub(crate) struct Wired {
    setup: Setup,
    pub(crate) state: StateHandle,
    pub(crate) place: Place,
    pub(crate) shelf: SkillShelf,
    pub(crate) control: Arc<Control>,
    pub(crate) warnings: Vec<String>,
    /// Variables that the skills of the command line ask for.
    asked: Vec<String>,
}

/// Puts model, tools and database together. Nothing is written yet.
pub(crate) async fn wire(
    context: &Context,
    selection: &Selection,
    state: StateHandle,
    wishes: Wishes,
    place: Place,
) -> Result<Wired, CommandError> {
    let mut models = super::open_models(context)?;
    // A person's screen is no place for it.
    if !wishes.attended
        && context
            .environment
            .is_truthy(hermes_home::env::DUMP_REQUEST_STDOUT)
    {
        models = models.with_dump_echo(Arc::new(|text| {
            // Who closed the pipe does not want it.
            let _ = std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes());
        }));
    }
    let (model, mut warnings) = model::open(context, &models, selection).await?;
    let delegate_model = match delegate_selection(context)? {
        Some(selection) => {
            let (model, more) = model::open(context, &models, &selection).await?;
            warnings.extend(more);
            Some(model)
        }
        None => None,
    };
    let judge = SideTask::new(models.clone(), Arc::clone(&model), "approval");
    place
        .gate
        .set_judge(Arc::new(ModelJudge::new(Arc::new(judge))));
    let summarizer = summarizer(context, &models, &model)?;
    let titler = titler(&models, &model);
    let viewer = viewer(context, &models, &model)?;
    // Products bring their tools here; toolsets decide who sees them.
    let mut tools = place.tools.clone();
    for tool in kanban_tools(Arc::new(ToolAccess::new(
        &context.home,
        &context.environment,
        context.config()?,
        &context.clock,
        Host::of_machine(),
    ))) {
        tools.add(tool);
    }
    let built = build(
        &AgentPlace {
            home: context.home.clone(),
            config: context.config()?.clone(),
            clock: context.clock.clone(),
        },
        &Wishes {
            surroundings: place.surroundings.clone(),
            ..wishes
        },
        Parts {
            model,
            summarizer,
            titler,
            viewer,
            delegate_model,
            state: state.clone(),
            tools,
            spill: place.spill.clone(),
        },
    )?;
    warnings.extend(built.warnings);
    let sandboxes = Arc::clone(&place.sandboxes);
    built
        .shelf
        .when_loaded(move |task, names| sandboxes.pass_on(task, names));
    Ok(Wired {
        setup: built.setup,
        state,
        place,
        shelf: built.shelf,
        control: Arc::default(),
        warnings,
        asked: Vec::new(),
    })
}

impl Wired {
    pub(crate) fn window(&self) -> u64 {
        self.setup.model.context_window()
    }

    pub(crate) fn main_model(&self) -> Arc<dyn hermes_llm::Model> {
        Arc::clone(&self.setup.model)
    }

    /// How many tools the model is offered.
    pub(crate) fn tool_count(&self) -> usize {
        self.setup.tools.names().count()
    }

    /// The model's name and provider.
    pub(crate) fn model(&self) -> (&str, &str) {
        (self.setup.model.name(), self.setup.model.provider())
    }

    /// The spend limit that is nearest to its end, in words.
    pub(crate) async fn budget(&self) -> Result<Option<String>, hermes_tools::StateError> {
        self.setup.spend.nearest().await
    }

    /// Nothing but the answer goes where the answer goes; the cause of a cut one is
    /// told elsewhere.
    pub(crate) fn answer_only(&mut self) {
        self.setup.options.completion_explainer = false;
    }

    /// Says something to the model for the rest of the conversation, whoever goes on
    /// with it.
    pub(crate) fn tell_for_good(&mut self, text: &str) {
        self.setup.options.told.push(text.trim().to_owned());
    }

    /// Says something to the model in this run only.
    pub(crate) fn tell(&mut self, text: &str) {
        let said = self
            .setup
            .options
            .ephemeral_system
            .get_or_insert_with(String::new);
        if !said.is_empty() {
            said.push_str("\n\n");
        }
        said.push_str(text);
    }

    /// Commands may see the variables that this loaded skill asks for.
    pub(crate) fn grant(&mut self, skill: &serde_json::Value) {
        self.asked.extend(required_variables(skill));
    }

    /// The agent, new or going on, and its events.
    pub(crate) async fn agent(
        &self,
        resumed: Option<&SessionId>,
    ) -> Result<(Agent, mpsc::Receiver<TurnEvent>), CommandError> {
        let (events, receiver) = Events::channel();
        let control = Arc::clone(&self.control);
        let agent = match resumed {
            Some(id) => {
                Agent::resume(self.setup.clone(), control, events, &self.state, id.clone()).await?
            }
            None => Agent::new(self.setup.clone(), control, events),
        };
        if !self.asked.is_empty() {
            self.place.sandboxes.pass_on(agent.task(), &self.asked);
        }
        Ok((agent, receiver))
    }
}

/// `delegation.*`, when subagents have a model of their own.
fn delegate_selection(context: &Context) -> Result<Option<Selection>, CommandError> {
    let config = context.config()?;
    let selection = Selection {
        provider: config.optional_string("delegation.provider")?,
        model: config.optional_string("delegation.model")?,
        base_url: config.optional_string("delegation.base_url")?,
        api_key: config.optional_string("delegation.api_key")?,
        api_mode: config.optional_string("delegation.api_mode")?,
    };
    Ok((selection != Selection::default()).then_some(selection))
}

/// `auxiliary.compression`, when it names something.
fn summarizer(
    context: &Context,
    models: &Models,
    main: &Arc<dyn hermes_llm::Model>,
) -> Result<Option<Arc<dyn hermes_llm::Model>>, CommandError> {
    let section = context.config()?.section("auxiliary.compression");
    Ok(names_a_model(&section).then(|| {
        let task = SideTask::new(models.clone(), Arc::clone(main), "compression");
        let window = section["context_length"].as_u64().filter(|n| *n > 0);
        Arc::new(task.with_window(window)) as Arc<dyn hermes_llm::Model>
    }))
}

/// Whether a section of `auxiliary` says whom to ask.
fn names_a_model(section: &serde_json::Value) -> bool {
    let set = |key: &str| section[key].as_str().filter(|text| !text.trim().is_empty());
    set("model").is_some()
        || set("base_url").is_some()
        || set("provider").is_some_and(|name| name != "auto")
}

/// `auxiliary.vision`, where `agent.image_input_mode` wants words for pictures.
fn viewer(
    context: &Context,
    models: &Models,
    main: &Arc<dyn hermes_llm::Model>,
) -> Result<Option<Arc<dyn hermes_llm::Model>>, CommandError> {
    let config = context.config()?;
    let wanted = match config.string("agent.image_input_mode")?.as_str() {
        "native" => false,
        "text" => true,
        _ => names_a_model(&config.section("auxiliary.vision")),
    };
    Ok(wanted.then(|| {
        let task = SideTask::new(models.clone(), Arc::clone(main), "vision");
        Arc::new(task) as Arc<dyn hermes_llm::Model>
    }))
}

/// `auxiliary.title_generation`, or the main model; the demo's rules name nothing.
fn titler(
    models: &Models,
    main: &Arc<dyn hermes_llm::Model>,
) -> Option<Arc<dyn hermes_llm::Model>> {
    (main.provider() != hermes_agent::demo::DEMO_PROVIDER).then(|| {
        Arc::new(SideTask::new(
            models.clone(),
            Arc::clone(main),
            "title_generation",
        )) as Arc<dyn hermes_llm::Model>
    })
}
