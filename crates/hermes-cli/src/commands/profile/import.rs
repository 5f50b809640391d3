//! `hermes profile import`: a profile from a file that somebody made.
//!
//! Promise: what is refused leaves nothing; what is accepted lands in its own
//! directory and nowhere else.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use hermes_types::ProfileName;

use super::{alias, profiles};
use crate::archive::unpack_tar_gz;
use crate::{CommandError, Context, Exit, Out};

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// A file made by `hermes profile export`
    archive: PathBuf,

    /// Name of the profile; default: the one in the file
    #[arg(long, value_name = "PROFILE")]
    name: Option<String>,
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let wanted = args.name.as_deref().map(ProfileName::parse).transpose()?;
    if !args.archive.is_file() {
        return Err(CommandError::user(format!(
            "there is no file {}",
            args.archive.display()
        )));
    }
    // What is made for the staging directory alone goes again when nothing comes of it.
    let (root, directory) = (context.home.root().to_owned(), context.home.profiles_dir());
    let new: Vec<PathBuf> = [directory, root]
        .into_iter()
        .filter(|path| !path.exists())
        .collect();
    let imported = import(args, wanted, context);
    if imported.is_err() {
        for path in new {
            let _ = fs::remove_file(path.join(".profiles.lock"));
            let _ = fs::remove_dir(path);
        }
    }
    let (name, path) = imported?;
    writeln!(out, "Profile {name} imported to {}", path.display())?;
    // A name that is taken must not undo a profile that exists now.
    match alias::create(&name, &name, context) {
        Ok(made) => writeln!(
            out,
            "Command {name} made at {}",
            context.home.display(&made.path)
        )?,
        Err(error) => out.warning(&format!("no command was made: {}", error.error)),
    }
    writeln!(
        out,
        "Keys do not travel: `hermes -p {name} auth add` stores yours."
    )?;
    Ok(Exit::SUCCESS)
}

fn import(
    args: &Args,
    wanted: Option<ProfileName>,
    context: &Context,
) -> Result<(ProfileName, PathBuf), CommandError> {
    let profiles = profiles(context);
    let staging = profiles.staging()?;
    let about = || format!("cannot import {}", args.archive.display());
    let top = unpack_tar_gz(&args.archive, staging.path())
        .map_err(|error| CommandError::user(error).context(about()))?;
    let [top] = top.as_slice() else {
        return Err(CommandError::user(format!(
            "{} does not hold one profile: at its top it has {}",
            args.archive.display(),
            if top.is_empty() {
                "nothing".to_owned()
            } else {
                top.join(", ")
            }
        )));
    };
    let staged = staging.path().join(top);
    if !staged.is_dir() {
        return Err(CommandError::user(format!(
            "{} holds the file {top} and no profile",
            args.archive.display()
        )));
    }
    let name = match wanted {
        Some(name) => name,
        None => ProfileName::parse(top)?,
    };
    let home = profiles.adopt(&name, &staged).map_err(|error| {
        let hint = "`--name NAME` imports it under another name";
        CommandError::from(error).hint(hint)
    })?;
    Ok((name, home.path().to_owned()))
}
