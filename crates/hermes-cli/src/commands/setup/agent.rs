//! How the agent works and what one sees of it.

use std::io::Write;

use super::questions::{choose, item, line};
use super::set;
use crate::{CommandError, Context, Out};

pub(super) fn section(context: &Context, out: &mut Out) -> Result<(), CommandError> {
    let now = context.config()?.integer("agent.max_turns")?;
    let typed = line(&format!("How many steps may one turn take? [{now}]: "), out)?;
    match typed.parse::<u32>() {
        _ if typed.is_empty() => {}
        Ok(steps) if steps > 0 => set(context, "agent.max_turns", steps.into())?,
        _ => writeln!(out, "`{typed}` is no number of steps; it stays {now}.")?,
    }
    pick(
        context,
        "display.tool_progress",
        "How much of the tools' work is shown?",
        &[
            ("all", "One line per call", ""),
            ("new", "One line, without repetitions", ""),
            ("verbose", "Lines and results", ""),
            ("off", "Nothing", ""),
        ],
    )?;
    pick(
        context,
        "approvals.mode",
        "Who decides about dangerous commands?",
        &[
            ("manual", "You are asked", ""),
            ("smart", "A model decides, and asks you when in doubt", ""),
            (
                "off",
                "Nobody: everything runs",
                "only where nothing can be lost",
            ),
        ],
    )?;
    writeln!(out, "The agent is set up.")?;
    Ok(())
}

/// A key with a few values; the present one first.
fn pick(
    context: &Context,
    key: &str,
    title: &str,
    values: &[(&str, &str, &str)],
) -> Result<(), CommandError> {
    let now = context.config()?.string(key)?;
    let mut items: Vec<_> = values
        .iter()
        .map(|(value, label, detail)| {
            let mark = if *value == now { " (now)" } else { "" };
            item(value, &format!("{label}{mark}"), detail)
        })
        .collect();
    items.sort_by_key(|item| item.value != now);
    match choose(title, items)? {
        Some(chosen) if chosen != now => set(context, key, chosen.as_str().into()),
        _ => Ok(()),
    }
}
