//! `hermes setup`: the few things that must be decided before the first chat.
//! Every question has the present value as its default, and every answer has a
//! flag.

mod agent;
mod model;
mod questions;
mod terminal;
mod tools;

use std::io::{self, IsTerminal, Write};

use hermes_config::edit::{Change, change_config};
use serde_json::Value;

pub(crate) use model::model_section;

use super::confirm::{confirm, refused};
use super::model::is_set_up;
use crate::{CommandError, Context, Exit, Out};

#[derive(clap::Args, Debug, Default)]
pub(crate) struct Args {
    /// Only this section
    #[arg(value_name = "SECTION", value_parser = ["model", "terminal", "tools", "agent"])]
    section: Option<String>,

    /// Ask nothing: store what the flags say
    #[arg(long)]
    non_interactive: bool,

    /// Ask only for what is missing
    #[arg(long)]
    quick: bool,

    /// Begin with a fresh config.yaml; the old one is kept beside it
    #[arg(long)]
    reset: bool,

    /// Do not ask whether --reset is meant
    #[arg(short = 'y', long, requires = "reset")]
    yes: bool,

    /// Provider of the model
    #[arg(long, value_name = "PROVIDER")]
    provider: Option<String>,

    /// The model's name
    #[arg(long, value_name = "NAME")]
    model: Option<String>,

    /// Address of a server of your own
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,

    /// The provider's key; other users of this machine may see it while this runs
    #[arg(long, value_name = "KEY")]
    api_key: Option<String>,

    /// Where commands run
    #[arg(long, value_name = "BACKEND", value_parser = ["local", "docker", "ssh"])]
    backend: Option<String>,

    /// The groups of tools that a chat has, separated by commas
    #[arg(long, value_name = "A,B")]
    toolsets: Option<String>,

    /// Steps per turn
    #[arg(long, value_name = "N")]
    max_turns: Option<u32>,

    /// How much of a tool call is shown
    #[arg(long, value_name = "MODE", value_parser = ["off", "new", "all", "verbose"])]
    tool_progress: Option<String>,
}

impl Args {
    fn says_something(&self) -> bool {
        self.provider.is_some()
            || self.model.is_some()
            || self.base_url.is_some()
            || self.api_key.is_some()
            || self.backend.is_some()
            || self.toolsets.is_some()
            || self.max_turns.is_some()
            || self.tool_progress.is_some()
    }
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    // Before any question: a file that cannot be read cannot be changed either.
    context.config()?;
    context.policy().refuse_if_managed()?;
    let attended = !args.non_interactive && io::stdin().is_terminal() && out.is_terminal();
    if args.reset {
        reset(args, context, out)?;
    }
    let context = &context.renewed(None);
    if args.says_something() {
        return store(args, context, out);
    }
    if !attended {
        if !args.reset {
            writeln!(out, "Nothing was changed. These lines set Hermes up:\n")?;
        }
        writeln!(out, "  hermes config set OPENROUTER_API_KEY your-key")?;
        writeln!(out, "  hermes config set model.provider openrouter")?;
        writeln!(out, "  hermes config set model.default vendor/model")?;
        return Ok(Exit::SUCCESS);
    }
    if args.quick && is_set_up(context)? {
        writeln!(out, "Nothing is missing: a model is set up.")?;
        return offer_chat(context, out);
    }
    let section = args.section.as_deref();
    let wanted = |name: &str| match section {
        Some(section) => section == name,
        None => !args.quick || name == "model",
    };
    if wanted("model") {
        model_section(context, out)?;
    }
    if wanted("terminal") {
        terminal::section(&context.renewed(None), out)?;
    }
    if wanted("tools") {
        tools::section(&context.renewed(None), out)?;
    }
    if wanted("agent") {
        agent::section(&context.renewed(None), out)?;
    }
    if section.is_some() {
        return Ok(Exit::SUCCESS);
    }
    offer_chat(&context.renewed(None), out)
}

/// What the flags say, checked before anything is written.
fn store(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    if let Some(names) = &args.toolsets {
        tools::check(names)?;
    }
    model::store(args, context, out)?;
    if let Some(backend) = &args.backend {
        set(context, "terminal.backend", backend.as_str().into())?;
        writeln!(out, "Commands run in: {backend}")?;
    }
    if let Some(names) = &args.toolsets {
        tools::store(names, context)?;
        writeln!(out, "Tools: {names}")?;
    }
    if let Some(steps) = args.max_turns {
        set(context, "agent.max_turns", steps.into())?;
        writeln!(out, "Steps per turn: {steps}")?;
    }
    if let Some(mode) = &args.tool_progress {
        set(context, "display.tool_progress", mode.as_str().into())?;
        writeln!(out, "Tool lines: {mode}")?;
    }
    Ok(Exit::SUCCESS)
}

fn set(context: &Context, path: &str, value: Value) -> Result<(), CommandError> {
    let change = Change::Set {
        path: path.to_owned(),
        value,
    };
    change_config(&context.home, context.config()?.environment(), &[change])?;
    Ok(())
}

/// Moves `config.yaml` aside. Keys and sessions stay.
fn reset(args: &Args, context: &Context, out: &mut Out) -> Result<(), CommandError> {
    let file = context.home.config_file();
    if !file.exists() {
        return Ok(());
    }
    if !confirm(
        "Begin with a fresh config.yaml? The old one is kept.",
        args.yes,
        out,
    )? {
        return Err(refused());
    }
    let time = context.clock.now_local().format("%Y%m%d_%H%M%S");
    let kept = file.with_file_name(format!("config.yaml.before-reset-{time}"));
    std::fs::rename(&file, &kept)?;
    writeln!(out, "The old settings are in {}", kept.display())?;
    Ok(())
}

fn offer_chat(context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    writeln!(
        out,
        "\nDone. `hermes` starts a chat; `hermes doctor` looks for problems."
    )?;
    if !is_set_up(context)? || !confirm("Start a chat now?", false, out)? {
        return Ok(Exit::SUCCESS);
    }
    super::chat::run(super::chat::Args::default(), context, out)
}
