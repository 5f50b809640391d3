//! How the agent works and what one sees of it.

use std::io::Write;

use crate::commands::ask::{choose, item, line};
use crate::commands::model::Decision;
use crate::{CommandError, Context, Out};

const LEFT: &str = "The agent stays as it is.";

pub(super) fn section(context: &Context, out: &mut Out) -> Result<bool, CommandError> {
    let mut decision = Decision::default();
    if !steps(context, &mut decision, out)?
        || !pick(
            context,
            &mut decision,
            "display.tool_progress",
            "How much of the tools' work is shown?",
            &[
                ("all", "One line per call", ""),
                ("new", "One line, without repetitions", ""),
                ("verbose", "Lines and results", ""),
                ("off", "Nothing", ""),
            ],
        )?
        || !pick(
            context,
            &mut decision,
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
        )?
    {
        writeln!(out, "{LEFT}")?;
        return Ok(false);
    }
    let stored = !decision.is_empty();
    decision.write(context)?;
    writeln!(out, "The agent is set up.")?;
    Ok(stored)
}

/// Asked again until it is a number; `false` when the person leaves.
fn steps(context: &Context, decision: &mut Decision, out: &mut Out) -> Result<bool, CommandError> {
    let now = context.config()?.integer("agent.max_turns")?;
    loop {
        let question = format!("How many steps may one turn take? [{now}]: ");
        let Some(typed) = line(&question, out)? else {
            return Ok(false);
        };
        match typed.parse::<u32>() {
            _ if typed.is_empty() => return Ok(true),
            Ok(steps) if steps > 0 => {
                if i64::from(steps) != now {
                    decision.set("agent.max_turns", steps);
                }
                return Ok(true);
            }
            _ => writeln!(out, "`{typed}` is no number of steps, such as 90.")?,
        }
    }
}

/// A key with a few values, the present one first; `false` when the person leaves.
fn pick(
    context: &Context,
    decision: &mut Decision,
    key: &str,
    title: &str,
    values: &[(&str, &str, &str)],
) -> Result<bool, CommandError> {
    let now = context.config()?.string(key)?;
    let mut items: Vec<_> = values
        .iter()
        .map(|(value, label, detail)| {
            let mark = if *value == now { " (now)" } else { "" };
            item(*value, &format!("{label}{mark}"), detail)
        })
        .collect();
    items.sort_by_key(|item| item.value != now);
    let Some(chosen) = choose(title, items)? else {
        return Ok(false);
    };
    if chosen != now {
        decision.set(key, chosen.as_str());
    }
    Ok(true)
}
