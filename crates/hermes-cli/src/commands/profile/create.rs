//! `hermes profile create`.

use std::io::Write;
use std::path::Path;

use hermes_home::profile::{Contents, NewProfile};
use hermes_types::ProfileName;

use super::{alias, describe, profiles};
use crate::archive::copy_database;
use crate::{CommandError, Context, Exit, Out};

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Letters, digits, `-` and `_`, starting with a letter or digit
    name: String,

    /// Copy settings, keys, persona, memory and skills of another profile
    #[arg(long)]
    clone: bool,

    /// Copy everything of another profile, sessions included
    #[arg(long, conflicts_with = "clone")]
    clone_all: bool,

    /// The profile to copy; default: the current one
    #[arg(long, value_name = "PROFILE")]
    clone_from: Option<String>,

    /// Make no command in ~/.local/bin
    #[arg(long)]
    no_alias: bool,

    /// Start without bundled skills
    #[arg(long, conflicts_with_all = ["clone", "clone_all", "clone_from"])]
    no_skills: bool,

    /// What the profile is for
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
}

pub(super) fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let name = ProfileName::parse(&args.name)?;
    let source = match &args.clone_from {
        Some(source) => profiles(context).require(&ProfileName::parse(source)?)?,
        None => context.home.clone(),
    };
    let contents = if args.clone_all {
        Contents::Everything(source)
    } else if args.clone || args.clone_from.is_some() {
        Contents::Settings(source)
    } else {
        Contents::Empty
    };
    let new = NewProfile {
        name: name.clone(),
        contents,
        bundled_skills: !args.no_skills,
    };
    let home = profiles(context).create(&new, &copy_database)?;
    writeln!(out, "Profile {name} created at {}", home.path().display())?;
    if let Contents::Settings(source) | Contents::Everything(source) = &new.contents {
        writeln!(out, "Copied from {}.", source.profile_name())?;
    }
    if let Some(text) = &args.description {
        describe::write(&home, text)?;
    }
    let mut command = format!("hermes -p {name}");
    if !args.no_alias {
        // A name that is taken must not undo a profile that exists now.
        match alias::create(&name, &name, context) {
            Ok(made) => {
                writeln!(out, "Command {name} made at {}", home.display(&made.path))?;
                if made.on_search_path {
                    command = name.to_string();
                } else {
                    out.warning(&format!(
                        "{} is not on your PATH, so `{name}` is not found yet",
                        home.display(made.path.parent().unwrap_or(Path::new("")))
                    ));
                }
            }
            Err(error) => out.warning(&format!("no command was made: {}", error.error)),
        }
    }
    writeln!(out, "\nNext:")?;
    writeln!(out, "  {command} config edit   choose a model and keys")?;
    writeln!(out, "  {command} chat          start talking")?;
    if !home.env_file().is_file() {
        writeln!(
            out,
            "\nIt has no keys of its own yet; until then it uses those of your environment."
        )?;
    }
    Ok(Exit::SUCCESS)
}
