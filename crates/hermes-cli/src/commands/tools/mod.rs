//! `hermes tools`: which groups of tools a platform gets.

mod checklist;

use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};

use clap::Subcommand;
use hermes_agent::build::{gates, mcp_servers, saved_toolsets};
use hermes_config::Config;
use hermes_config::edit::{Change, change_config};
use hermes_tools::toolsets::{CONFIGURABLE, NOT_BUILT, PLATFORMS, PlatformTools, platform_tools};
use serde_json::{Value, json};

pub(crate) use checklist::checklist;

use crate::output::wrap;
use crate::{CommandError, Context, Exit, Out};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// How many groups each platform has
    #[arg(long)]
    summary: bool,

    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Show what is on
    List(Where),
    /// Turn groups on, or a tool of an MCP server (`server:tool`)
    Enable(Names),
    /// Turn groups off, or a tool of an MCP server (`server:tool`)
    Disable(Names),
}

#[derive(clap::Args, Debug)]
struct Where {
    /// Where the agent is talked to
    #[arg(long, default_value = "cli")]
    platform: String,
}

#[derive(clap::Args, Debug)]
struct Names {
    /// Groups as `hermes tools list` names them, or server:tool
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,

    #[command(flatten)]
    at: Where,
}

pub(crate) fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    if args.summary {
        return summary(context, out);
    }
    match args.action {
        None if std::io::stdin().is_terminal() && out.is_terminal() => {
            checklist::ask(context, out)?;
            Ok(Exit::SUCCESS)
        }
        None => list("cli", context, out),
        Some(Action::List(at)) => list(&at.platform, context, out),
        Some(Action::Enable(change)) => edit(&change, Switch::On, context, out),
        Some(Action::Disable(change)) => edit(&change, Switch::Off, context, out),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Switch {
    On,
    Off,
}

pub(super) fn resolved(config: &Config, platform: &str) -> Result<PlatformTools, CommandError> {
    if !PLATFORMS.contains(&platform) {
        return Err(CommandError::user(format!("unknown platform {platform:?}"))
            .hint(format!("use one of {}", PLATFORMS.join(", "))));
    }
    Ok(platform_tools(
        platform,
        saved_toolsets(config, platform).as_deref(),
        &mcp_servers(config),
        gates(config, false),
    ))
}

/// Sets that only make sense on one platform are listed only there.
fn is_listed(name: &str, platform: &str) -> bool {
    !name.starts_with("discord") || platform == "discord"
}

fn list(platform: &str, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let config = context.config_or_defaults(out)?;
    let tools = resolved(&config, platform)?;
    writeln!(out, "Built-in toolsets ({platform}):")?;
    for entry in CONFIGURABLE {
        if !is_listed(entry.name, platform) {
            continue;
        }
        let mark = if tools.toolsets.contains(&entry.name) {
            "✓ enabled"
        } else {
            "✗ disabled"
        };
        writeln!(out, "  {mark}  {}  {}", entry.name, entry.label)?;
    }
    let listed_only: Vec<&str> = NOT_BUILT
        .iter()
        .copied()
        .filter(|name| tools.toolsets.contains(name))
        .collect();
    if !listed_only.is_empty() {
        let note = format!(
            "not built yet, so not offered to the model: {}",
            listed_only.join(", ")
        );
        let width = out.width();
        out.stderr_line(&wrap(&note, width, "  "));
    }
    let servers = mcp_servers(&config);
    if !servers.is_empty() {
        writeln!(out, "\nMCP servers:")?;
        for server in servers {
            let excluded = excluded(&config, &server);
            if excluded.is_empty() {
                writeln!(out, "  {server}  all tools enabled")?;
            } else {
                writeln!(out, "  {server}  without {}", excluded.join(", "))?;
            }
        }
    }
    for name in &tools.unknown {
        out.warning(&format!(
            "platform_toolsets.{platform} names {name:?}, which is unknown"
        ));
    }
    Ok(Exit::SUCCESS)
}

fn summary(context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let config = context.config_or_defaults(out)?;
    for platform in PLATFORMS {
        let tools = resolved(&config, platform)?;
        let own = saved_toolsets(&config, platform).is_some();
        writeln!(
            out,
            "{platform:<16} {:>2} toolsets, {:>2} tools{}",
            tools.toolsets.len(),
            tools.tools.len(),
            if own { "  (configured)" } else { "" }
        )?;
    }
    Ok(Exit::SUCCESS)
}

fn edit(
    change: &Names,
    switch: Switch,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let config = context.config()?;
    let platform = change.at.platform.as_str();
    let servers = mcp_servers(config);
    let mut changes = Vec::new();
    let mut sets = spelled_out(config, platform)?;
    let before = sets.clone();
    for name in &change.names {
        if let Some((server, tool)) = name.split_once(':') {
            if !servers.iter().any(|known| known == server) {
                let known = match servers.is_empty() {
                    true => "`mcp_servers` in config.yaml is empty".to_owned(),
                    false => format!("there are {}", servers.join(", ")),
                };
                return Err(CommandError::user(format!(
                    "MCP server '{server}' not found in config"
                ))
                .hint(known));
            }
            changes.extend(exclude(config, server, tool, switch));
            continue;
        }
        let known =
            CONFIGURABLE.iter().any(|entry| entry.name == name) && is_listed(name, platform);
        if !known {
            return Err(CommandError::user(format!("Unknown toolset '{name}'"))
                .hint("`hermes tools list` shows what there is"));
        }
        match switch {
            Switch::On => sets.insert(name.clone()),
            Switch::Off => sets.remove(name),
        };
    }
    if sets != before {
        changes.push(Change::Set {
            path: format!("platform_toolsets.{platform}"),
            value: json!(sets),
        });
    }
    if !changes.is_empty() {
        change_config(&context.home, config.environment(), &changes)?;
    }
    let word = match switch {
        Switch::On => "Enabled",
        Switch::Off => "Disabled",
    };
    writeln!(out, "✓ {word}: {}", change.names.join(", "))?;
    Ok(Exit::SUCCESS)
}

/// What is on, as a list to store: names that are none of ours (servers, plugins)
/// stay, composites are spelled out.
fn spelled_out(config: &Config, platform: &str) -> Result<BTreeSet<String>, CommandError> {
    let tools = resolved(config, platform)?;
    Ok(saved_toolsets(config, platform)
        .unwrap_or_default()
        .into_iter()
        .filter(|name| !is_composite(name))
        .chain(tools.toolsets.iter().map(|name| (*name).to_owned()))
        .collect())
}

/// `hermes-cli` and the like stand for sets that were spelled out.
fn is_composite(name: &str) -> bool {
    name.starts_with("hermes-") || matches!(name, "debugging" | "safe" | "all" | "*")
}

fn excluded(config: &Config, server: &str) -> Vec<String> {
    config
        .get("mcp_servers")
        .and_then(|map| map.get(server)?.get("tools")?.get("exclude")?.as_array())
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

fn exclude(config: &Config, server: &str, tool: &str, switch: Switch) -> Option<Change> {
    let mut list = excluded(config, server);
    let is_there = list.iter().any(|known| known == tool);
    match switch {
        Switch::Off if !is_there => list.push(tool.to_owned()),
        Switch::On if is_there => list.retain(|known| known != tool),
        _ => return None,
    }
    Some(Change::Set {
        path: format!("mcp_servers.{server}.tools.exclude"),
        value: json!(list),
    })
}
