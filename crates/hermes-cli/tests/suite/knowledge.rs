//! `memory`, `skills`, `tools` and `prompt-size`.

use pretty_assertions::assert_eq;
use serde_json::Value;

use super::support::{Scratch, golden};

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
