//! `hermes sessions stats`, `optimize` and `repair`.

use hermes_store::door::Repaired;
use hermes_store::{Salvaged, Stats, StoreError, salvage_closed};

use super::text::megabytes;
use crate::{CommandError, Context, Exit, Out};

#[derive(clap::Args, Debug)]
pub(crate) struct StatsArgs {
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args, Debug)]
pub(crate) struct OptimizeArgs {
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn stats(
    args: &StatsArgs,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let stats = match super::open(context)? {
        Some(db) => db.stats()?,
        None => Stats::default(),
    };
    if args.json {
        out.json(&stats)?;
        return Ok(Exit::SUCCESS);
    }
    out.line(&format!("Total sessions: {}", stats.sessions))?;
    out.line(&format!("Total messages: {}", stats.messages))?;
    for source in &stats.sources {
        out.line(&format!(
            "  {}: {} sessions",
            source.source, source.sessions
        ))?;
    }
    if stats.archived > 0 {
        out.line(&format!(
            "Archived, not counted above: {} sessions",
            stats.archived
        ))?;
    }
    out.line(&format!("Database size: {}", megabytes(stats.bytes)))?;
    Ok(Exit::SUCCESS)
}

pub(crate) fn optimize(
    args: &OptimizeArgs,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let Some(db) = super::open(context)? else {
        out.line("No sessions found.")?;
        return Ok(Exit::SUCCESS);
    };
    let optimized = db.optimize()?;
    if args.json {
        out.json(&optimized)?;
        return Ok(Exit::SUCCESS);
    }
    let reclaimed = optimized.bytes_before.saturating_sub(optimized.bytes_after);
    out.line(&format!("Optimized {} search indexes.", optimized.indexes))?;
    out.line(&format!(
        "Database size: {} -> {} (reclaimed {})",
        megabytes(optimized.bytes_before),
        megabytes(optimized.bytes_after),
        megabytes(reclaimed)
    ))?;
    Ok(Exit::SUCCESS)
}

#[derive(clap::Args, Debug)]
#[command(after_help = "\
The damaged file is left as it is. What can be read is written to a new file beside
it; move that one into place while nothing else is running.")]
pub(crate) struct RepairArgs {}

pub(crate) fn repair(
    _args: &RepairArgs,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let path = context.home.state_db();
    let saved = match super::open(context) {
        Ok(None) => {
            out.line("No sessions found.")?;
            return Ok(Exit::SUCCESS);
        }
        Ok(Some(db)) => match db.database().integrity_check() {
            Ok(()) if db.check_search().is_ok() => {
                out.line("Nothing is wrong with the sessions.")?;
                return Ok(Exit::SUCCESS);
            }
            Ok(()) => {
                db.rebuild_search()?;
                out.line("The messages are fine; the search indexes were built anew.")?;
                return Ok(Exit::SUCCESS);
            }
            Err(_) => db.salvage()?,
        },
        Err(error)
            if error
                .error
                .downcast_ref::<StoreError>()
                .is_some_and(|error| matches!(error, StoreError::Corrupt { .. })) =>
        {
            salvage_closed(&path)?
        }
        Err(error) => return Err(error),
    };
    report(&saved, &path, out)?;
    Ok(Exit::SUCCESS)
}

fn report(
    saved: &Repaired<Salvaged>,
    path: &std::path::Path,
    out: &mut Out,
) -> Result<(), CommandError> {
    out.line(&format!(
        "Saved {} sessions and {} messages to {}",
        saved.report.sessions + saved.report.nameless_sessions,
        saved.report.messages,
        saved.file.display()
    ))?;
    if saved.report.nameless_sessions > 0 {
        out.line(&format!(
            "{} of the sessions lost their own row; their messages are under the source `unknown`.",
            saved.report.nameless_sessions
        ))?;
    }
    out.line("With every other hermes process stopped, put it into place:")?;
    let (old, new) = (path.display(), saved.file.display());
    out.line(&format!(
        "  mv '{old}' '{old}.broken'; rm -f '{old}-wal' '{old}-shm'"
    ))?;
    out.line(&format!("  mv '{new}' '{old}'"))?;
    Ok(())
}
