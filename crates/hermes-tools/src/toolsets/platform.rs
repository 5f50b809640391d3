//! Which sets a platform gets: the saved list, or its default.

use std::collections::BTreeSet;

use super::catalogue::CONFIGURABLE;
use super::select::{expand, find};

/// What turns sets on that are off otherwise.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gates {
    /// `HASS_TOKEN` is set.
    pub home_assistant: bool,
    /// There are xAI credentials.
    pub xai: bool,
    /// This process works on a kanban task.
    pub kanban: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlatformTools {
    /// Configurable sets that are on, in the order lists show them.
    pub toolsets: Vec<&'static str>,
    pub tools: BTreeSet<String>,
    /// Names in the saved list that mean nothing here.
    pub unknown: Vec<String>,
    /// `None`: every enabled MCP server; else only these.
    pub mcp_servers: Option<Vec<String>>,
}

/// Resolves `platform_toolsets.<platform>`. `servers` are the MCP servers that
/// the configuration names.
pub fn platform_tools(
    platform: &str,
    saved: Option<&[String]>,
    servers: &[String],
    gates: Gates,
) -> PlatformTools {
    let default_name = format!("hermes-{}", platform.replace('_', "-"));
    let default = expand(&default_name)
        .or_else(|| expand("hermes-cli"))
        .unwrap_or_default();
    let mut result = PlatformTools::default();
    let mut on: BTreeSet<&'static str> = BTreeSet::new();

    match saved {
        None => on.extend(contained_in(&default)),
        Some(list) => {
            for name in list.iter().map(|name| name.trim()) {
                if name == "no_mcp" || servers.iter().any(|server| server == name) {
                    continue;
                }
                match find(name) {
                    Some(toolset) => match configurable(toolset.name) {
                        Some(name) => {
                            on.insert(name);
                        }
                        // A composite brings the default-on sets it holds.
                        None => on.extend(contained_in(&expand(name).unwrap_or_default())),
                    },
                    None => result.unknown.push(name.to_owned()),
                }
            }
            let named: Vec<String> = list
                .iter()
                .filter(|name| servers.contains(name))
                .cloned()
                .collect();
            if list.iter().any(|name| name == "no_mcp") {
                result.mcp_servers = Some(Vec::new());
            } else if !named.is_empty() {
                result.mcp_servers = Some(named);
            }
        }
    }
    if saved.is_none() {
        if gates.home_assistant {
            on.insert("homeassistant");
        }
        if gates.xai {
            on.insert("x_search");
        }
    }
    if !platform.starts_with("discord") {
        on.remove("discord");
        on.remove("discord_admin");
    }
    result.toolsets = CONFIGURABLE
        .iter()
        .map(|entry| entry.name)
        .filter(|name| on.contains(name))
        .collect();
    for name in &result.toolsets {
        result.tools.extend(expand(name).unwrap_or_default());
    }
    // An empty list means nothing at all, not even what belongs to the platform.
    if saved.is_none_or(|list| !list.is_empty()) {
        for name in ["feishu_doc", "feishu_drive"] {
            let tools = expand(name).unwrap_or_default();
            if tools.is_subset(&default) {
                result.tools.extend(tools);
            }
        }
        if gates.kanban {
            result.tools.extend(expand("kanban").unwrap_or_default());
        }
    }
    result
}

fn configurable(name: &str) -> Option<&'static str> {
    CONFIGURABLE
        .iter()
        .find(|entry| entry.name == name)
        .map(|entry| entry.name)
}

/// Sets that are on by default and lie fully within `tools`.
fn contained_in(tools: &BTreeSet<String>) -> Vec<&'static str> {
    CONFIGURABLE
        .iter()
        .filter(|entry| !entry.opt_in)
        .filter(|entry| {
            expand(entry.name).is_some_and(|set| !set.is_empty() && set.is_subset(tools))
        })
        .map(|entry| entry.name)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn cli(saved: Option<&[&str]>) -> PlatformTools {
        let saved = saved.map(list);
        platform_tools("cli", saved.as_deref(), &list(&["files"]), Gates::default())
    }

    #[test]
    fn without_a_list_seventeen_sets_are_on() {
        assert_eq!(cli(None).toolsets.len(), 17);
        assert!(!cli(None).tools.contains("ha_get_state"));
        assert!(!cli(None).tools.contains("kanban_show"));
    }

    #[test]
    fn a_list_of_plain_sets_is_taken_literally() {
        assert_eq!(cli(Some(&["file", "todo"])).toolsets, ["file", "todo"]);
    }

    #[test]
    fn a_composite_and_an_opt_in_set_add_up() {
        let both = cli(Some(&["hermes-cli", "spotify"]));
        assert_eq!(both.toolsets.len(), 18);
        assert!(both.tools.contains("spotify_search"));
    }

    #[test]
    fn an_empty_list_means_nothing() {
        assert_eq!(cli(Some(&[])).tools.len(), 0);
    }

    #[test]
    fn mcp_names_act_as_an_allow_list() {
        assert_eq!(cli(None).mcp_servers, None);
        assert_eq!(cli(Some(&["file", "no_mcp"])).mcp_servers, Some(vec![]));
        assert_eq!(
            cli(Some(&["file", "files"])).mcp_servers,
            Some(list(&["files"]))
        );
        assert_eq!(cli(Some(&["file", "bogus"])).unknown, ["bogus"]);
    }

    #[test]
    fn gates_open_their_sets() {
        let gates = Gates {
            home_assistant: true,
            kanban: true,
            ..Gates::default()
        };
        let tools = platform_tools("cli", None, &[], gates);
        assert!(tools.toolsets.contains(&"homeassistant"));
        assert!(tools.tools.contains("kanban_complete"));
        assert!(
            platform_tools("discord", Some(&list(&["discord"])), &[], Gates::default())
                .tools
                .contains("discord")
        );
        assert!(!cli(Some(&["discord"])).tools.contains("discord"));
    }
}
