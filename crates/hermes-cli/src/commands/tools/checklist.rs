//! Switching groups of tools with a person.

use std::io::Write;

use hermes_tools::toolsets::{CONFIGURABLE, NOT_BUILT, PLATFORMS};
use serde_json::json;

use super::{is_listed, resolved, spelled_out};
use crate::commands::ask::{choose, item};
use crate::commands::model::Decision;
use crate::{CommandError, Context, Out};

const DONE: &str = "";

/// Where first, then what.
pub(super) fn ask(context: &Context, out: &mut Out) -> Result<(), CommandError> {
    let config = context.config()?;
    let mut items = Vec::new();
    for platform in PLATFORMS {
        let count = resolved(config, platform)?.toolsets.len();
        items.push(item(*platform, platform, &format!("{count} groups are on")));
    }
    match choose("Whose tools?", items)? {
        Some(platform) => checklist(&platform, context, out).map(drop),
        None => Ok(writeln!(out, "Nothing was changed.")?),
    }
}

/// Groups are switched one by one until the person is content. Returns whether
/// something was stored.
pub(crate) fn checklist(
    platform: &str,
    context: &Context,
    out: &mut Out,
) -> Result<bool, CommandError> {
    let before = spelled_out(context.config()?, platform)?;
    let mut on = before.clone();
    loop {
        let groups = CONFIGURABLE
            .iter()
            .filter(|entry| is_listed(entry.name, platform));
        let count = groups
            .clone()
            .filter(|entry| on.contains(entry.name))
            .count();
        let mut items = vec![item(
            DONE,
            "Keep it like this",
            &format!("{count} groups are on; Enter on a group switches it"),
        )];
        items.extend(groups.map(|entry| {
            let mark = if on.contains(entry.name) {
                "[x]"
            } else {
                "[ ]"
            };
            let detail = match NOT_BUILT.contains(&entry.name) {
                true => format!("{} (not built yet)", entry.label),
                false => entry.label.to_owned(),
            };
            item(entry.name, &format!("{mark} {}", entry.name), &detail)
        }));
        let title = match platform {
            "cli" => "Which tools does a chat have?".to_owned(),
            other => format!("Which tools does {other} have?"),
        };
        match choose(&title, items)? {
            Some(name) if name != DONE => {
                if !on.remove(&name) {
                    on.insert(name);
                }
            }
            Some(_) => break,
            None => {
                writeln!(out, "The tools stay as they are.")?;
                return Ok(false);
            }
        }
    }
    if on == before {
        writeln!(out, "The tools stay as they are.")?;
        return Ok(false);
    }
    let mut decision = Decision::default();
    decision.set(&format!("platform_toolsets.{platform}"), json!(on));
    decision.write(context)?;
    let changed = |from: &std::collections::BTreeSet<String>, to| {
        from.difference(to).cloned().collect::<Vec<_>>().join(", ")
    };
    for (word, names) in [
        ("Enabled", changed(&on, &before)),
        ("Disabled", changed(&before, &on)),
    ] {
        if !names.is_empty() {
            writeln!(out, "✓ {word}: {names}")?;
        }
    }
    Ok(true)
}
