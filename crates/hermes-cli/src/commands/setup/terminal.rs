//! Where commands run.

use std::io::Write;

use super::questions::{choose, item, line};
use super::set;
use crate::{CommandError, Context, Out};

pub(super) fn section(context: &Context, out: &mut Out) -> Result<(), CommandError> {
    let now = context.config()?.string("terminal.backend")?;
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
    let Some(chosen) = choose("Where do commands run?", items)? else {
        return Ok(());
    };
    if chosen == "ssh" && !ask_host(context, out)? {
        writeln!(out, "Commands run where they ran before.")?;
        return Ok(());
    }
    if chosen != now {
        set(context, "terminal.backend", chosen.as_str().into())?;
    }
    writeln!(out, "Commands run in: {chosen}")?;
    Ok(())
}

/// The machine and the user there; `false` when none is named.
fn ask_host(context: &Context, out: &mut Out) -> Result<bool, CommandError> {
    for (key, question) in [
        ("terminal.ssh_host", "Name of the machine"),
        ("terminal.ssh_user", "User there"),
    ] {
        let now = context.config()?.optional_string(key)?.unwrap_or_default();
        let shown = match now.as_str() {
            "" => format!("{question}: "),
            now => format!("{question} [{now}]: "),
        };
        let typed = line(&shown, out)?;
        match (typed.is_empty(), now.is_empty()) {
            (true, true) => return Ok(false),
            (true, false) => {}
            (false, _) => set(context, key, typed.as_str().into())?,
        }
    }
    Ok(true)
}
