//! Which calls of one answer may run at the same time.

use serde_json::Value;

/// How a call gets along with the others of its batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Concurrency {
    /// Changes something nobody can name: the whole batch runs one by one.
    Exclusive,
    /// Only reads.
    Shared,
    /// Touches this path; calls on paths that do not overlap may run together.
    Path(String),
}

const READERS: [&str; 10] = [
    "search_files",
    "session_search",
    "skill_view",
    "skills_list",
    "vision_analyze",
    "web_extract",
    "web_search",
    "ha_get_state",
    "ha_list_entities",
    "ha_list_services",
];

/// The rule for a tool that has none of its own.
pub fn by_name(name: &str, arguments: &Value) -> Concurrency {
    if READERS.contains(&name) {
        return Concurrency::Shared;
    }
    if matches!(name, "read_file" | "write_file" | "patch")
        && let Some(path) = arguments.get("path").and_then(Value::as_str)
        && !path.trim().is_empty()
    {
        return Concurrency::Path(normal(path));
    }
    Concurrency::Exclusive
}

/// Whether all of these may run together.
pub fn compatible(calls: &[Concurrency]) -> bool {
    if calls.len() < 2 || calls.contains(&Concurrency::Exclusive) {
        return false;
    }
    let paths: Vec<&str> = calls
        .iter()
        .filter_map(|call| match call {
            Concurrency::Path(path) => Some(path.as_str()),
            _ => None,
        })
        .collect();
    paths
        .iter()
        .enumerate()
        .all(|(index, one)| paths[index + 1..].iter().all(|other| !overlap(one, other)))
}

/// Equal, or one holds the other.
fn overlap(one: &str, other: &str) -> bool {
    let below = |parent: &str, child: &str| {
        child == parent
            || parent == "."
            || child
                .strip_prefix(parent)
                .is_some_and(|rest| rest.starts_with('/') || parent.ends_with('/'))
    };
    below(one, other) || below(other, one)
}

/// Without `.` and empty parts; `..` is resolved by text, which is only ever
/// more careful than the file system.
fn normal(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if absolute => {}
            other => parts.push(other),
        }
    }
    let joined = parts.join("/");
    match (absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn batch(calls: &[(&str, Value)]) -> bool {
        let rules: Vec<Concurrency> = calls
            .iter()
            .map(|(name, arguments)| by_name(name, arguments))
            .collect();
        compatible(&rules)
    }

    #[test]
    fn readers_and_separate_files_run_together() {
        assert!(batch(&[
            ("read_file", json!({"path": "a.txt"})),
            ("write_file", json!({"path": "b.txt"})),
            ("search_files", json!({"pattern": "x"})),
        ]));
    }

    #[test]
    fn one_call_is_no_batch() {
        assert!(!batch(&[("search_files", json!({"pattern": "x"}))]));
    }

    #[test]
    fn the_same_file_or_a_parent_of_it_runs_in_order() {
        for (one, other) in [
            ("a", "a"),
            ("a", "./a"),
            ("a", "a/b"),
            ("/x", "/x/y"),
            (".", "a"),
            ("a/../b", "b"),
        ] {
            assert!(
                !batch(&[
                    ("read_file", json!({"path": one})),
                    ("patch", json!({"path": other})),
                ]),
                "{one} and {other}"
            );
        }
        assert!(batch(&[
            ("read_file", json!({"path": "ab"})),
            ("patch", json!({"path": "a"})),
        ]));
    }

    #[test]
    fn anything_else_makes_the_batch_sequential() {
        assert!(!batch(&[
            ("terminal", json!({"command": "true"})),
            ("read_file", json!({"path": "a"})),
        ]));
        assert!(!batch(&[
            ("patch", json!({"mode": "patch"})),
            ("read_file", json!({"path": "a"})),
        ]));
    }
}
