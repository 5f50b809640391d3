//! `memory`, `skills`, `tools` and `prompt-size`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use hermes_testkit::model::{ModelServer, Reply};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::support::{Scratch, golden, ran};

#[test]
fn skills_are_listed_as_the_reference_lists_them() {
    let scratch = Scratch::with_reference_home();
    assert_eq!(scratch.ok(["skills", "list"]), golden("skills-list.txt"));
    let rows: Value = serde_json::from_str(&scratch.ok(["skills", "list", "--json"])).unwrap();
    assert_eq!(rows[0]["name"], "release-notes");
    let text = scratch.ok(["skills", "view", "release-notes"]);
    assert!(text.starts_with("---\nname: release-notes\n"));
    assert_eq!(
        scratch.ok(["skills", "view", "release-notes", "references/style.md"]),
        "Use the past tense.\n"
    );
    assert!(
        scratch
            .fails(1, ["skills", "view", "nothing"])
            .contains("no skill is called")
    );
}

#[test]
fn toolsets_are_listed_as_the_reference_lists_them() {
    let scratch = Scratch::with_reference_home();
    assert_eq!(scratch.ok(["tools", "list"]), golden("tools-list.txt"));
    assert!(
        scratch
            .ok(["tools", "--summary"])
            .contains("cli              17 toolsets")
    );
}

#[test]
fn turning_a_set_off_and_on_changes_one_key_and_restores_the_same() {
    let scratch = Scratch::new();
    let config = "# mine\nmodel:\n  default: x  # kept\nagent:\n  max_turns: 60\n";
    scratch.write("config.yaml", config);
    let before = scratch.ok(["tools", "list"]);
    assert_eq!(scratch.ok(["tools", "disable", "web"]), "✓ Disabled: web\n");
    let text = scratch.read("config.yaml");
    assert!(text.starts_with(config), "{text}");
    assert!(
        text[config.len()..]
            .trim_start()
            .starts_with("platform_toolsets:"),
        "{text}"
    );
    assert!(scratch.ok(["tools", "list"]).contains("✗ disabled  web"));
    scratch.ok(["tools", "enable", "web"]);
    assert_eq!(scratch.ok(["tools", "list"]), before);
    scratch.ok(["tools", "enable", "spotify"]);
    assert!(scratch.ok(["tools", "list"]).contains("✓ enabled  spotify"));
    assert!(
        scratch
            .ok(["tools", "list", "--platform", "telegram"])
            .contains("✗ disabled  spotify")
    );
}

#[test]
fn an_unknown_set_fails_and_writes_nothing() {
    let scratch = Scratch::new();
    scratch.write("config.yaml", "mcp_servers:\n  srv:\n    command: x\n");
    let before = scratch.read("config.yaml");
    assert!(
        scratch
            .fails(1, ["tools", "disable", "web", "bogus"])
            .contains("Unknown toolset 'bogus'")
    );
    assert!(
        scratch
            .fails(1, ["tools", "disable", "other:tool"])
            .contains("MCP server 'other'")
    );
    assert_eq!(scratch.read("config.yaml"), before);
    scratch.ok(["tools", "disable", "srv:rm"]);
    assert!(scratch.read("config.yaml").contains("exclude"));
    assert!(scratch.ok(["tools", "list"]).contains("srv  without rm"));
}

#[test]
fn memory_is_shown_and_reset_only_on_request() {
    let scratch = Scratch::with_reference_home();
    let status = scratch.ok(["memory"]);
    assert!(status.starts_with("\nMemory status\n"), "{status}");
    assert!(
        status.contains("2 entries, 3% — 83/2,200 chars"),
        "{status}"
    );
    assert!(
        scratch
            .ok(["memory", "show"])
            .contains("- The staging host is called grey-heron")
    );
    scratch.fails(1, ["memory", "reset"]);
    assert!(scratch.exists("memories/MEMORY.md"));
    scratch.ok(["memory", "reset", "-y", "--target", "user"]);
    assert!(!scratch.exists("memories/USER.md"));
    scratch.ok(["memory", "reset", "-y"]);
    assert!(!scratch.exists("memories/MEMORY.md"));
    assert!(
        scratch
            .ok(["memory", "reset", "-y"])
            .starts_with("Nothing to reset")
    );
}

#[test]
fn the_size_of_the_prompt_is_told_without_a_model() {
    let scratch = Scratch::new();
    let sizes: Value = serde_json::from_str(&scratch.ok(["prompt-size", "--json"])).unwrap();
    assert_eq!(sizes["platform"], "cli");
    assert!(sizes["tools"]["count"].as_u64().unwrap() >= 10);
    assert!(sizes["system_prompt"]["bytes"].as_u64().unwrap() > 1000);
    assert!(!scratch.exists("state.db"));
    assert!(
        scratch
            .ok(["prompt-size"])
            .starts_with("Prompt-size breakdown (platform=cli, model=unset)\n")
    );
}

const TEA: &str = "---\nname: brew-tea\ndescription: How to brew tea well\ntags: [drinks]\n---\n\n# Tea\n\nBoil water.\nSteep 3 minutes.\n";

/// Notes and skills that a model writes in one turn.
fn writing() -> Vec<(&'static str, Value)> {
    let memory = |value| ("memory", value);
    let skill = |value| ("skill_manage", value);
    vec![
        memory(json!({"action": "add", "target": "memory", "content": "User likes Rust"})),
        memory(
            json!({"action": "add", "target": "memory", "content": "  second note\nwith two lines  "}),
        ),
        memory(json!({"action": "add", "target": "memory", "content": "User likes Rust"})),
        memory(
            json!({"action": "replace", "target": "memory", "old_text": "likes", "content": "User loves Rust"}),
        ),
        memory(json!({"action": "add", "target": "user", "content": "Ünïcode — ✓"})),
        memory(json!({"action": "add", "target": "user", "content": "x".repeat(1400)})),
        skill(
            json!({"action": "create", "name": "brew-tea", "category": "kitchen", "content": TEA}),
        ),
        skill(json!({"action": "create", "name": "brew-tea", "content": TEA})),
        skill(
            json!({"action": "patch", "name": "brew-tea", "old_string": "Steep 3 minutes.", "new_string": "Steep 4 minutes."}),
        ),
        skill(
            json!({"action": "write_file", "name": "brew-tea", "file_path": "references/leaves.md", "file_content": "# Leaves\n"}),
        ),
        skill(
            json!({"action": "write_file", "name": "brew-tea", "file_path": "../evil.md", "file_content": "x"}),
        ),
        ("skill_view", json!({"name": "brew-tea"})),
        (
            "skill_view",
            json!({"name": "brew-tea", "file_path": "references/leaves.md"}),
        ),
        skill(
            json!({"action": "create", "name": "gone", "content": TEA.replace("brew-tea", "gone")}),
        ),
        skill(json!({"action": "delete", "name": "gone"})),
    ]
}

/// What a program leaves below `memories` and `skills` after such a turn: mode and
/// content of every file but locks, times taken out.
fn left_behind(program: &OsStr) -> BTreeMap<String, (u32, String)> {
    let (scratch, server) = (Scratch::new(), ModelServer::start());
    scratch.config_for(
        &server,
        "  context_length: 200000\nmemory: {nudge_interval: 0}\nskills: {creation_nudge_interval: 0}\n",
    );
    scratch.write(".no-bundled-skills", "");
    for (tool, arguments) in writing() {
        server.push(Reply::tool_call(tool, arguments));
    }
    server.push(Reply::text("done"));
    let home = scratch.home();
    let mut command = Command::new(program);
    command
        .args(["-z", "go", "-t", "memory,skills", "--yolo"])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", scratch.user_home())
        .env("HERMES_HOME", &home)
        .current_dir(scratch.user_home());
    let ended = ran(command.output().unwrap());
    assert_eq!(ended.code, 0, "{ended:#?}");
    let mut found = BTreeMap::new();
    let mut directories = vec![home.join("memories"), home.join("skills")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(&home).unwrap().display().to_string();
            if path.is_dir() {
                directories.push(path);
            } else if !name.ends_with(".lock") {
                let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
                let mut text = std::fs::read_to_string(&path).unwrap();
                if name.ends_with(".json") {
                    let mut value: Value = serde_json::from_str(&text).unwrap();
                    for record in value.as_object_mut().unwrap().values_mut() {
                        for (key, value) in record.as_object_mut().unwrap() {
                            if key.ends_with("_at") && value.is_string() {
                                *value = json!("TIME");
                            }
                        }
                    }
                    text = serde_json::to_string_pretty(&value).unwrap();
                }
                found.insert(name, (mode, text));
            }
        }
    }
    found
}

#[test]
fn notes_and_skills_are_written_byte_for_byte_as_the_reference_writes_them() {
    let ours = left_behind(OsStr::new(env!("CARGO_BIN_EXE_hermes")));
    let usage = json!({"brew-tea": {
        "archived_at": null, "created_at": "TIME", "created_by": null, "last_patched_at": "TIME",
        "last_used_at": "TIME", "last_viewed_at": "TIME", "patch_count": 2, "pinned": false,
        "state": "active", "use_count": 2, "view_count": 2,
    }});
    let expected = [
        (
            "memories/MEMORY.md",
            "User loves Rust\n§\nsecond note\nwith two lines".to_owned(),
        ),
        ("memories/USER.md", "Ünïcode — ✓".to_owned()),
        (
            "skills/.usage.json",
            serde_json::to_string_pretty(&usage).unwrap(),
        ),
        (
            "skills/kitchen/brew-tea/SKILL.md",
            TEA.replace("3 minutes", "4 minutes"),
        ),
        (
            "skills/kitchen/brew-tea/references/leaves.md",
            "# Leaves\n".to_owned(),
        ),
    ];
    let expected: BTreeMap<String, (u32, String)> = expected
        .into_iter()
        .map(|(name, text)| (name.to_owned(), (0o600, text)))
        .collect();
    assert_eq!(ours, expected);
    // Where Python Hermes is at hand, it is asked too.
    if let Some(reference) = std::env::var_os("HERMES_REFERENCE") {
        assert_eq!(left_behind(&reference), expected);
    }
}
