//! `hermes setup` without a person, and keys in a pool.

use hermes_testkit::model::{ModelServer, Reply};
use pretty_assertions::assert_eq;

use super::support::Scratch;

#[test]
fn without_a_person_setup_says_what_to_type_and_changes_nothing() {
    let scratch = Scratch::new();
    for words in [vec!["setup"], vec!["setup", "--non-interactive"]] {
        let said = scratch.ok(&words);
        assert_eq!(said.matches("hermes config set").count(), 3, "{said}");
        assert!(!scratch.exists("config.yaml") || scratch.read("config.yaml").is_empty());
    }
}

#[test]
fn every_answer_has_a_flag() {
    let (scratch, server) = (Scratch::new(), ModelServer::start());
    scratch.ok([
        "setup",
        "--non-interactive",
        "--base-url",
        &server.url(),
        "--model",
        ModelServer::DEFAULT_MODEL,
        "--backend",
        "local",
        "--toolsets",
        "file, todo",
        "--max-turns",
        "7",
        "--tool-progress",
        "new",
    ]);
    for (key, value) in [
        ("model.provider", "custom"),
        ("model.default", ModelServer::DEFAULT_MODEL),
        ("terminal.backend", "local"),
        ("agent.max_turns", "7"),
        ("display.tool_progress", "new"),
    ] {
        assert_eq!(scratch.ok(["config", "get", key]).trim(), value, "{key}");
    }
    server.push(Reply::text("ready"));
    let ran = scratch.run(["-z", "hi"]);
    assert_eq!(ran.stdout, "ready\n", "{ran:#?}");
    let tools: Vec<String> = server.requests()[0]
        .tool_names()
        .iter()
        .map(|name| (*name).to_owned())
        .collect();
    assert_eq!(
        tools,
        ["patch", "read_file", "search_files", "todo", "write_file"]
    );
    // What is wrong is told before anything is written.
    let before = scratch.read("config.yaml");
    let wrong = scratch.fails(2, ["setup", "--toolsets", "file,bogus", "--max-turns", "9"]);
    assert!(wrong.contains("\"bogus\""), "{wrong}");
    scratch.fails(1, ["setup", "--provider", "nobody", "--model", "x"]);
    scratch.fails(2, ["setup", "--backend", "cloud"]);
    assert_eq!(scratch.read("config.yaml"), before);
}

#[test]
fn a_reset_keeps_the_old_file_and_asks_first() {
    let scratch = Scratch::new();
    scratch.write("config.yaml", "# mine\nagent:\n  max_turns: 3\n");
    let said = scratch.run(["setup", "--reset"]);
    assert_eq!(said.code, 1, "{said:#?}");
    assert!(scratch.read("config.yaml").contains("# mine"));
    scratch.ok(["setup", "--reset", "--yes", "--provider", "demo"]);
    assert!(!scratch.read("config.yaml").contains("# mine"));
    let kept = std::fs::read_dir(scratch.home())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().contains("before-reset"))
        .expect("a copy");
    assert!(std::fs::read_to_string(kept).unwrap().contains("# mine"));
    assert_eq!(scratch.run(["-z", "hello"]).code, 0);
}

#[test]
fn the_next_key_of_a_pool_takes_over_and_the_spent_one_rests() {
    let (scratch, server) = (Scratch::new(), ModelServer::start());
    scratch.write(
        "config.yaml",
        "model:\n  provider: openrouter\n  default: vendor/model\nauxiliary:\n  title_generation:\n    provider: custom\n    model: titles\n    base_url: http://127.0.0.1:9/v1\n",
    );
    for (key, label) in [("sk-or-first", "one"), ("sk-or-second", "two")] {
        scratch.ok([
            "auth",
            "add",
            "openrouter",
            "--api-key",
            key,
            "--label",
            label,
        ]);
    }
    server.push(Reply::error(402, "insufficient credits"));
    server.push(Reply::text("from the second key"));
    let mut command = scratch.command(["-z", "hi"]);
    command.env("OPENROUTER_BASE_URL", server.url());
    let ran = super::support::ran(command.output().unwrap());
    assert_eq!(ran.stdout, "from the second key\n", "{ran:#?}");
    let keys: Vec<String> = server
        .requests()
        .iter()
        .map(|request| {
            request
                .header("authorization")
                .unwrap_or_default()
                .to_owned()
        })
        .collect();
    assert_eq!(keys, ["Bearer sk-or-first", "Bearer sk-or-second"]);
    let listed = scratch.ok(["auth", "list", "openrouter"]);
    assert!(
        listed.contains("one") && listed.contains("[exhausted, "),
        "{listed}"
    );
    let next = listed
        .lines()
        .find(|line| line.contains('←'))
        .expect(&listed);
    assert!(next.contains("two"), "{listed}");
    scratch.ok(["auth", "reset", "openrouter"]);
    assert!(
        !scratch
            .ok(["auth", "list", "openrouter"])
            .contains("exhausted")
    );
}
