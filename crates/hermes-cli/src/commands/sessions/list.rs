//! `hermes sessions list`.

use std::io::Write;

use hermes_home::Clock;
use hermes_store::{ListFilter, ListedSession};
use hermes_types::{Redaction, redact};

use super::text::{ago, cell};
use crate::{CommandError, Context, Exit, Out};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Only sessions of this source (cli, telegram, cron, …)
    #[arg(long)]
    pub(super) source: Option<String>,

    /// How many to show
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(super) limit: usize,

    /// Archived sessions too
    #[arg(long)]
    archived: bool,

    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let filter = ListFilter {
        source: args.source.clone(),
        limit: args.limit,
        archived: args.archived,
        ..ListFilter::default()
    };
    let mut sessions = match super::open(context)? {
        Some(db) => db.list(&filter)?,
        None => Vec::new(),
    };
    for session in &mut sessions {
        session.preview = redact(&session.preview, Redaction::Text).into_owned();
    }
    if args.json {
        out.json(&sessions)?;
    } else {
        print(&sessions, &context.clock, out)?;
    }
    Ok(Exit::SUCCESS)
}

/// A column that gives way to a narrow terminal keeps this much.
const NARROWEST: usize = 12;

/// With titles when any session has one, else with sources.
pub(super) fn print(
    sessions: &[ListedSession],
    clock: &Clock,
    out: &mut Out,
) -> Result<(), CommandError> {
    if sessions.is_empty() {
        out.line("No sessions found.")?;
        return Ok(());
    }
    let titled = sessions.iter().any(|session| session.title.is_some());
    let source_width = sessions
        .iter()
        .map(|session| session.source.chars().count())
        .fold(6, usize::max);
    let full = if titled { 110 } else { 89 + source_width };
    // Whoever reads it through a pipe gets the whole width.
    let excess = match out.is_terminal() {
        true => full.saturating_sub(out.width()),
        false => 0,
    };
    let wide: usize = if titled { 40 } else { 50 };
    let preview_width = wide.saturating_sub(excess).max(NARROWEST);
    let title_width = 32usize
        .saturating_sub(excess - (wide - preview_width))
        .max(NARROWEST);
    let line = |columns: [&str; 5]| {
        let [title, preview, active, source, id] = columns;
        let active = cell(active, 13, 13);
        let preview = cell(preview, preview_width - 2, preview_width);
        if titled {
            let title = cell(title, title_width - 2, title_width);
            format!("{title} {preview} {active} {id}")
        } else {
            let source = cell(source, source_width, source_width);
            format!("{preview} {active} {source} {id}")
        }
    };
    let heading = line(["Title", "Preview", "Last Active", "Src", "ID"]);
    writeln!(out, "{}", out.style().heading(&heading))?;
    out.line(&"─".repeat(full - excess))?;
    for session in sessions {
        let text = line([
            session.title.as_deref().unwrap_or("—"),
            &session.preview,
            &ago(session.last_active, clock),
            &session.source,
            session.id.as_str(),
        ]);
        out.line(&text)?;
    }
    Ok(())
}
