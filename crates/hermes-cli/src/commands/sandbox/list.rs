//! Looking: `ls`, `show`, `logs`.

use std::io::Write;

use chrono::{DateTime, Local, Utc};
use hermes_sandbox::docker::{Row, Scope};

use super::world::{World, engine_error};
use crate::output::{Column, Table};
use crate::{CommandError, Context, Exit, Out};

#[derive(clap::Args, Debug)]
pub(crate) struct LsArgs {
    /// Containers of every home and profile on this engine
    #[arg(long)]
    all: bool,

    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args, Debug)]
pub(crate) struct ShowArgs {
    /// Beginning of an id, or a name
    #[arg(value_name = "ID")]
    container: String,

    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args, Debug)]
pub(crate) struct LogsArgs {
    /// Beginning of an id, or a name; the container of this home when left out
    #[arg(value_name = "ID")]
    container: Option<String>,

    /// How many lines, from the end
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100)]
    lines: u32,
}

pub(crate) async fn ls(
    args: &LsArgs,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let world = World::new(context, out)?;
    let inventory = world.inventory();
    let scope = if args.all {
        Scope::Everybody
    } else {
        Scope::Own
    };
    let containers = inventory.containers(scope).await.map_err(engine_error)?;
    let mut rows = Vec::with_capacity(containers.len());
    for container in &containers {
        rows.push(inventory.row(container).await);
    }
    if args.json {
        out.json(&rows)?;
        return Ok(Exit::SUCCESS);
    }
    if rows.is_empty() {
        out.line("No containers.")?;
        return Ok(Exit::SUCCESS);
    }
    let mut table = Table::new([
        Column::new("Id"),
        Column::new("Name").flexible(8),
        Column::new("State"),
        Column::new("Task").flexible(6),
        Column::new("Profile").flexible(7),
        Column::new("Image").flexible(8),
        Column::new("Used").flexible(8),
        Column::new("Notes").flexible(6),
    ]);
    for row in &rows {
        table.row([
            row.id.chars().take(12).collect(),
            row.name.clone(),
            row.state.clone(),
            row.task.clone(),
            row.profile.clone(),
            row.image.clone(),
            row.last_used
                .map_or_else(|| "-".to_owned(), |at| ago(at, context)),
            notes(row),
        ]);
    }
    table.print(out)?;
    Ok(Exit::SUCCESS)
}

fn notes(row: &Row) -> String {
    let mut notes = Vec::new();
    if !row.leases.is_empty() {
        let pids: Vec<String> = row
            .leases
            .iter()
            .map(|lease| lease.pid.to_string())
            .collect();
        notes.push(format!("in use by pid {}", pids.join(", ")));
    }
    if !row.background.is_empty() {
        notes.push(format!("{} in the background", row.background.len()));
    }
    if !row.drift.is_empty() {
        let settings: Vec<&str> = row.drift.iter().map(|d| d.setting.as_str()).collect();
        notes.push(format!("not as configured: {}", settings.join(", ")));
    }
    if row.private {
        notes.push("private".to_owned());
    }
    if !row.home_match {
        notes.push("of another home".to_owned());
    }
    notes.join("; ")
}

fn ago(at: DateTime<Utc>, context: &Context) -> String {
    let seconds = (context.clock.now() - at).num_seconds().max(0);
    match seconds {
        0..60 => "just now".to_owned(),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..86400 => format!("{} h ago", seconds / 3600),
        _ => format!("{} d ago", seconds / 86400),
    }
}

pub(crate) async fn show(
    args: &ShowArgs,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let world = World::new(context, out)?;
    let container = world.one(&args.container).await?;
    let row = world.inventory().row(&container).await;
    if args.json {
        out.json(&row)?;
        return Ok(Exit::SUCCESS);
    }
    let at = |time: Option<DateTime<Utc>>| {
        time.map_or_else(
            || "unknown".to_owned(),
            |time| {
                time.with_timezone(&Local)
                    .format("%Y-%m-%d %H:%M:%S")
                    .to_string()
            },
        )
    };
    let yes = |flag: bool| if flag { "yes" } else { "no" }.to_owned();
    let facts = [
        ("Id", row.id.clone()),
        ("Name", row.name.clone()),
        ("Backend", row.backend.to_owned()),
        ("State", row.state.clone()),
        ("Task", row.task.clone()),
        ("Profile", row.profile.clone()),
        ("Of this home", yes(row.home_match)),
        ("Private", yes(row.private)),
        ("Image", row.image.clone()),
        ("Created", at(row.created)),
        ("Last used", at(row.last_used)),
    ];
    for (name, value) in facts {
        writeln!(out, "{name:<13} {value}")?;
    }
    for lease in &row.leases {
        writeln!(
            out,
            "{:<13} pid {} ({})",
            "In use by", lease.pid, lease.command
        )?;
    }
    for process in &row.background {
        let text = format!("{} pid {} ({})", process.id, process.pid, process.command);
        writeln!(out, "{:<13} {text}", "Background")?;
    }
    for drift in &row.drift {
        writeln!(out, "{:<13} {drift}", "Differs")?;
    }
    Ok(Exit::SUCCESS)
}

pub(crate) async fn logs(
    args: &LogsArgs,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let world = World::new(context, out)?;
    let container = match &args.container {
        Some(text) => world.one(text).await?,
        None => world
            .inventory()
            .current()
            .await
            .map_err(engine_error)?
            .ok_or_else(|| CommandError::user("this home has no container"))?,
    };
    let text = world
        .host
        .engine()
        .logs(&container.id, args.lines)
        .await
        .map_err(engine_error)?;
    out.write_all(text.as_bytes())?;
    Ok(Exit::SUCCESS)
}
