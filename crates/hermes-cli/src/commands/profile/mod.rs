//! `hermes profile`: complete homes of their own, and the choice between them.

mod alias;
mod create;
mod delete;
mod describe;
mod export;
mod facts;
mod import;
mod rename;
mod show;

use clap::Subcommand;
use hermes_home::profile::Profiles;
use hermes_types::ProfileName;

use crate::{CommandError, Context, Exit, Out};

pub(super) use facts::{Facts, Gateway, count_skills};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Print the current profile as JSON
    #[arg(long)]
    json: bool,

    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// List all profiles
    #[command(visible_alias = "ls")]
    List {
        #[arg(long)]
        /// Print JSON
        json: bool,
    },
    /// Make a profile the one that is used without -p
    Use {
        /// The profile; `default` goes back to the default one
        #[arg(value_name = "PROFILE")]
        name: String,
    },
    /// Create a profile
    Create(create::Args),
    /// Delete a profile with everything in it
    #[command(visible_alias = "rm")]
    Delete(delete::Args),
    /// Show one profile
    Show {
        /// The profile
        #[arg(value_name = "PROFILE")]
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show or set what a profile is for
    Describe(describe::Args),
    /// Create or remove a command that runs hermes in a profile
    Alias(alias::Args),
    /// Give a profile another name
    Rename {
        /// The profile
        #[arg(value_name = "PROFILE")]
        old: String,
        /// Its new name
        new: String,
    },
    /// Show where a profile came from
    Info {
        /// The profile
        #[arg(value_name = "PROFILE")]
        name: String,
    },
    /// Write a profile into one file, without its keys
    Export(export::Args),
    /// Make a profile of such a file
    Import(import::Args),
}

pub(crate) fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    match args.action {
        None => show::current(args.json, context, out),
        Some(Action::List { json }) => show::list(json, context, out),
        Some(Action::Show { name, json }) => show::one(&name, json, context, out),
        Some(Action::Info { name }) => show::info(&name, context, out),
        Some(Action::Use { name }) => use_profile(&name, context, out),
        Some(Action::Create(args)) => create::run(args, context, out),
        Some(Action::Delete(args)) => delete::run(&args, context, out),
        Some(Action::Describe(args)) => describe::run(args, context, out),
        Some(Action::Alias(args)) => alias::run(&args, context, out),
        Some(Action::Rename { old, new }) => rename::run(&old, &new, context, out),
        Some(Action::Export(args)) => export::run(&args, context, out),
        Some(Action::Import(args)) => import::run(&args, context, out),
    }
}

fn use_profile(name: &str, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let name = ProfileName::parse(name)?;
    profiles(context).set_active(&name)?;
    if name.is_default() {
        let root = context.home.of_profile(&name);
        out.line(&format!(
            "Switched to: default ({})",
            root.display(root.path())
        ))?;
    } else {
        out.line(&format!("Switched to: {name}"))?;
    }
    Ok(Exit::SUCCESS)
}

/// The command of its own that a profile has after it came from a file.
pub(super) fn make_command(name: &ProfileName, context: &Context) -> Result<(), CommandError> {
    alias::create(name, name, context).map(|_| ())
}

fn profiles(context: &Context) -> Profiles<'_> {
    Profiles::new(&context.home, context.policy())
}
