//! `hermes sessions stats` and `optimize`.

use hermes_store::Stats;

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
