//! `hermes backup` and `hermes import`: all homes in one file, and back.

pub(crate) mod quick;
mod restore;
mod whole;

use std::path::PathBuf;

use crate::{CommandError, Context, Exit, Out};

pub(crate) use restore::{Args as ImportArgs, run as import};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The file to write; default: ~/hermes-backup-TIME.zip
    #[arg(short, long, value_name = "FILE", conflicts_with = "quick")]
    output: Option<PathBuf>,

    /// Only copy the files that matter most, into state-snapshots/ of this profile
    #[arg(short, long)]
    quick: bool,

    /// A word that goes into the name of the quick copy
    #[arg(short, long, value_name = "TEXT", requires = "quick")]
    label: Option<String>,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    if args.quick {
        quick::run(args.label.as_deref(), context, out)
    } else {
        whole::run(args.output.as_deref(), context, out)
    }
}
