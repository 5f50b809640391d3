//! `hermes logs`: shows, filters and follows the log files of this home.

mod backward;
mod filter;
mod follow;
mod list;

use std::io::Write;
use std::path::{Path, PathBuf};

use chrono::Duration;

use crate::logging::{Component, Level};
use crate::{CommandError, Context, Exit, Out};

use filter::Filter;

const NAMES: &[&str] = &["agent", "desktop", "errors", "gateway", "gui"];

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Which log: agent, errors, gateway, gui or desktop; `list` shows the files
    #[arg(value_name = "NAME", default_value = "agent")]
    name: String,

    /// How many lines; with a filter, how many records
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    lines: usize,

    /// Keep printing as the log grows
    #[arg(short = 'f', long)]
    follow: bool,

    /// Least level: DEBUG, INFO, WARNING, ERROR or CRITICAL
    #[arg(long, value_name = "LEVEL")]
    level: Option<String>,

    /// Only records that mention this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// Only records younger than this: 90s, 30m, 2h, 1d
    #[arg(long, value_name = "AGE")]
    since: Option<String>,

    /// Only this part of the program: gateway, agent, tools, cli, cron or gui
    #[arg(long, value_name = "NAME")]
    component: Option<String>,
}

pub(crate) fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    if args.name == "list" {
        return list::run(context, out);
    }
    let path = path_of(&args.name, context)?;
    let filter = filter(&args, context)?;
    if !path.is_file() {
        return Err(
            CommandError::user(format!("there is no {}", context.home.display(&path))).hint(
                "a log appears when something writes to it; `hermes logs list` shows what is there",
            ),
        );
    }
    header(&args, &path, context, out)?;
    // Where following starts is fixed before reading, so that no line falls between.
    let follower = args
        .follow
        .then(|| follow::Follower::at_end(&path))
        .transpose();
    let follower = follower.map_err(|error| cannot_read(&path, error))?;
    let end = follower.as_ref().map(follow::Follower::position);
    for line in backward::last(&path, end, args.lines, &filter)
        .map_err(|error| cannot_read(&path, error))?
    {
        writeln!(out, "{line}")?;
    }
    match follower {
        Some(follower) => follower.run(&filter, out),
        None => Ok(Exit::SUCCESS),
    }
}

fn path_of(name: &str, context: &Context) -> Result<PathBuf, CommandError> {
    if NAMES.contains(&name) {
        return Ok(context.home.logs_dir().join(format!("{name}.log")));
    }
    Err(
        CommandError::user(format!("there is no log called {name:?}")).hint(format!(
            "choose one of {}, or `hermes logs list`",
            NAMES.join(", ")
        )),
    )
}

fn filter(args: &Args, context: &Context) -> Result<Filter, CommandError> {
    let level = args
        .level
        .as_deref()
        .map(|text| {
            Level::parse(text).ok_or_else(|| {
                CommandError::user(format!("{text:?} is not a level"))
                    .hint("use DEBUG, INFO, WARNING, ERROR or CRITICAL")
            })
        })
        .transpose()?;
    let component = args
        .component
        .as_deref()
        .map(|text| {
            <Component as clap::ValueEnum>::from_str(text, true).map_err(|_| {
                CommandError::user(format!("there is no component called {text:?}"))
                    .hint("use gateway, agent, tools, cli, cron or gui")
            })
        })
        .transpose()?;
    let since = args
        .since
        .as_deref()
        .map(|text| {
            parse_age(text)
                .and_then(|age| context.clock.now_local().checked_sub_signed(age))
                .ok_or_else(|| {
                    CommandError::user(format!("{text:?} is not an age"))
                        .hint("use a number and a unit: 90s, 30m, 2h, 1d")
                })
        })
        .transpose()?;
    Ok(Filter {
        level,
        component,
        since,
        session: args.session.clone(),
    })
}

/// `90s`, `30m`, `2h`, `1d`.
fn parse_age(text: &str) -> Option<Duration> {
    let text = text.trim();
    let unit = text.chars().last()?;
    let number: i64 = text
        .strip_suffix(unit)?
        .trim()
        .parse()
        .ok()
        .filter(|n| *n >= 0)?;
    match unit.to_ascii_lowercase() {
        's' => Duration::try_seconds(number),
        'm' => Duration::try_minutes(number),
        'h' => Duration::try_hours(number),
        'd' => Duration::try_days(number),
        _ => None,
    }
}

fn header(args: &Args, path: &Path, context: &Context, out: &mut Out) -> Result<(), CommandError> {
    let filters: Vec<String> = [
        args.level
            .as_ref()
            .map(|level| format!("level>={}", level.to_uppercase())),
        args.session
            .as_ref()
            .map(|session| format!("session={session}")),
        args.since.as_ref().map(|since| format!("since={since}")),
        args.component
            .as_ref()
            .map(|component| format!("component={component}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    let filters = if filters.is_empty() {
        String::new()
    } else {
        format!(" [{}]", filters.join(", "))
    };
    let extent = if args.follow {
        "Ctrl+C to stop".to_owned()
    } else {
        format!("last {}", args.lines)
    };
    writeln!(
        out,
        "--- {}{filters} ({extent}) ---",
        context.home.display(path)
    )?;
    Ok(())
}

fn cannot_read(path: &Path, error: std::io::Error) -> CommandError {
    CommandError::from(error).context(format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests;
