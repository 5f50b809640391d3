//! `hermes setup` without a person, and keys in a pool.

use hermes_testkit::model::{ModelServer, Reply};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::support::Scratch;

#[test]
fn without_a_person_setup_says_what_to_type_and_changes_nothing() {
    let scratch = Scratch::new();
    for words in [
        vec!["setup"],
        vec!["setup", "--non-interactive"],
        vec!["setup", "--reconfigure"],
    ] {
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
        "--approvals",
        "smart",
        "--ssh-host",
        "host.example",
        "--ssh-user",
        "somebody",
    ]);
    for (key, value) in [
        ("model.provider", "custom"),
        ("model.default", ModelServer::DEFAULT_MODEL),
        ("terminal.backend", "local"),
        ("agent.max_turns", "7"),
        ("display.tool_progress", "new"),
        ("approvals.mode", "smart"),
        ("terminal.ssh_host", "host.example"),
        ("terminal.ssh_user", "somebody"),
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
fn the_ssh_backend_needs_its_machine() {
    let scratch = Scratch::new();
    let wrong = scratch.fails(2, ["setup", "--backend", "ssh", "--ssh-host", "h"]);
    assert!(wrong.contains("--ssh-user"), "{wrong}");
    assert!(!scratch.exists("config.yaml"));
    scratch.ok([
        "setup",
        "--backend",
        "ssh",
        "--ssh-host",
        "h",
        "--ssh-user",
        "u",
    ]);
    let config = scratch.read("config.yaml");
    assert!(
        config.contains("backend: ssh") && config.contains("ssh_host: h"),
        "{config}"
    );
    // What is known need not be said again.
    scratch.ok(["setup", "--backend", "local"]);
    scratch.ok(["setup", "--backend", "ssh"]);
}

#[test]
fn a_key_in_a_flag_goes_where_only_its_owner_reads() {
    let (scratch, server) = (Scratch::new(), ModelServer::start());
    server.fallback(|_| Reply::text("hello"));
    let said = scratch.ok([
        "setup",
        "--provider",
        "deepseek",
        "--model",
        "deepseek-chat",
        "--api-key",
        "sk-deep",
    ]);
    assert!(
        said.contains("~/.hermes/.env") && !said.contains("sk-deep"),
        "{said}"
    );
    assert!(scratch.read(".env").contains("DEEPSEEK_API_KEY=sk-deep"));
    let mut command = scratch.command(["-z", "hi"]);
    command.env("DEEPSEEK_BASE_URL", server.url());
    assert_eq!(
        super::support::ran(command.output().unwrap()).stdout,
        "hello\n"
    );
    // An address of one's own has a key of its own.
    let url = server.url();
    scratch.ok([
        "setup",
        "--base-url",
        &url,
        "--model",
        "m",
        "--api-key",
        "sk-own",
    ]);
    assert!(!scratch.read("config.yaml").contains("sk-own"));
    assert_eq!(scratch.run(["-z", "hi"]).stdout, "hello\n");
    let keys: Vec<Option<String>> = server
        .requests()
        .iter()
        .map(|request| request.header("authorization").map(str::to_owned))
        .collect();
    let bearer = |key: &str| Some(format!("Bearer {key}"));
    assert!(
        keys.contains(&bearer("sk-deep")) && keys.contains(&bearer("sk-own")),
        "{keys:?}"
    );
    // Another provider is not sent that key.
    scratch.ok(["setup", "--provider", "demo"]);
    assert!(!scratch.read("config.yaml").contains("CUSTOM_API_KEY"));
}

#[test]
fn sections_of_what_is_not_built_say_so() {
    let scratch = Scratch::new();
    for section in ["tts", "gateway"] {
        let said = scratch.fails(2, ["setup", section]);
        assert!(said.contains("not built yet"), "{said}");
    }
    assert!(
        scratch
            .fails(2, ["setup", "--portal"])
            .contains("not built")
    );
    scratch.fails(2, ["setup", "nosuch"]);
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
    // Without answers the file is fresh, and there.
    scratch.ok(["setup", "--reset", "--yes", "--non-interactive"]);
    assert!(!scratch.read("config.yaml").contains("provider"));
    scratch.ok(["config", "set", "agent.max_turns", "5"]);
    assert_eq!(scratch.ok(["config", "get", "agent.max_turns"]).trim(), "5");
}

#[test]
fn a_reset_with_answers_that_are_wrong_resets_nothing() {
    let scratch = Scratch::new();
    scratch.write("config.yaml", "# mine\n");
    scratch.fails(2, ["setup", "--reset", "--yes", "--toolsets", "bogus"]);
    assert_eq!(scratch.read("config.yaml"), "# mine\n");
}

/// A server of one's own that lists these models.
fn own_server(scratch: &Scratch, models: &[&str]) -> ModelServer {
    let server = ModelServer::start();
    server.models(models.iter().map(|id| json!({ "id": id })).collect());
    scratch.ok(["setup", "--base-url", &server.url(), "--model", models[0]]);
    server
}

#[test]
fn a_name_that_the_server_does_not_list_is_taken_only_by_force() {
    let scratch = Scratch::new();
    let _server = own_server(&scratch, &["stub-1", "stub-2"]);
    let before = scratch.read("config.yaml");
    let said = scratch.fails(1, ["model", "stub-3"]);
    assert!(
        said.contains("lists no model `stub-3`") && said.contains("near it: stub-1, stub-2"),
        "{said}"
    );
    assert!(said.contains("`hermes model stub-3 --force`"), "{said}");
    assert_eq!(scratch.read("config.yaml"), before);
    scratch.ok(["model", "stub-2"]);
    scratch.ok(["model", "stub-3", "--force"]);
    assert_eq!(
        scratch.ok(["config", "get", "model.default"]).trim(),
        "stub-3"
    );
    // Without a name there is nothing to force.
    scratch.fails(2, ["model", "--list", "--force"]);
}

#[test]
fn the_demo_model_is_chosen_by_the_name_in_the_list() {
    let scratch = Scratch::new();
    let server = own_server(&scratch, &["stub-1"]);
    assert_eq!(
        scratch.ok(["model", "demo"]).trim(),
        "From now on: demo (demo)"
    );
    assert_eq!(
        scratch.ok(["config", "get", "model.provider"]).trim(),
        "demo"
    );
    assert!(scratch.ok(["-z", "hello"]).contains("demo model"));
    // It has one model; whoever else has the other is named.
    let said = scratch.fails(1, ["model", "nosuch"]);
    assert!(said.contains("demo lists no model `nosuch`"), "{said}");
    // A server's own model of that name has its provider beside it.
    server.models(vec![json!({"id": "demo"})]);
    scratch.ok(["setup", "--base-url", &server.url(), "--model", "demo"]);
    scratch.ok(["model", "demo", "--provider", "custom"]);
    assert_eq!(
        scratch.ok(["config", "get", "model.provider"]).trim(),
        "custom"
    );
}

#[test]
fn setup_does_not_carry_one_servers_model_to_another() {
    let scratch = Scratch::new();
    let server = own_server(&scratch, &["stub-1"]);
    let before = scratch.read("config.yaml");
    let said = scratch.fails(
        2,
        [
            "setup",
            "--non-interactive",
            "--provider",
            "openrouter",
            "--api-key",
            "k1",
        ],
    );
    assert!(
        said.contains("which model of openrouter") && said.contains("--model NAME"),
        "{said}"
    );
    let said = scratch.fails(2, ["setup", "--base-url", "http://127.0.0.1:9/v1"]);
    assert!(said.contains("which model"), "{said}");
    assert_eq!(scratch.read("config.yaml"), before);
    assert!(!scratch.exists(".env") || !scratch.read(".env").contains("k1"));
    // Where nothing moves, the model stays; where the place names one, that is it.
    scratch.ok(["setup", "--base-url", &server.url()]);
    assert_eq!(
        scratch.ok(["config", "get", "model.default"]).trim(),
        "stub-1"
    );
    scratch.write(
        "config.yaml",
        format!(
            "{before}\nproviders:\n  mine:\n    base_url: {}\n    default_model: theirs\n",
            server.url()
        ),
    );
    let said = scratch.ok(["setup", "--provider", "mine"]);
    assert!(said.contains("Model: theirs (mine)"), "{said}");
}

#[test]
fn models_are_listed_live_then_from_the_catalogue_then_as_a_snapshot() {
    let (scratch, server) = (Scratch::new(), ModelServer::start());
    let config = |enabled: bool| {
        format!(
            "model:\n  provider: openrouter\n  default: vendor/now\nmodel_catalog:\n  enabled: {enabled}\n  url: {}/catalogue.json\n",
            server.origin()
        )
    };
    scratch.write("config.yaml", config(true));
    scratch.write(".env", "OPENROUTER_API_KEY=sk-or-1\n");
    let list = |words: &[&str]| -> Vec<(String, String)> {
        let mut command =
            scratch.command(["model", "--list", "--json", "--provider", "openrouter"]);
        command.args(words).env("OPENROUTER_BASE_URL", server.url());
        let ran = super::support::ran(command.output().unwrap());
        assert_eq!(ran.code, 0, "{ran:#?}");
        let rows: Vec<serde_json::Value> = serde_json::from_str(&ran.stdout).unwrap();
        let text = |row: &serde_json::Value, name: &str| row[name].as_str().unwrap().to_owned();
        rows.iter()
            .map(|row| (text(row, "model"), text(row, "source")))
            .collect()
    };
    let row = |model: &str, source: &str| (model.to_owned(), source.to_owned());
    let asked = |path: &str| {
        let requests = server.all_requests();
        requests
            .iter()
            .filter(|request| request.path == path)
            .count()
    };
    // Nobody answers: what was built in, and it says so.
    server.route("/v1/models", Reply::error(500, "broken"));
    server.route("/catalogue.json", Reply::error(500, "broken"));
    let listed = list(&[]);
    assert_eq!(listed[0], row("vendor/now", "settings"));
    assert!(listed.len() > 20, "{listed:?}");
    assert!(listed[1..].iter().all(|(_, source)| source == "snapshot"));
    // The catalogue, which is fetched once.
    let catalogue = serde_json::json!({
        "version": 1,
        "providers": {"openrouter": {"models": [{"id": "vendor/listed", "description": "x"}]}},
    });
    server.route("/catalogue.json", Reply::json(200, &catalogue));
    let before = asked("/catalogue.json");
    for _ in 0..2 {
        assert_eq!(
            list(&[]),
            [
                row("vendor/now", "settings"),
                row("vendor/listed", "catalogue")
            ]
        );
    }
    assert_eq!(asked("/catalogue.json"), before + 1);
    assert!(scratch.exists("cache/model_catalog.json"));
    // Turned off, it is not looked at.
    scratch.write("config.yaml", config(false));
    assert!(list(&[]).len() > 20);
    // The provider itself, which is asked once an hour.
    let own = serde_json::json!({"data": [{"id": "vendor/now"}, {"id": "vendor/two"}]});
    server.route("/v1/models", Reply::json(200, &own));
    let before = asked("/v1/models");
    let live = [row("vendor/now", "provider"), row("vendor/two", "provider")];
    assert_eq!(list(&[]), live);
    server.route("/v1/models", Reply::error(500, "broken"));
    assert_eq!(list(&[]), live);
    assert_eq!(asked("/v1/models"), before + 1);
    // Asked again, and not answered: nothing of what was known is shown as new.
    assert!(
        list(&["--refresh"])
            .iter()
            .all(|(_, source)| source != "provider")
    );
    // Everything of this is in the plain list, too.
    let text = scratch.ok(["model", "--list", "--provider", "anthropic"]);
    assert!(text.contains("needs a key, snapshot of 2026"), "{text}");
    scratch.fails(1, ["model", "--list", "--provider", "nosuch"]);
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
