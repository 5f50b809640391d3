//! `hermes profile describe`: one sentence in `profile.yaml` that says what a
//! profile is for. The board offers it to whoever assigns tasks.

use std::io::Write;

use hermes_config::yaml;
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

/// Sets the description; other keys of the file stay.
pub(super) fn write(home: &Home, text: &str) -> Result<(), CommandError> {
    let path = home.join("profile.yaml");
    let mut map = facts::read_map(&path)?;
    map.insert("description".to_owned(), Value::from(text.trim()));
    map.insert("description_auto".to_owned(), Value::Bool(false));
    let content: String = map
        .iter()
        .map(|(key, value)| {
            format!(
                "{}:{}\n",
                yaml::render_key(key),
                yaml::block(value, 2, "\n")
            )
        })
        .collect();
    write_atomic(&path, content.as_bytes(), FileMode::Keep).map_err(|error| {
        CommandError::from(error).context(format!("cannot write {}", path.display()))
    })
}
