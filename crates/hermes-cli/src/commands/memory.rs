//! `hermes memory`: the notes that outlive conversations.

use std::io::Write;

use clap::{Subcommand, ValueEnum};
use hermes_agent::build::AgentSettings;
use hermes_config::edit::{Change, change_config};
use hermes_knowledge::memory::{MemoryError, MemoryStore, Target};

use super::confirm::{confirm, refused};
use crate::{CommandError, Context, Exit, Out};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Show what is kept and how full it is
    Status,
    /// Show the entries
    Show,
    /// Use the built-in files only
    Off,
    /// Delete the files
    Reset {
        /// Do not ask
        #[arg(short = 'y', long)]
        yes: bool,
        /// Which file: the agent's notes, what it knows about you, or both
        #[arg(long, value_enum, default_value = "all")]
        target: Which,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Which {
    All,
    Memory,
    User,
}

impl Which {
    fn targets(self) -> &'static [Target] {
        match self {
            Which::All => &[Target::Memory, Target::User],
            Which::Memory => &[Target::Memory],
            Which::User => &[Target::User],
        }
    }
}

pub(crate) fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    match args.action.unwrap_or(Action::Status) {
        Action::Status => status(context, out),
        Action::Show => show(context, out),
        Action::Off => off(context, out),
        Action::Reset { yes, target } => reset(yes, target, context, out),
    }
}

fn store(context: &Context, out: &mut Out) -> Result<MemoryStore, CommandError> {
    let config = context.config_or_defaults(out)?;
    let settings = AgentSettings::read(&config)?;
    Ok(MemoryStore::new(
        context.home.join("memories"),
        settings.memory_limits,
    ))
}

fn status(context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let store = store(context, out)?;
    let config = context.config_or_defaults(out)?;
    let provider = config.optional_string("memory.provider")?;
    writeln!(out, "\nMemory status\n{}", "─".repeat(40))?;
    writeln!(out, "  Built-in:  always active")?;
    match provider {
        None => writeln!(out, "  Provider:  (none — built-in only)")?,
        Some(name) => writeln!(
            out,
            "  Provider:  {name} (not loaded: external memory is not built yet)"
        )?,
    }
    writeln!(out)?;
    for (target, label) in [(Target::Memory, "Notes:  "), (Target::User, "Profile:")] {
        let entries = store.entries(target).map_err(failed)?;
        writeln!(
            out,
            "  {label}   {} entries, {}",
            entries.len(),
            store.usage(target, &entries)
        )?;
    }
    writeln!(out)?;
    Ok(Exit::SUCCESS)
}

fn show(context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let store = store(context, out)?;
    for target in Which::All.targets() {
        writeln!(out, "{}:", context.home.display(&store.path(*target)))?;
        for entry in store.entries(*target).map_err(failed)? {
            let mut lines = entry.lines();
            writeln!(out, "- {}", lines.next().unwrap_or(""))?;
            for line in lines {
                writeln!(out, "  {line}")?;
            }
        }
    }
    Ok(Exit::SUCCESS)
}

fn off(context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let config = context.config()?;
    if config.optional_string("memory.provider")?.is_some() {
        change_config(
            &context.home,
            config.environment(),
            &[Change::Set {
                path: "memory.provider".to_owned(),
                value: "".into(),
            }],
        )?;
    }
    writeln!(out, "\n  ✓ Memory provider: built-in only\n")?;
    Ok(Exit::SUCCESS)
}

fn reset(yes: bool, which: Which, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let store = store(context, out)?;
    let present: Vec<Target> = which
        .targets()
        .iter()
        .copied()
        .filter(|target| store.path(*target).exists())
        .collect();
    if present.is_empty() {
        writeln!(
            out,
            "Nothing to reset: no memory files in {}",
            context.home.display(&context.home.join("memories"))
        )?;
        return Ok(Exit::SUCCESS);
    }
    let names: Vec<String> = present
        .iter()
        .map(|target| context.home.display(&store.path(*target)))
        .collect();
    if !confirm(&format!("Delete {}?", names.join(" and ")), yes, out)? {
        return Err(refused());
    }
    for target in present {
        store.clear(target).map_err(failed)?;
    }
    writeln!(out, "Deleted {}", names.join(" and "))?;
    Ok(Exit::SUCCESS)
}

fn failed(error: MemoryError) -> CommandError {
    CommandError::user(error)
}
