//! `hermes profile delete`.

use std::fs;
use std::io::{self, BufRead, Write};

use hermes_home::profile::Wrappers;
use hermes_home::{Home, ProfileError};
use hermes_process::{Command, Limits, output_blocking};
use hermes_types::ProfileName;

use super::{Facts, profiles};
use crate::gateway_process;
use crate::{CommandError, Context, Exit, Out};

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The profile
    #[arg(value_name = "PROFILE")]
    name: String,

    /// Do not ask
    #[arg(short = 'y', long)]
    yes: bool,
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let name = ProfileName::parse(&args.name)?;
    if name.is_default() {
        return Err(ProfileError::DefaultProfile { action: "deleted" }.into());
    }
    let home = profiles(context).require(&name)?;
    let facts = Facts::gather(&name, context);
    let wrappers = Wrappers::new(&home, &context.environment);

    writeln!(out, "Profile {name} at {}", home.path().display())?;
    writeln!(out, "Deleting it removes, for good:")?;
    writeln!(
        out,
        "  settings, keys, memory, sessions, schedules and {} skills",
        facts.skills
    )?;
    if let Some(pid) = facts.gateway.pid {
        writeln!(out, "  its running gateway (pid {pid})")?;
    }
    if let Some(alias) = &facts.alias {
        writeln!(
            out,
            "  the command {}",
            home.display(&wrappers.directory().join(alias))
        )?;
    }
    if !args.yes && !confirmed(&name, out)? {
        return Err(CommandError::user("nothing was deleted"));
    }

    remove_service(&home, out)?;
    if gateway_process::stop(&home)? {
        writeln!(out, "Gateway stopped.")?;
    }
    if let Some(alias) = facts
        .alias
        .and_then(|alias| ProfileName::parse(&alias).ok())
    {
        wrappers.remove(&alias)?;
    }
    profiles(context).delete(&name)?;
    writeln!(out, "Profile {name} deleted.")?;
    Ok(Exit::SUCCESS)
}

/// The name itself must be typed; a stray `y` deletes nothing.
fn confirmed(name: &ProfileName, out: &mut Out) -> Result<bool, CommandError> {
    write!(out, "Type the name to go on: ")?;
    out.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(answer.trim() == name.as_str())
}

fn remove_service(home: &Home, out: &mut Out) -> Result<(), CommandError> {
    let Some((unit, path)) = gateway_process::user_service(home) else {
        return Ok(());
    };
    let systemctl = |words: &[&str]| {
        let command = Command::new("systemctl").arg("--user").args(words.to_vec());
        // Without a running manager there is nothing to stop; the file goes anyway.
        let _ = output_blocking(command, Limits::seconds(15));
    };
    systemctl(&["disable", "--now", &unit]);
    fs::remove_file(&path).map_err(|error| {
        CommandError::from(error).context(format!("cannot remove {}", path.display()))
    })?;
    systemctl(&["daemon-reload"]);
    writeln!(out, "Service {unit} removed.")?;
    Ok(())
}
