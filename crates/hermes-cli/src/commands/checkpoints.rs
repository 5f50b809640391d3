//! `hermes checkpoints`: how much room the snapshots of `/rollback` take, and making
//! it less.

use std::io::Write;
use std::time::Duration;

use clap::Subcommand;
use hermes_tools::checkpoint::{CheckpointError, CheckpointStore, PruneRules};

use super::confirm::confirm;
use crate::wiring::checkpoint_store;
use crate::{CommandError, Context, Exit, Out};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Show sizes and projects
    #[command(visible_alias = "list")]
    Status(StatusArgs),
    /// Forget projects that are gone or unused, and collect what nobody refers to
    Prune(PruneArgs),
    /// Delete all snapshots of all projects
    Clear(ClearArgs),
    /// Delete what older versions left behind
    ClearLegacy(ClearArgs),
}

#[derive(clap::Args, Debug)]
struct StatusArgs {
    /// Most projects to show
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

impl Default for StatusArgs {
    fn default() -> Self {
        Self { limit: 20 }
    }
}

#[derive(clap::Args, Debug)]
struct PruneArgs {
    /// Forget projects that were not used for so many days [default: checkpoints.retention_days]
    #[arg(long, value_name = "DAYS")]
    retention_days: Option<u64>,

    /// Largest size of all snapshots, 0 for any [default: checkpoints.max_total_size_mb]
    #[arg(long, value_name = "MB")]
    max_size_mb: Option<u64>,

    /// Keep projects whose directory is gone
    #[arg(long)]
    keep_orphans: bool,
}

#[derive(clap::Args, Debug)]
struct ClearArgs {
    /// Do not ask
    #[arg(short = 'f', long)]
    force: bool,
}

pub(crate) fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let store = checkpoint_store(context);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        match args.action.unwrap_or(Action::Status(StatusArgs::default())) {
            Action::Status(args) => status(&args, &store, context, out).await,
            Action::Prune(args) => prune(&args, &store, context, out).await,
            Action::Clear(args) => clear(&args, &store, out).await,
            Action::ClearLegacy(args) => clear_legacy(&args, &store, out).await,
        }
    })
}

async fn status(
    args: &StatusArgs,
    store: &CheckpointStore,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let sizes = store.sizes();
    let projects = store.projects().await.map_err(failed)?;
    writeln!(out, "Checkpoint base: {}", store.base().display())?;
    writeln!(out, "Total size:      {}", size(sizes.total))?;
    writeln!(out, "  store/         {}", size(sizes.store))?;
    writeln!(out, "  legacy-*       {}", size(sizes.legacy))?;
    writeln!(out, "Projects:        {}", projects.len())?;
    if projects.is_empty() {
        return Ok(Exit::SUCCESS);
    }
    let now = context.clock.unix_seconds();
    writeln!(
        out,
        "\n  {:<60}  {:>7}  {:>12}  STATE",
        "WORKDIR", "COMMITS", "LAST TOUCH"
    )?;
    for row in projects.iter().take(args.limit) {
        let directory = match &row.directory {
            Some(path) => path.display().to_string(),
            None => format!("({})", row.hash),
        };
        writeln!(
            out,
            "  {:<60}  {:>7}  {:>12}  {}",
            end_of(&directory, 60),
            row.commits,
            row.last_touch
                .map_or_else(|| "-".to_owned(), |at| ago(now - at)),
            if row.is_live() { "live" } else { "orphan" }
        )?;
    }
    if projects.len() > args.limit {
        writeln!(out, "  … and {} more", projects.len() - args.limit)?;
    }
    Ok(Exit::SUCCESS)
}

async fn prune(
    args: &PruneArgs,
    store: &CheckpointStore,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let settings = hermes_tools::checkpoint::CheckpointSettings::read(context.config()?)?;
    let mut rules = PruneRules::from(&settings);
    if let Some(days) = args.retention_days {
        rules.retention = Duration::from_secs(days.saturating_mul(86_400));
    }
    if let Some(most) = args.max_size_mb {
        rules.max_total_bytes = Some(most.saturating_mul(1 << 20)).filter(|bytes| *bytes > 0);
    }
    rules.delete_orphans &= !args.keep_orphans;
    let done = store.prune(&rules).await.map_err(failed)?;
    writeln!(out, "Scanned:         {}", done.scanned)?;
    writeln!(out, "Deleted orphan:  {}", done.orphans)?;
    writeln!(out, "Deleted stale:   {}", done.stale)?;
    writeln!(out, "Errors:          {}", done.errors)?;
    writeln!(out, "Bytes reclaimed: {}", size(done.bytes))?;
    Ok(match done.errors {
        0 => Exit::SUCCESS,
        _ => Exit::FAILURE,
    })
}

async fn clear(
    args: &ClearArgs,
    store: &CheckpointStore,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let sizes = store.sizes();
    if !store.base().is_dir() {
        writeln!(out, "There are no checkpoints.")?;
        return Ok(Exit::SUCCESS);
    }
    let question = format!(
        "Delete all checkpoints of all projects in {} ({})? Nothing can be rolled back afterwards.",
        store.base().display(),
        size(sizes.total)
    );
    if !confirm(&question, args.force, out)? {
        return Err(not_confirmed());
    }
    let bytes = store.clear().await.map_err(failed)?;
    writeln!(out, "Deleted {}.", size(bytes))?;
    Ok(Exit::SUCCESS)
}

async fn clear_legacy(
    args: &ClearArgs,
    store: &CheckpointStore,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let sizes = store.sizes();
    if sizes.legacy_directories == 0 {
        writeln!(out, "Older versions left nothing behind.")?;
        return Ok(Exit::SUCCESS);
    }
    let question = format!(
        "Delete {} that older versions left behind?",
        size(sizes.legacy)
    );
    if !confirm(&question, args.force, out)? {
        return Err(not_confirmed());
    }
    let bytes = store.clear_legacy().await.map_err(failed)?;
    writeln!(out, "Deleted {}.", size(bytes))?;
    Ok(Exit::SUCCESS)
}

fn not_confirmed() -> CommandError {
    CommandError::user("not confirmed, nothing was changed")
        .hint("`--force` answers the question in advance")
}

pub(crate) fn failed(error: CheckpointError) -> CommandError {
    CommandError::user(error)
}

/// `0 B`, `30.0 KB`
fn size(bytes: u64) -> String {
    let text = crate::output::human::bytes(bytes);
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    format!("{digits} {}", &text[digits.len()..])
}

fn ago(seconds: f64) -> String {
    let seconds = seconds.max(0.0) as u64;
    match seconds {
        0..60 => format!("{seconds}s ago"),
        60..3600 => format!("{}m ago", seconds / 60),
        3600..86_400 => format!("{}h ago", seconds / 3600),
        _ => format!("{}d ago", seconds / 86_400),
    }
}

/// The last characters: a path is told apart by its end.
fn end_of(text: &str, most: usize) -> String {
    let count = text.chars().count();
    match count > most {
        true => format!(
            "…{}",
            text.chars().skip(count - most + 1).collect::<String>()
        ),
        false => text.to_owned(),
    }
}
