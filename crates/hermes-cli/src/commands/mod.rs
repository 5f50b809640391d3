//! One file per verb, each with `Args` and `run(args, &Context, &mut Out)`.
//!
//! A new verb is a file here (or a product's `command.rs`), a variant of
//! [`Verb`], a line in [`run`], and its name out of [`NOT_BUILT`].

use clap::Subcommand;

use crate::logging::Role;
use crate::{CommandError, Context, ErrorKind, Exit, Out};

pub(crate) use sandbox::{Notices, sandbox_error};

pub(crate) mod ask;
mod auth;
mod backup;
mod chat;
mod checkpoints;
mod completion;
mod config;
pub(crate) mod confirm;
mod demo;
mod doctor;
mod dump;
mod fallback;
mod insights;
mod kanban;
mod logs;
mod memory;
pub(crate) mod model;
mod profile;
mod prompt_size;
mod sandbox;
pub(crate) mod sessions;
pub(crate) mod setup;
mod skills;
mod status;
mod tools;
pub(crate) mod version;

/// Of verbs that are built, what the reference has and we have not.
pub(crate) const NOT_BUILT_BELOW: &[(&str, &[&str])] = &[
    ("auth", &["spotify"]),
    ("kanban", &["swarm"]),
    ("memory", &["setup"]),
    ("profile", &["install", "update"]),
    (
        "skills",
        &[
            "audit",
            "browse",
            "check",
            "config",
            "inspect",
            "install",
            "opt-in",
            "opt-out",
            "publish",
            "repair-official",
            "reset",
            "search",
            "snapshot",
            "tap",
            "uninstall",
            "update",
        ],
    ),
];

/// Verbs of the reference that are known by name only.
pub(crate) const NOT_BUILT: &[&str] = &[
    "acp",
    "bundles",
    "claw",
    "computer-use",
    "cron",
    "curator",
    "dashboard",
    "debug",
    "desktop",
    "gateway",
    "gui",
    "hooks",
    "login",
    "logout",
    "lsp",
    "mcp",
    "migrate",
    "pairing",
    "plugins",
    "portal",
    "postinstall",
    "proxy",
    "secrets",
    "security",
    "send",
    "slack",
    "uninstall",
    "update",
    "webhook",
    "whatsapp",
];

#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// Store, list and remove API keys of model providers
    Auth(auth::Args),

    /// Show and change the models to turn to when the main one fails
    Fallback(fallback::Args),

    /// Talk to the agent; with `-q` ask once and exit
    Chat(Box<chat::Args>),

    /// Look at and tidy the snapshots that `/rollback` goes back to
    Checkpoints(checkpoints::Args),

    /// Show and change settings
    Config(config::Args),

    /// Tasks on boards, and the workers that do them
    Kanban(Box<kanban::Args>),

    /// Choose the model that answers
    Model(model::Args),

    /// Decide what must be decided before the first chat
    Setup(setup::Args),

    /// Show, filter and follow the log files
    Logs(logs::Args),

    /// The notes that outlive conversations
    Memory(memory::Args),

    /// Show what every request costs before anything is said
    PromptSize(prompt_size::Args),

    /// Procedures that the agent can load
    Skills(skills::Args),

    /// Show and change which tools a platform gets
    Tools(tools::Args),

    /// Look at, search and manage stored conversations
    Sessions(sessions::Args),

    /// Look at and manage the sandboxes in which commands run
    Sandbox(sandbox::Args),

    /// Manage profiles: homes of their own with settings, memory and sessions
    Profile(profile::Args),

    /// Write everything, keys included, into one zip file
    Backup(backup::Args),

    /// Restore a backup
    Import(backup::ImportArgs),

    /// Print a script that completes verbs, options and names in your shell
    Completion(completion::Args),

    #[command(name = "__complete", hide = true)]
    Complete(completion::CompleteArgs),

    /// Show what this profile is set up to do and what runs for it
    Status(status::Args),

    /// Look for problems and mend what can be mended
    Doctor(doctor::Args),

    /// Play the product in about a minute: no key, no set-up, nothing left behind
    Demo(demo::Args),

    /// Print the set-up on one page, without secrets, to paste into a question
    Dump(dump::Args),

    /// Show what the stored conversations add up to
    Insights(insights::Args),

    /// Print the version
    Version(version::Args),
}

impl Verb {
    /// Verbs that go on with the default profile when `active_profile` names one
    /// that is gone.
    pub(crate) fn works_without_its_profile(&self) -> bool {
        matches!(
            self,
            Self::Complete(_)
                | Self::Completion(_)
                | Self::Demo(_)
                | Self::Doctor(_)
                | Self::Profile(_)
                | Self::Version(_)
        )
    }

    /// Verbs that look at what is there and make nothing. All others make the home
    /// complete on first use.
    fn only_looks(&self) -> bool {
        matches!(
            self,
            Self::Backup(_)
                | Self::Checkpoints(_)
                | Self::Complete(_)
                | Self::Completion(_)
                | Self::Demo(_)
                | Self::Doctor(_)
                | Self::Dump(_)
                | Self::Import(_)
                | Self::Insights(_)
                | Self::Logs(_)
                | Self::Profile(_)
                | Self::Sessions(_)
                | Self::Status(_)
                | Self::Version(_)
        )
    }
}

/// Runs a verb; none means `chat`.
pub(crate) fn run(
    verb: Option<Verb>,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    if !verb.as_ref().is_some_and(Verb::only_looks) {
        context.ensure_home(out)?;
        // A config that cannot be read is for the verb to tell.
        let _ = context.start_logging(Role::Agent);
    }
    match verb {
        Some(Verb::Complete(args)) => completion::complete(&args, context, out),
        Some(Verb::Completion(args)) => completion::run(&args, context, out),
        Some(Verb::Backup(args)) => backup::run(&args, context, out),
        Some(Verb::Import(args)) => backup::import(&args, context, out),
        Some(Verb::Auth(args)) => auth::run(args, context, out),
        Some(Verb::Fallback(args)) => fallback::run(args, context, out),
        Some(Verb::Checkpoints(args)) => checkpoints::run(args, context, out),
        Some(Verb::Config(args)) => config::run(args, context, out),
        Some(Verb::Kanban(args)) => kanban::run(*args, context, out),
        Some(Verb::Model(args)) => model::run(&args, context, out),
        Some(Verb::Setup(args)) => setup::run(&args, context, out),
        Some(Verb::Logs(args)) => logs::run(args, context, out),
        Some(Verb::Sessions(args)) => sessions::run(args, context, out),
        Some(Verb::Profile(args)) => profile::run(args, context, out),
        Some(Verb::Status(args)) => status::run(&args, context, out),
        Some(Verb::Doctor(args)) => doctor::run(&args, context, out),
        Some(Verb::Demo(args)) => demo::run(&args, context, out),
        Some(Verb::Dump(args)) => dump::run(&args, context, out),
        Some(Verb::Insights(args)) => insights::run(&args, context, out),
        Some(Verb::Sandbox(args)) => sandbox::run(args, context, out),
        Some(Verb::Version(args)) => version::run(args, out),
        Some(Verb::Memory(args)) => memory::run(args, context, out),
        Some(Verb::PromptSize(args)) => prompt_size::run(&args, context, out),
        Some(Verb::Skills(args)) => skills::run(args, context, out),
        Some(Verb::Tools(args)) => tools::run(args, context, out),
        Some(Verb::Chat(args)) => chat::run(*args, context, out),
        None => match &context.oneshot {
            Some(prompt) => chat::oneshot(prompt, context, out),
            None => chat::run(chat::Args::default(), context, out),
        },
    }
}

/// The one sentence about something of the reference that we do not have yet.
pub(crate) fn not_built(what: &str) -> CommandError {
    CommandError::new(
        ErrorKind::NotBuilt,
        format!("`hermes {what}` is not built yet"),
    )
}
