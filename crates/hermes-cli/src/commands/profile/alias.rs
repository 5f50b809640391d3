//! `hermes profile alias`: a command of its own for a profile.

use std::io::Write;
use std::path::PathBuf;

use hermes_home::profile::Wrappers;
use hermes_types::ProfileName;

use super::profiles;
use crate::{CommandError, Context, Exit, Out, cli};

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The profile
    profile: String,

    /// Name of the command; default: the profile's
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Remove the command instead
    #[arg(long)]
    remove: bool,
}

pub(super) struct Made {
    pub(super) path: PathBuf,
    pub(super) on_search_path: bool,
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let profile = ProfileName::parse(&args.profile)?;
    let home = profiles(context).require(&profile)?;
    let wrappers = Wrappers::new(&home, &context.environment);
    let alias = match &args.name {
        Some(name) => ProfileName::parse(name)?,
        None if args.remove => match wrappers.alias_of(&profile) {
            Some(alias) => ProfileName::parse(&alias)?,
            None => profile.clone(),
        },
        None => profile.clone(),
    };
    if args.remove {
        if !wrappers.remove(&alias)? {
            return Err(CommandError::user(format!(
                "there is no command {alias} of ours"
            )));
        }
        writeln!(out, "Command {alias} removed.")?;
        return Ok(Exit::SUCCESS);
    }
    let made = create(&alias, &profile, context)?;
    writeln!(out, "Command {alias} made at {}", home.display(&made.path))?;
    if !made.on_search_path {
        out.warning(&format!(
            "{} is not on your PATH, so `{alias}` is not found yet",
            home.display(wrappers.directory())
        ));
    }
    Ok(Exit::SUCCESS)
}

pub(super) fn create(
    alias: &ProfileName,
    profile: &ProfileName,
    context: &Context,
) -> Result<Made, CommandError> {
    let wrappers = Wrappers::new(&context.home, &context.environment);
    let verbs: Vec<String> = cli::command()
        .get_subcommands()
        .map(|verb| verb.get_name().to_owned())
        .collect();
    wrappers.check(alias, &verbs)?;
    let path = wrappers.create(alias, profile)?;
    Ok(Made {
        path,
        on_search_path: wrappers.on_search_path(),
    })
}
