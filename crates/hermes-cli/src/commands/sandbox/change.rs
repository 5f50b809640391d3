//! Taking and giving: `start`, `stop`, `rm`, `recreate`, `prune`.

use std::time::Duration;

use hermes_sandbox::docker::{Container, Leased, Scope, reap};

use super::world::{World, docker_error, engine_error};
use crate::{CommandError, Context, Exit, Out};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Beginnings of ids, or names
    #[arg(
        value_name = "ID",
        required_unless_present = "all",
        conflicts_with = "all"
    )]
    containers: Vec<String>,

    /// Every container of this home and profile
    #[arg(long)]
    all: bool,

    /// Also what other processes are using
    #[arg(long, short)]
    force: bool,
}

#[derive(clap::Args, Debug)]
pub(crate) struct RecreateArgs {
    /// Also when other processes are using it
    #[arg(long, short)]
    force: bool,
}

#[derive(clap::Args, Debug)]
pub(crate) struct PruneArgs {
    /// Only what has lain idle for this many hours [default: twice the lifetime of an idle environment]
    #[arg(long, value_name = "H")]
    older_than: Option<f64>,

    /// Say what would go, and leave it
    #[arg(long)]
    dry_run: bool,
}

fn leased(force: bool) -> Leased {
    if force { Leased::Take } else { Leased::Refuse }
}

async fn chosen(world: &World, args: &Args) -> Result<Vec<Container>, CommandError> {
    if args.all {
        let all = world.inventory().containers(Scope::Own).await;
        return all.map_err(engine_error);
    }
    let mut chosen: Vec<Container> = Vec::new();
    for text in &args.containers {
        let container = world.one(text).await?;
        if !chosen.iter().any(|other| other.id == container.id) {
            chosen.push(container);
        }
    }
    Ok(chosen)
}

/// What is done to each of the chosen containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Start,
    Stop,
    Remove,
}

pub(crate) async fn each(
    change: Change,
    args: &Args,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let world = World::new(context, out)?;
    for container in chosen(&world, args).await? {
        let inventory = world.inventory();
        let done = match change {
            Change::Start => inventory.start(&container).await,
            Change::Stop => inventory.stop(&container, leased(args.force)).await,
            Change::Remove => inventory.remove(&container, leased(args.force)).await,
        };
        done.map_err(docker_error)?;
        out.line(container.id.short())?;
    }
    Ok(Exit::SUCCESS)
}

pub(crate) async fn recreate(
    args: &RecreateArgs,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let world = World::new(context, out)?;
    let made = world.inventory().recreate(leased(args.force)).await;
    world.notices.tell(out);
    out.line(made.map_err(docker_error)?.short())?;
    Ok(Exit::SUCCESS)
}

pub(crate) async fn prune(
    args: &PruneArgs,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let world = World::new(context, out)?;
    let limit = match args.older_than {
        None => reap::threshold(world.config.plan.life.lifetime),
        Some(hours) => Duration::try_from_secs_f64(hours * 3600.0).map_err(|_| {
            CommandError::usage(format!("`--older-than {hours}` is not a number of hours"))
        })?,
    };
    let inventory = world.inventory();
    let mut failed = false;
    for container in inventory.leftovers(limit).await.map_err(engine_error)? {
        if !args.dry_run
            && let Err(error) = inventory.prune(&container).await
        {
            out.warning(&format!("{}: {error}", container.id));
            failed = true;
            continue;
        }
        out.line(&format!(
            "{} {}",
            container.id.short(),
            container.state.as_str()
        ))?;
    }
    Ok(if failed { Exit::FAILURE } else { Exit::SUCCESS })
}
