//! `hermes profile describe`: one sentence in `profile.yaml` that says what a
//! profile is for. The board offers it to whoever assigns tasks.

use std::fs;
use std::io::{self, Write};

use hermes_config::edit;
use hermes_home::{FileMode, Home, write_atomic};
use hermes_types::ProfileName;
use serde_json::Value;

use super::super::not_built;
use super::{facts, profiles};
use crate::{CommandError, Context, Exit, Out};

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The profile; default: the current one
    #[arg(value_name = "PROFILE")]
    name: Option<String>,

    /// Set the description
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["auto", "overwrite", "all"])]
    text: Option<String>,

    /// Let the model write it
    #[arg(long)]
    auto: bool,

    /// With --auto: replace what a person wrote
    #[arg(long, requires = "auto")]
    overwrite: bool,

    /// With --auto: every profile
    #[arg(long, requires = "auto", conflicts_with = "name")]
    all: bool,
}

pub(super) fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    if args.auto {
        return Err(not_built("profile describe --auto"));
    }
    let name = match &args.name {
        Some(name) => ProfileName::parse(name)?,
        None => ProfileName::parse(&context.home.profile_name())?,
    };
    let home = profiles(context).require(&name)?;
    if let Some(text) = &args.text {
        write(&home, text)?;
        writeln!(out, "Description of {name} updated.")?;
        return Ok(Exit::SUCCESS);
    }
    match facts::description(&home)? {
        Some(text) => writeln!(out, "{text}")?,
        None => writeln!(
            out,
            "Profile {name} has no description; set one with `hermes profile describe {name} --text …`."
        )?,
    }
    Ok(Exit::SUCCESS)
}

/// Sets the description; everything else in the file stays.
pub(super) fn write(home: &Home, text: &str) -> Result<(), CommandError> {
    let path = home.join("profile.yaml");
    // Refuses what is not a map before anything is written.
    facts::read_map(&path)?;
    let before = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        text => text?,
    };
    let after = edit::set(&before, "description", &Value::from(text.trim()))
        .and_then(|text| edit::set(&text, "description_auto", &Value::Bool(false)))
        .map_err(|_| {
            CommandError::user(format!(
                "{} is written in a way that cannot be changed line by line",
                path.display()
            ))
            .hint("change `description` in it by hand")
        })?;
    write_atomic(&path, after.as_bytes(), FileMode::Keep).map_err(|error| {
        CommandError::from(error).context(format!("cannot write {}", path.display()))
    })
}
