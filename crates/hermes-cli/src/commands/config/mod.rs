//! `hermes config`: what is set, where it comes from, and how to change it.
//!
//! Looking (`show`, `get`, `path`, `env-path`, `check`, `edit`) works with a broken
//! `config.yaml` too and says so; changing (`set`, `unset`, `migrate`) refuses and
//! leaves the file as it is.

mod change;
mod check;
mod edit;
mod get;
mod migrate;
mod show;

use std::io::Write;

use clap::Subcommand;

use crate::{CommandError, Context, Exit, Out};

#[derive(clap::Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(flatten)]
    show: show::ShowArgs,

    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Show the settings that matter, or with --sources where each value comes from
    Show(show::ShowArgs),
    /// Print one value
    Get(get::Args),
    /// Set one key in config.yaml, or a credential in .env
    Set {
        /// Dotted key, such as `terminal.backend`, or a name such as `OPENROUTER_API_KEY`
        key: String,
        /// The new value; lists and maps as JSON
        #[arg(allow_hyphen_values = true)]
        value: String,

        /// Say nothing when it went well
        #[arg(long, short)]
        quiet: bool,

        /// No warning about a key that nothing reads
        #[arg(long, short)]
        force: bool,
    },
    /// Remove one key, so that its default holds again
    Unset {
        /// Dotted key, or the name of a credential
        key: String,
    },
    /// Print the path of config.yaml
    Path,
    /// Print the path of .env
    EnvPath,
    /// Open config.yaml in an editor
    Edit,
    /// Look for mistakes: types, unknown keys, old layout, missing credentials
    Check(check::Args),
    /// Bring config.yaml to the newest layout
    Migrate,
}

pub(crate) fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    match args.action {
        None => show::run(&args.show, context, out),
        Some(Action::Show(args)) => show::run(&args, context, out),
        Some(Action::Get(args)) => get::run(&args, context, out),
        Some(Action::Set {
            key,
            value,
            quiet,
            force,
        }) => {
            let manner = change::Manner { quiet, force };
            change::set(&key, &value, manner, context, out)
        }
        Some(Action::Unset { key }) => change::unset(&key, context, out),
        Some(Action::Path) => {
            writeln!(out, "{}", context.home.config_file().display())?;
            Ok(Exit::SUCCESS)
        }
        Some(Action::EnvPath) => {
            writeln!(out, "{}", context.home.env_file().display())?;
            Ok(Exit::SUCCESS)
        }
        Some(Action::Edit) => edit::run(context, out),
        Some(Action::Check(args)) => check::run(&args, context, out),
        Some(Action::Migrate) => migrate::run(context, out),
    }
}
