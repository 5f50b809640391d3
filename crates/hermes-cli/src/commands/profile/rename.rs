//! `hermes profile rename`.

use std::io::Write;

use hermes_home::profile::Wrappers;
use hermes_types::ProfileName;

use super::{alias, profiles};
use crate::gateway_process;
use crate::{CommandError, Context, Exit, Out};

pub(super) fn run(
    old: &str,
    new: &str,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let (old, new) = (ProfileName::parse(old)?, ProfileName::parse(new)?);
    let before = profiles(context).require(&old)?;
    let wrappers = Wrappers::new(&before, &context.environment);
    let alias_before = wrappers.alias_of(&old);
    if gateway_process::stop(&before)? {
        writeln!(out, "Gateway stopped.")?;
    }
    let home = profiles(context).rename(&old, &new)?;
    writeln!(
        out,
        "Profile {old} is now {new}, at {}",
        home.path().display()
    )?;
    if let Some(before) = alias_before.and_then(|alias| ProfileName::parse(&alias).ok()) {
        // A command with a name of its own keeps it; one named like the profile follows.
        let after = if before == old {
            new.clone()
        } else {
            before.clone()
        };
        wrappers.remove(&before)?;
        match alias::create(&after, &new, context) {
            Ok(_) => writeln!(out, "Command {before} is now {after}.")?,
            Err(error) => {
                out.warning(&format!(
                    "command {before} removed, none made: {}",
                    error.error
                ));
            }
        }
    }
    Ok(Exit::SUCCESS)
}
