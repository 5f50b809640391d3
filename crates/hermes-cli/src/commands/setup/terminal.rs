//! Where commands run.

use std::io::Write;

use crate::commands::ask::{choose, item, line};
use crate::commands::model::Decision;
use crate::{CommandError, Context, Out};

pub(super) const BACKEND: &str = "terminal.backend";
pub(super) const HOST: &str = "terminal.ssh_host";
pub(super) const USER: &str = "terminal.ssh_user";

pub(super) fn section(context: &Context, out: &mut Out) -> Result<bool, CommandError> {
    let now = context.config()?.string(BACKEND)?;
    let place = |value: &str, label: &str, detail: &str| {
        let mark = if now == value { " (now)" } else { "" };
        item(value, &format!("{label}{mark}"), detail)
    };
    let mut items = vec![
        place(
            "local",
            "On this machine",
            "commands act on your files; dangerous ones are asked about",
        ),
        place(
            "docker",
            "In a container",
            "commands act inside; needs docker or podman",
        ),
        place("ssh", "On another machine", "through ssh, with your keys"),
    ];
    // What is set now is what Enter takes.
    items.sort_by_key(|item| item.value != now);
    let mut decision = Decision::default();
    let chosen = match choose("Where do commands run?", items)? {
        Some(chosen) if chosen != "ssh" || ask_host(context, &mut decision, out)? => chosen,
        _ => {
            writeln!(out, "Commands run where they ran before ({now}).")?;
            return Ok(false);
        }
    };
    if chosen != now {
        decision.set(BACKEND, chosen.as_str());
    }
    let stored = !decision.is_empty();
    decision.write(context)?;
    writeln!(out, "Commands run in: {chosen}")?;
    Ok(stored)
}

/// The machine and the user there; `false` when none is named.
fn ask_host(
    context: &Context,
    decision: &mut Decision,
    out: &mut Out,
) -> Result<bool, CommandError> {
    for (key, question) in [(HOST, "Name of the machine"), (USER, "User there")] {
        let now = context.config()?.optional_string(key)?.unwrap_or_default();
        let shown = match now.as_str() {
            "" => format!("{question}: "),
            now => format!("{question} [{now}]: "),
        };
        let Some(typed) = line(&shown, out)? else {
            return Ok(false);
        };
        match (typed.is_empty(), now.is_empty()) {
            (true, true) => return Ok(false),
            (true, false) => {}
            (false, _) => decision.set(key, typed.as_str()),
        }
    }
    Ok(true)
}
