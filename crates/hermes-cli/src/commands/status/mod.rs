//! `hermes status`: what this profile is set up to do, and what runs for it. Looks
//! at this home's files only; the network only with `--deep`.

mod gather;

use std::io::Write;

use crate::{CommandError, Context, Exit, Out};

pub(super) use gather::Status;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Everything, with all secrets and addresses left out: safe to share
    #[arg(long)]
    all: bool,

    /// Also ask the configured model server whether it is there
    #[arg(long)]
    deep: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let config = context.config_or_defaults(out)?;
    let mut status = Status::gather(context, &config, args.deep);
    if args.all {
        status.hide_secrets();
    }
    if args.json {
        out.json(&status)?;
    } else {
        print(&status, args.all, out)?;
    }
    Ok(Exit::SUCCESS)
}

fn print(status: &Status, all: bool, out: &mut Out) -> Result<(), CommandError> {
    let mut page = Page { out, first: true };
    page.section("Profile")?;
    page.fact("Name", &status.profile)?;
    page.fact("Home", &status.home)?;
    page.fact("Version", status.version)?;
    page.fact(
        "Config",
        match (status.config_file, &status.config_error) {
            (_, Some(_)) => "config.yaml cannot be read; what follows does not know it",
            (true, None) => "config.yaml",
            (false, None) => "defaults, no config.yaml",
        },
    )?;
    page.mark(
        ".env",
        status.env_file,
        if status.env_file {
            "exists"
        } else {
            "not configured"
        },
    )?;

    page.section("Model")?;
    let known = status.config_error.is_none();
    let or = |text: &Option<String>, other: &str| match (text, known) {
        (Some(text), _) => text.clone(),
        (None, true) => other.to_owned(),
        (None, false) => "unknown".to_owned(),
    };
    page.fact("Model", &or(&status.model, "not configured"))?;
    page.fact(
        "Provider",
        &or(&status.provider, "chosen by the model's name"),
    )?;
    if let Some(endpoint) = &status.endpoint {
        page.fact("Server", &endpoint.url)?;
        match (&endpoint.status, &endpoint.error) {
            (Some(code), _) => page.mark("Reached", true, &format!("answers with {code}"))?,
            (None, Some(error)) => page.mark("Reached", false, error)?,
            (None, None) => {}
        }
    }

    page.section("Keys")?;
    let (set, unset): (Vec<_>, Vec<_>) = status.keys.iter().partition(|key| key.masked.is_some());
    if set.is_empty() {
        page.fact("None", "no key is set in .env or the environment")?;
    }
    for key in set {
        page.mark(&key.name, true, key.masked.as_deref().unwrap_or_default())?;
    }
    if all {
        for key in unset {
            page.mark(&key.name, false, "not set")?;
        }
    }

    page.section("Terminal")?;
    page.fact("Backend", status.backend())?;
    for (name, value) in &status.terminal.details {
        page.fact(name, value)?;
    }
    page.mark(
        "Sudo",
        status.terminal.sudo,
        if status.terminal.sudo {
            "password set"
        } else {
            "disabled"
        },
    )?;

    page.section("Messaging")?;
    for platform in status
        .platforms
        .iter()
        .filter(|platform| platform.configured || all)
    {
        let text = match (&platform.home_channel, platform.configured) {
            (Some(channel), true) => format!("configured, home channel {channel}"),
            (None, true) => "configured".to_owned(),
            (_, false) => "not configured".to_owned(),
        };
        page.mark(platform.name, platform.configured, &text)?;
    }
    if status.platforms.iter().all(|platform| !platform.configured) && !all {
        page.fact("None", "no platform is configured")?;
    }

    page.section("Running")?;
    page.mark("Gateway", status.gateway.running, &status.gateway.text())?;
    let jobs = &status.jobs;
    page.fact(
        "Jobs",
        &format!("{} active, {} total", jobs.active, jobs.total),
    )?;
    let sessions = &status.sessions;
    page.fact(
        "Sessions",
        &match sessions.stored {
            Some(stored) => format!("{} active, {stored} stored", sessions.active),
            None => format!("{} active, state.db cannot be read", sessions.active),
        },
    )?;
    writeln!(page.out, "\n`hermes doctor` looks for problems.")?;
    Ok(())
}

struct Page<'a> {
    out: &'a mut Out,
    first: bool,
}

impl Page<'_> {
    fn section(&mut self, title: &str) -> Result<(), CommandError> {
        if !self.first {
            writeln!(self.out)?;
        }
        self.first = false;
        let title = self.out.style().heading(title);
        writeln!(self.out, "{title}")?;
        Ok(())
    }

    fn fact(&mut self, name: &str, text: &str) -> Result<(), CommandError> {
        writeln!(self.out, "    {name:<20} {text}")?;
        Ok(())
    }

    fn mark(&mut self, name: &str, good: bool, text: &str) -> Result<(), CommandError> {
        let style = self.out.style();
        let mark = if good {
            style.good("✓")
        } else {
            style.faint("✗")
        };
        writeln!(self.out, "  {mark} {name:<20} {text}")?;
        Ok(())
    }
}
