//! `hermes doctor`: looks for what is wrong with this home and its surroundings,
//! says how to mend it, and mends what it can with `--fix`.
//!
//! Exit 0 when all is well or only warnings remain, 1 when something is broken.

mod advisories;
mod config;
mod findings;
mod home;
mod surroundings;

use std::io::Write;

use findings::{Findings, State};

use crate::output::wrap;
use crate::{CommandError, Context, Exit, Out};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Mend what can be mended
    #[arg(long)]
    fix: bool,

    /// Note that a security notice was read
    #[arg(long, value_name = "ID")]
    ack: Option<String>,

    /// Stay away from the network
    #[arg(long)]
    offline: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    if let Some(id) = &args.ack {
        return advisories::acknowledge(id, advisories::ADVISORIES, context, out);
    }
    let mut findings = Findings::new(args.fix);
    home::check(context, &mut findings);
    let config = config::check(context, &mut findings);
    advisories::check(advisories::ADVISORIES, &config, &mut findings);
    home::check_database(context, &mut findings);
    home::check_profiles(context, &mut findings);
    surroundings::check(context, &config, !args.offline, &mut findings);

    if args.json {
        out.json(&findings)?;
    } else {
        print(&findings, context, out)?;
    }
    Ok(if findings.count(State::Bad) > 0 {
        Exit::FAILURE
    } else {
        Exit::SUCCESS
    })
}

fn print(findings: &Findings, context: &Context, out: &mut Out) -> Result<(), CommandError> {
    let style = out.style();
    writeln!(
        out,
        "Profile {} in {}",
        context.home.profile_name(),
        context.home.display(context.home.path())
    )?;
    let mut group = "";
    for finding in &findings.checks {
        if finding.group != group {
            group = finding.group;
            writeln!(out, "\n{}", style.heading(group))?;
        }
        let mark = match finding.state {
            State::Good => style.good("✓"),
            State::Fixed => style.good("✓ mended:"),
            State::Warning => style.warning("⚠"),
            State::Bad => style.bad("✗"),
        };
        let width = out.width().saturating_sub(4);
        writeln!(out, "  {mark} {}", wrap(&finding.text, width, "    "))?;
    }
    let open: Vec<_> = findings
        .checks
        .iter()
        .filter(|finding| matches!(finding.state, State::Warning | State::Bad))
        .collect();
    writeln!(out)?;
    if open.is_empty() {
        writeln!(out, "All is well.")?;
        return Ok(());
    }
    writeln!(out, "{}", style.heading("What to do"))?;
    for (number, finding) in open.iter().enumerate() {
        let remedy = finding.remedy.as_deref().unwrap_or(&finding.text);
        let width = out.width().saturating_sub(5);
        writeln!(out, "  {}. {}", number + 1, wrap(remedy, width, "     "))?;
    }
    if open.iter().any(|finding| finding.fixable) {
        writeln!(out, "\n`hermes doctor --fix` mends what it can.")?;
    }
    Ok(())
}
