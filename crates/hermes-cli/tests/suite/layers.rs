//! The rooms of the house: a crate depends only on crates of rows above its own.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

/// The table of `docs/architecture.md`, top to bottom. Rooms that are planned and
/// not founded yet have their place already.
const ROWS: &[&str] = &[
    "hermes-types",
    "hermes-home",
    "hermes-config",
    "hermes-store",
    "hermes-process",
    "hermes-http",
    "hermes-llm",
    "hermes-sandbox",
    "hermes-mcp",
    "hermes-knowledge",
    "hermes-tools",
    "hermes-agent",
    "hermes-kanban",
    "hermes-cron",
    "hermes-gateway",
    "hermes-platforms",
    "hermes-web",
    "hermes-protocols",
    "hermes-tui",
    "hermes-supervise",
    "hermes-cli",
    "hermes-testkit",
    "hermes-fuzz",
    "hermes-bench",
];

/// Fewer edges than this mean that the scan looked at nothing.
const FEWEST_EDGES: usize = 40;

#[test]
fn crates_depend_only_on_rows_above_their_own() {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let rank: BTreeMap<&str, usize> = ROWS
        .iter()
        .enumerate()
        .map(|(row, name)| (*name, row))
        .collect();

    let mut edges = 0;
    let mut wrong = Vec::new();
    for package in metadata["packages"].as_array().expect("packages") {
        let name = package["name"].as_str().expect("a name");
        let Some(own) = rank.get(name) else {
            wrong.push(format!("{name} has no row in the table"));
            continue;
        };
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let other = dependency["name"].as_str().expect("a name");
            // Tests may look anywhere; what ships may not.
            if !other.starts_with("hermes-") || dependency["kind"] == "dev" {
                continue;
            }
            edges += 1;
            match rank.get(other) {
                Some(row) if row < own => {}
                Some(_) => wrong.push(format!("{name} looks down at {other}")),
                None => wrong.push(format!("{other} has no row in the table")),
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(edges >= FEWEST_EDGES, "only {edges} edges were looked at");
}
