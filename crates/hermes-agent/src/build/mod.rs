//! From a configuration to a conversation's setup: which tools, which prompt,
//! which limits. Front ends say who they are; everything else is decided here,
//! once, so that all of them agree.

mod prefill;
mod settings;

pub use settings::{AgentSettings, skill_library};

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hermes_config::{Config, ConfigError};
use hermes_home::{Clock, Home};
use hermes_knowledge::memory::MemoryStore;
use hermes_llm::Model;
use hermes_tools::builtin::{
    ClarifyTool, MemoryTool, SessionSearchTool, SkillManageTool, SkillOptions, SkillShelf,
    SkillViewTool, SkillsListTool, TodoTool,
};
use hermes_tools::limits::Spill;
use hermes_tools::toolsets::{Gates, expand, platform_tools, select};
use hermes_tools::{Registry, StateHandle, TodoList};
use serde_json::Value;

use crate::delegate::DelegateTool;
use crate::prompt::{Prompt, PromptOptions, Surroundings};
use crate::setup::{Options, Setup, Tally};
use crate::spend::{Spend, SpendLimits};

/// Where a conversation takes place.
#[derive(Clone)]
pub struct Place {
    pub home: Home,
    pub config: Config,
    pub clock: Clock,
}

/// Who wants the conversation, and how.
#[derive(Clone, Debug)]
pub struct Wishes {
    /// Decides tools and tone: `cli`, a platform's name, `cron`.
    pub platform: String,
    /// The session's source, usually the platform.
    pub source: String,
    /// Toolsets for this run instead of the configured ones.
    pub toolsets: Option<Vec<String>>,
    pub max_turns: Option<u32>,
    /// Leave out SOUL.md, project files and memory.
    pub ignore_rules: bool,
    pub pass_session_id: bool,
    /// Whether a person can be asked.
    pub attended: bool,
    /// The working directory on this machine, when commands run there.
    pub cwd: Option<PathBuf>,
    pub surroundings: Surroundings,
    /// Said to the model in this run only.
    pub ephemeral_system: Option<String>,
    /// This process works on a board's task.
    pub kanban: bool,
}

impl Wishes {
    /// A conversation in a terminal on this machine.
    pub fn cli(cwd: PathBuf) -> Self {
        Self {
            platform: "cli".to_owned(),
            source: "cli".to_owned(),
            toolsets: None,
            max_turns: None,
            ignore_rules: false,
            pass_session_id: false,
            attended: false,
            surroundings: Surroundings::Host {
                system: system_name(),
            },
            cwd: Some(cwd),
            ephemeral_system: None,
            kanban: false,
        }
    }
}

/// The parts that others made.
pub struct Parts {
    pub model: Arc<dyn Model>,
    pub summarizer: Option<Arc<dyn Model>>,
    /// Names new sessions, where people will look for them by name.
    pub titler: Option<Arc<dyn Model>>,
    /// Describes pictures for a model that is to read words only.
    pub viewer: Option<Arc<dyn Model>>,
    /// The model of subagents, when it is another one.
    pub delegate_model: Option<Arc<dyn Model>>,
    pub state: StateHandle,
    /// Tools that need a sandbox or come from products.
    pub tools: Registry,
    pub spill: Option<Arc<dyn Spill>>,
}

/// A setup and what came up while it was made.
pub struct Built {
    pub setup: Setup,
    pub shelf: SkillShelf,
    pub warnings: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("none of the toolsets {} is known", names.join(", "))]
    NoToolset { names: Vec<String> },
    #[error("cannot start the thread of the root home's database: {0}")]
    Ledger(#[from] std::io::Error),
}

/// Puts a conversation together.
pub fn build(place: &Place, wishes: &Wishes, parts: Parts) -> Result<Built, BuildError> {
    let Place {
        home,
        config,
        clock,
    } = place;
    let settings = AgentSettings::read(config)?;
    let mut warnings = settings.warnings.clone();
    let enabled = enabled_tools(config, wishes, &settings, &mut warnings)?;
    let library = skill_library(config, home, &wishes.platform, skill_environments(wishes))?;
    let memory = MemoryStore::new(home.join("memories"), settings.memory_limits);
    let shelf = SkillShelf::new(
        library.clone(),
        home.path(),
        config.environment().clone(),
        clock.clone(),
        SkillOptions {
            template_variables: settings.skill_templates,
            guard: settings.skill_guard,
            inline_shell: settings.skill_shell,
            config: config.get("skills.config").cloned().unwrap_or_default(),
            other_profiles: other_profiles(home),
        },
    );
    let todos = TodoList::default();

    let mut registry = parts.tools;
    registry
        .add(TodoTool::new(todos.clone()))
        .add(ClarifyTool::new(clarify_patience(
            config, wishes, &settings,
        )))
        .add(SessionSearchTool::new(
            parts.state.clone(),
            home.clone(),
            clock.clone(),
        ))
        .add(SkillsListTool(shelf.clone()))
        .add(SkillViewTool(shelf.clone()))
        .add(SkillManageTool(shelf.clone()));
    if settings.memory_notes || settings.memory_profile {
        registry.add(MemoryTool::new(memory.clone()));
    }
    if let Some(names) = &enabled.tools {
        registry = registry.only(names);
    }

    let mut extra = settings.system_prompt.clone();
    if let Some(text) = &mut extra {
        *text = text.trim().to_owned();
    }
    let prompt = Prompt {
        home: home.clone(),
        cwd: wishes.cwd.clone(),
        surroundings: wishes.surroundings.clone(),
        platform: wishes.platform.clone(),
        memory: Some(memory),
        memory_notes: settings.memory_notes,
        memory_profile: settings.memory_profile,
        skills: Some(library),
        toolsets: enabled.toolsets.into_iter().collect(),
        options: PromptOptions {
            bare: wishes.ignore_rules,
            completion_guidance: settings.completion_guidance,
            enforcement: settings.enforcement.clone(),
            environment_hint: settings.environment_hint.clone(),
            search_path: settings
                .environment_probe
                .then(|| config.environment().get("PATH").map(str::to_owned))
                .flatten(),
            pass_session_id: wishes.pass_session_id,
            extra: extra.filter(|text| !text.is_empty()),
        },
        clock: clock.clone(),
    };
    let mut setup = Setup {
        model: parts.model,
        summarizer: parts.summarizer,
        titler: parts.titler,
        viewer: parts.viewer,
        tools: registry,
        spend: spend(&settings.spend, home, &parts.state, clock)?,
        state: Some(parts.state),
        prompt: Arc::new(prompt),
        todos: Some(todos),
        delegated: Tally::default(),
        spill: parts.spill,
        options: Options {
            max_iterations: wishes.max_turns.unwrap_or(settings.max_turns),
            max_output_tokens: settings.max_output_tokens,
            effort: settings.effort,
            guardrails: settings.guardrails,
            compression: settings.compression,
            file_mutation_verifier: settings.file_mutation_verifier,
            completion_explainer: settings.completion_explainer,
            redact_secrets: settings.redact_secrets,
            delegations_per_batch: settings.delegation.max_children,
            source: wishes.source.clone(),
            cwd: wishes.cwd.clone(),
            attended: wishes.attended,
            ephemeral_system: wishes.ephemeral_system.clone(),
            json_snapshots: settings.json_snapshots.then(|| home.join("sessions")),
            prefill: prefill::prefill(config, home, &mut warnings)?.into(),
            ..Options::default()
        },
        clock: clock.clone(),
    };
    if enabled
        .tools
        .as_ref()
        .is_none_or(|names| names.contains("delegate_task"))
    {
        let tool = DelegateTool::new(setup.clone(), parts.delegate_model, settings.delegation);
        setup.tools.add(tool);
    }
    Ok(Built {
        setup,
        shelf,
        warnings,
    })
}

/// Somebody in front of a terminal answers sooner than somebody with a phone.
const PATIENCE_AT_A_TERMINAL: Duration = Duration::from_secs(120);

fn clarify_patience(config: &Config, wishes: &Wishes, settings: &AgentSettings) -> Duration {
    match wishes.platform == "cli" && !config.is_set("agent.clarify_timeout") {
        true => PATIENCE_AT_A_TERMINAL,
        false => settings.clarify_timeout,
    }
}

/// The tools that a platform or a flag allows.
struct Enabled {
    /// `None`: all there are.
    tools: Option<BTreeSet<String>>,
    toolsets: BTreeSet<String>,
}

fn enabled_tools(
    config: &Config,
    wishes: &Wishes,
    settings: &AgentSettings,
    warnings: &mut Vec<String>,
) -> Result<Enabled, BuildError> {
    let mut enabled = match &wishes.toolsets {
        Some(names) => {
            let mut selection = select(names, &|_| None);
            for name in &selection.unknown {
                warnings.push(format!("unknown toolset {name:?} is ignored"));
            }
            if selection.toolsets.is_empty() && selection.tools.is_some() {
                return Err(BuildError::NoToolset {
                    names: names.clone(),
                });
            }
            if let (true, Some(tools)) = (wishes.kanban, &mut selection.tools) {
                tools.extend(expand("kanban").unwrap_or_default());
            }
            Enabled {
                tools: selection.tools,
                toolsets: selection.toolsets,
            }
        }
        None => {
            let resolved = platform_tools(
                &wishes.platform,
                saved_toolsets(config, &wishes.platform).as_deref(),
                &mcp_servers(config),
                gates(config, wishes.kanban),
            );
            for name in &resolved.unknown {
                warnings.push(format!(
                    "platform_toolsets.{}: unknown toolset {name:?} is ignored",
                    wishes.platform
                ));
            }
            Enabled {
                toolsets: resolved
                    .toolsets
                    .iter()
                    .map(|name| (*name).to_owned())
                    .collect(),
                tools: Some(resolved.tools),
            }
        }
    };
    for name in &settings.disabled_toolsets {
        let Some(gone) = expand(name) else {
            warnings.push(format!(
                "agent.disabled_toolsets: unknown toolset {name:?} is ignored"
            ));
            continue;
        };
        let tools = enabled
            .tools
            .get_or_insert_with(|| expand("hermes-gateway").unwrap_or_default());
        tools.retain(|tool| !gone.contains(tool));
        enabled.toolsets.remove(name);
    }
    Ok(enabled)
}

/// `platform_toolsets.<platform>`, when it is a list.
pub fn saved_toolsets(config: &Config, platform: &str) -> Option<Vec<String>> {
    let list = config
        .get("platform_toolsets")?
        .get(platform)?
        .as_array()?
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    Some(list)
}

/// Names of the configured MCP servers.
pub fn mcp_servers(config: &Config) -> Vec<String> {
    config
        .get("mcp_servers")
        .and_then(Value::as_object)
        .map(|map| map.keys().cloned().collect())
        .unwrap_or_default()
}

/// What turns sets on that are off by default.
pub fn gates(config: &Config, kanban: bool) -> Gates {
    let set = |name: &str| config.environment().get_non_empty(name).is_some();
    Gates {
        home_assistant: set("HASS_TOKEN"),
        xai: set("XAI_API_KEY"),
        kanban: kanban || plans_on_boards(config),
    }
}

/// `toolsets: [kanban]`: the profile hands out work on boards.
fn plans_on_boards(config: &Config) -> bool {
    config
        .strings("toolsets")
        .is_ok_and(|names| names.iter().any(|name| name.trim() == "kanban"))
}

/// The day's counter belongs to all profiles: it lives in the root home.
fn spend(
    limits: &SpendLimits,
    home: &Home,
    state: &StateHandle,
    clock: &Clock,
) -> Result<Spend, BuildError> {
    if *limits == SpendLimits::default() {
        return Ok(Spend::unlimited());
    }
    let ledger = if home.path() == home.root() {
        state.clone()
    } else {
        StateHandle::open(home.root().join("state.db"), clock.clone())?
    };
    Ok(Spend::new(*limits, Some(ledger), clock.clone()))
}

fn skill_environments(wishes: &Wishes) -> Vec<String> {
    let mut environments = Vec::new();
    if wishes.kanban {
        environments.push("kanban".to_owned());
    }
    if matches!(wishes.surroundings, Surroundings::Sandbox { .. }) {
        environments.push("docker".to_owned());
    }
    environments
}

fn other_profiles(home: &Home) -> Vec<(String, PathBuf)> {
    let mut found: Vec<(String, PathBuf)> = std::fs::read_dir(home.profiles_dir())
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| {
            (
                entry.file_name().to_string_lossy().into_owned(),
                entry.path().join("skills"),
            )
        })
        .collect();
    found.push(("default".to_owned(), home.root().join("skills")));
    let own = home.join("skills");
    found.retain(|(_, path)| *path != own && path.is_dir());
    found
}

/// How the prompt calls this machine's system.
pub fn system_name() -> String {
    match std::env::consts::OS {
        "linux" => "Linux".to_owned(),
        "macos" => "macOS".to_owned(),
        other => other.to_owned(),
    }
}
