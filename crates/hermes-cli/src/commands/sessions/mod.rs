//! `hermes sessions`: what was talked about, and what to do with it.
//!
//! Verbs that read make no file: a home without `state.db` simply has no sessions.

mod browse;
mod change;
mod export;
#[cfg(test)]
mod golden_tests;
mod list;
mod search;
mod show;
mod text;

pub(crate) use text::ago;
mod upkeep;

use std::time::Duration;

use clap::Subcommand;
use hermes_store::{StateDb, StoreError};
use hermes_types::SessionId;

use crate::{CommandError, Context, Exit, Out};

/// A person waits for the answer; an agent that saves its work waits longer.
const PATIENCE: Duration = Duration::from_secs(3);

#[derive(clap::Args, Debug)]
#[command(arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// List recent sessions, the newest first
    List(list::Args),
    /// Pick a session and go on with it
    Browse(browse::Args),
    /// Show one session as text
    Show(show::Args),
    /// Find messages by their words
    Search(search::Args),
    /// Write sessions as JSON, one per line
    Export(export::Args),
    /// Give a session a title
    Rename(change::RenameArgs),
    /// Delete one session
    Delete(change::DeleteArgs),
    /// Delete ended sessions by their age
    Prune(change::PruneArgs),
    /// Merge search indexes and give unused space back
    Optimize(upkeep::OptimizeArgs),
    /// Save what can be read of a damaged database
    Repair(upkeep::RepairArgs),
    /// Count sessions and messages
    Stats(upkeep::StatsArgs),
}

pub(crate) fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    match args.verb {
        Verb::List(args) => list::run(&args, context, out),
        Verb::Browse(args) => browse::run(&args, context, out),
        Verb::Show(args) => show::run(&args, context, out),
        Verb::Search(args) => search::run(args, context, out),
        Verb::Export(args) => export::run(&args, context, out),
        Verb::Rename(args) => change::rename(&args, context, out),
        Verb::Delete(args) => change::delete(&args, context, out),
        Verb::Prune(args) => change::prune(args, context, out),
        Verb::Optimize(args) => upkeep::optimize(&args, context, out),
        Verb::Repair(args) => upkeep::repair(&args, context, out),
        Verb::Stats(args) => upkeep::stats(&args, context, out),
    }
}

fn open(context: &Context) -> Result<Option<StateDb>, CommandError> {
    Ok(StateDb::open_existing(
        &context.home.state_db(),
        context.clock.clone(),
        PATIENCE,
    )?)
}

/// The database and the one session in it that `reference` names.
fn open_session(reference: &str, context: &Context) -> Result<(StateDb, SessionId), CommandError> {
    let db = open(context)?.ok_or_else(|| StoreError::SessionNotFound {
        reference: reference.to_owned(),
    })?;
    let id = db.resolve(reference)?;
    Ok((db, id))
}
