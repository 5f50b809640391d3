//! `hermes sandbox`: the operator's window on where commands run.
//!
//! Containers may be named by the beginning of their id or by their whole name.
//! What somebody uses is not taken away without `--force`.

mod change;
mod exec;
mod list;
mod world;

use change::Change;
use clap::Subcommand;

pub(crate) use exec::sandbox_error;
pub(crate) use world::Notices;

use crate::{CommandError, Context, Exit, Out};

#[derive(clap::Args, Debug)]
#[command(arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// List the containers of this home
    #[command(visible_alias = "list")]
    Ls(list::LsArgs),
    /// Show one container
    Show(list::ShowArgs),
    /// Run a command where the agent would
    Exec(exec::Args),
    /// Start containers that are stopped or paused
    Start(change::Args),
    /// Stop containers; their files stay
    Stop(change::Args),
    /// Stop and remove containers
    Rm(change::Args),
    /// Make the container anew with the settings of today
    Recreate(change::RecreateArgs),
    /// Remove what was left behind: containers that exited or never started
    Prune(change::PruneArgs),
    /// Show what a container's first process wrote
    Logs(list::LogsArgs),
}

pub(crate) fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let exit = runtime.block_on(async {
        match args.verb {
            Verb::Ls(args) => list::ls(&args, context, out).await,
            Verb::Show(args) => list::show(&args, context, out).await,
            Verb::Exec(args) => exec::run(args, context, out).await,
            Verb::Start(args) => change::each(Change::Start, &args, context, out).await,
            Verb::Stop(args) => change::each(Change::Stop, &args, context, out).await,
            Verb::Rm(args) => change::each(Change::Remove, &args, context, out).await,
            Verb::Recreate(args) => change::recreate(&args, context, out).await,
            Verb::Prune(args) => change::prune(&args, context, out).await,
            Verb::Logs(args) => list::logs(&args, context, out).await,
        }
    });
    // Whatever still runs in the background must not delay the exit.
    runtime.shutdown_background();
    exit
}
