//! Names to tools.

use std::collections::BTreeSet;

use super::catalogue::{LEGACY, TOOLSETS, Toolset};

/// The tools that a list of names stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// `None`: everything there is (`all` or `*`).
    pub tools: Option<BTreeSet<String>>,
    /// Sets that were named and exist.
    pub toolsets: BTreeSet<String>,
    /// Names that mean nothing here; the run goes on without them.
    pub unknown: Vec<String>,
}

pub(super) fn find(name: &str) -> Option<&'static Toolset> {
    let name = LEGACY
        .iter()
        .find(|(old, _)| *old == name)
        .map_or(name, |(_, new)| new);
    TOOLSETS.iter().find(|toolset| toolset.name == name)
}

pub fn is_known(name: &str) -> bool {
    matches!(name, "all" | "*") || find(name).is_some()
}

/// The tools of one set, its included sets' too.
pub fn expand(name: &str) -> Option<BTreeSet<String>> {
    let toolset = find(name)?;
    let mut tools: BTreeSet<String> = toolset
        .tools
        .iter()
        .map(|tool| (*tool).to_owned())
        .collect();
    for included in toolset.includes {
        tools.extend(expand(included).unwrap_or_default());
    }
    Some(tools)
}

/// Resolves names given for one run. `extra` knows sets that others bring, such
/// as MCP servers.
pub fn select(names: &[String], extra: &dyn Fn(&str) -> Option<BTreeSet<String>>) -> Selection {
    let mut selection = Selection::default();
    let mut tools = BTreeSet::new();
    let mut everything = false;
    for name in names
        .iter()
        .map(|name| name.trim())
        .filter(|name| !name.is_empty())
    {
        if matches!(name, "all" | "*") {
            everything = true;
        } else if let Some(more) = expand(name).or_else(|| extra(name)) {
            tools.extend(more);
            selection.toolsets.insert(
                find(name).map_or_else(|| name.to_owned(), |toolset| toolset.name.to_owned()),
            );
        } else {
            selection.unknown.push(name.to_owned());
        }
    }
    selection.tools = (!everything).then_some(tools);
    selection
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn file_means_exactly_four_tools() {
        let selection = select(&names(&["file"]), &|_| None);
        let tools: Vec<String> = selection.tools.unwrap().into_iter().collect();
        assert_eq!(tools, ["patch", "read_file", "search_files", "write_file"]);
    }

    #[test]
    fn unknown_names_are_reported_and_legacy_names_work() {
        let selection = select(&names(&["file_tools", "nonsense"]), &|_| None);
        assert_eq!(selection.unknown, ["nonsense"]);
        assert!(selection.toolsets.contains("file"));
    }

    #[test]
    fn a_star_means_everything() {
        assert_eq!(select(&names(&["*"]), &|_| None).tools, None);
    }

    #[test]
    fn composites_hold_their_parts() {
        let debugging = expand("debugging").unwrap();
        for tool in ["terminal", "process", "web_search", "patch"] {
            assert!(debugging.contains(tool));
        }
    }

    #[test]
    fn every_included_set_exists() {
        for toolset in TOOLSETS {
            for included in toolset.includes {
                assert!(find(included).is_some(), "{included} in {}", toolset.name);
            }
        }
    }
}
