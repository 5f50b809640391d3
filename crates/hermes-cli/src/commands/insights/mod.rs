//! `hermes insights`: what the stored conversations add up to.

mod figures;
#[cfg(test)]
mod golden_tests;
mod text;

use chrono::Duration;
use hermes_store::StateDb;

use crate::{CommandError, Context, Exit, Out};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// How many days to look back
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: u32,

    /// Only sessions of this platform
    #[arg(long, value_name = "NAME")]
    source: Option<String>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let since = context.clock.now() - Duration::days(i64::from(args.days));
    let since = since.timestamp_micros() as f64 / 1e6;
    let source = args.source.as_deref();
    let figures = match StateDb::open_read_only(&context.home.state_db(), context.clock.clone())? {
        Some(db) => figures::gather(&db, since, source)?,
        None => figures::Figures::default(),
    };
    if args.json {
        out.json(&figures)?;
    } else if figures.sessions == 0 {
        let of = source.map_or_else(String::new, |source| format!(" of {source}"));
        out.line(&format!("No sessions{of} in the last {} days.", args.days))?;
    } else {
        text::print(&figures, args.days, source, out)?;
    }
    Ok(Exit::SUCCESS)
}
