//! Which groups of tools a chat has.

use std::io::Write;

use hermes_agent::build::{gates, mcp_servers, saved_toolsets};
use hermes_tools::toolsets::{CONFIGURABLE, platform_tools};
use serde_json::json;

use super::questions::{choose, item};
use super::set;
use crate::{CommandError, Context, Out};

const PLATFORM: &str = "cli";
const DONE: &str = "";

/// Groups are switched one by one until the person is content.
pub(super) fn section(context: &Context, out: &mut Out) -> Result<(), CommandError> {
    let config = context.config()?;
    let saved = saved_toolsets(config, PLATFORM);
    let tools = platform_tools(
        PLATFORM,
        saved.as_deref(),
        &mcp_servers(config),
        gates(config, false),
    );
    let mut on: Vec<String> = tools
        .toolsets
        .iter()
        .map(|name| (*name).to_owned())
        .collect();
    let before = on.clone();
    loop {
        let mut items = vec![item(
            DONE,
            "Keep it like this",
            &format!("{} groups are on", on.len()),
        )];
        items.extend(
            CONFIGURABLE
                .iter()
                .filter(|entry| !entry.name.starts_with("discord"))
                .map(|entry| {
                    let is_on = on.iter().any(|name| name == entry.name);
                    let mark = if is_on { "[x]" } else { "[ ]" };
                    item(entry.name, &format!("{mark} {}", entry.name), entry.label)
                }),
        );
        match choose("Which tools does a chat have?", items)? {
            Some(name) if name != DONE => match on.iter().position(|known| *known == name) {
                Some(at) => drop(on.remove(at)),
                None => on.push(name),
            },
            Some(_) => break,
            None => return Ok(()),
        }
    }
    if on != before {
        on.sort();
        set(context, &format!("platform_toolsets.{PLATFORM}"), json!(on))?;
    }
    writeln!(out, "Tools: {} groups", on.len())?;
    Ok(())
}

fn names(text: &str) -> Vec<&str> {
    text.split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect()
}

pub(super) fn check(text: &str) -> Result<(), CommandError> {
    for name in names(text) {
        if !CONFIGURABLE.iter().any(|entry| entry.name == name) {
            return Err(CommandError::usage(format!("unknown toolset {name:?}"))
                .hint("`hermes tools list` shows what there is"));
        }
    }
    Ok(())
}

pub(super) fn store(text: &str, context: &Context) -> Result<(), CommandError> {
    set(
        context,
        &format!("platform_toolsets.{PLATFORM}"),
        json!(names(text)),
    )
}
