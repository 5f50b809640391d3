//! `hermes model` and `/model`, with a person.

use hermes_testkit::model::{ModelServer, Reply};
use hermes_testkit::tmux::Terminal;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::super::support::Scratch;
use super::Stage;

#[test]
fn models_are_chosen_from_the_list_that_is_printed() {
    let stage = Stage::new();
    stage.server.models(vec![
        json!({"id": ModelServer::DEFAULT_MODEL}),
        json!({"id": "second-model"}),
    ]);
    let listed: serde_json::Value =
        serde_json::from_str(&stage.scratch.ok(["model", "--list", "--json"])).unwrap();
    let rows = listed.as_array().unwrap();
    let ready: Vec<&str> = rows
        .iter()
        .filter(|row| row["ready"] == true)
        .map(|row| row["model"].as_str().unwrap())
        .collect();
    assert_eq!(ready, [ModelServer::DEFAULT_MODEL, "second-model", "demo"]);
    assert_eq!(listed[0]["current"], true);
    // The same list in the chat and in the verb, by the number of its rows.
    let chat = stage.chat(&[]);
    chat.enter("/model")
        .wait_for(&format!("Models {0}/{0}", rows.len()));
    chat.type_text("claude-opus-4-8").wait_for("needs a key");
    chat.keys(&["Escape"]).wait_gone("Models");
    chat.enter("/quit");
    assert_eq!(chat.exit_code(), 0);

    let picker = Terminal::start(&stage.command(&["model"]), 80, 24);
    let screen = picker.wait_for("Which model answers?");
    assert!(
        screen.contains("Your server at") && screen.contains("(now)"),
        "{screen}"
    );
    // By provider, then by model.
    picker.keys(&["Enter"]).wait_for("scripted-model (now)");
    picker.type_text("scnd").wait_for("❯ second-model");
    picker
        .keys(&["Enter"])
        .wait_for("From now on: second-model");
    assert_eq!(picker.exit_code(), 0);
    assert!(
        stage
            .scratch
            .read("config.yaml")
            .contains("default: second-model")
    );
    // Or by the model's name at once.
    let picker = Terminal::start(&stage.command(&["model"]), 80, 24);
    picker.wait_for("Which model answers?");
    picker.type_text("scripted").wait_for("❯ scripted-model");
    picker
        .keys(&["Enter"])
        .wait_for("From now on: scripted-model");
    assert_eq!(picker.exit_code(), 0);
    // Without a terminal it is said what to do instead.
    assert!(
        stage
            .scratch
            .fails(1, ["model"])
            .contains("hermes model --list")
    );
    stage.scratch.ok(["model", "demo", "--provider", "demo"]);
    let config = stage.scratch.read("config.yaml");
    assert!(config.contains("provider: demo"), "{config}");
}

#[test]
fn a_provider_without_a_key_asks_for_one_unseen_and_stores_it_privately() {
    let (scratch, server) = (Scratch::new(), ModelServer::start());
    scratch.write("config.yaml", "local_servers: []\n");
    let refused = json!({"error": {"message": "no such key"}});
    server.route("/v1/models", Reply::json(401, &refused));
    let mut command = scratch.command(["model"]);
    command.env("OPENROUTER_BASE_URL", server.url());
    let model = Terminal::start(&command, 80, 24);
    model.wait_for("Which model answers?");
    model.type_text("openrouter").keys(&["Enter"]);
    model.wait_for("Key for OpenRouter");
    model
        .enter("sk-or-wrong")
        .wait_for("the key was refused (401)");
    server.route(
        "/v1/models",
        Reply::json(
            200,
            &json!({"data": [{"id": "vendor/one"}, {"id": "vendor/two"}]}),
        ),
    );
    model.enter("sk-or-very-secret").wait_for("vendor/two");
    model.keys(&["Enter"]).wait_for("From now on: vendor/one");
    assert_eq!(model.exit_code(), 0);
    assert!(!model.scrollback().contains("very-secret"));
    let asked: Vec<String> = server
        .all_requests()
        .iter()
        .filter_map(|request| request.header("authorization").map(str::to_owned))
        .collect();
    assert_eq!(asked, ["Bearer sk-or-wrong", "Bearer sk-or-very-secret"]);
    assert!(
        scratch
            .read(".env")
            .contains("OPENROUTER_API_KEY=sk-or-very-secret")
    );
    assert!(!scratch.read("config.yaml").contains("very-secret"));
    let mode = std::fs::metadata(scratch.home().join(".env")).unwrap();
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&mode.permissions()) & 0o777,
        0o600
    );
    let listed = scratch.ok(["auth", "list"]);
    assert!(listed.contains("openrouter (1 credentials)"), "{listed}");
    // And it answers.
    server.push(Reply::text("from the router"));
    let mut command = scratch.command(["-z", "hi"]);
    command.env("OPENROUTER_BASE_URL", server.url());
    let ran = super::super::support::ran(command.output().unwrap());
    assert_eq!(ran.stdout, "from the router\n", "{ran:#?}");
}

#[test]
fn without_a_network_the_models_of_a_provider_are_a_snapshot_that_says_so() {
    let scratch = Scratch::new();
    scratch.write(
        "config.yaml",
        "local_servers: []\nmodel_catalog:\n  enabled: false\n",
    );
    let mut command = scratch.command(["model"]);
    command.env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
    let model = Terminal::start(&command, 80, 24);
    model.wait_for("Which model answers?");
    model.type_text("anthropic").keys(&["Enter"]);
    model.wait_for("Key for Anthropic");
    model
        .enter("sk-ant-api-1")
        .wait_for("The models of Anthropic: snapshot of 2026");
    let screen = model.wait_for("Which of its models?");
    assert!(screen.contains("The key is not checked"), "{screen}");
    model.type_text("sonnet-4-6").keys(&["Enter"]);
    model.wait_for("From now on: claude-sonnet-4-6 (anthropic)");
    assert_eq!(model.exit_code(), 0);
    // A name that is not in the list can be typed.
    let mut command = scratch.command(["model"]);
    command.env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
    let model = Terminal::start(&command, 80, 24);
    model.wait_for("Anthropic (now)");
    model.keys(&["Enter"]).wait_for("claude-sonnet-4-6 (now)");
    model.type_text("another one").keys(&["Enter"]);
    model.wait_for("Name of the model:");
    model.enter("claude-of-tomorrow");
    model.wait_for("From now on: claude-of-tomorrow");
    assert_eq!(model.exit_code(), 0);
}

#[test]
fn side_tasks_get_models_of_their_own_and_follow_the_main_one_again() {
    let stage = Stage::with("local_servers: []\n");
    stage.server.models(vec![
        json!({"id": ModelServer::DEFAULT_MODEL}),
        json!({"id": "small-model"}),
    ]);
    let menu = Terminal::start(&stage.command(&["model"]), 100, 24);
    menu.wait_for("Which model answers?");
    menu.type_text("side tasks").keys(&["Enter"]);
    let screen = menu.wait_for("compression: as the main model");
    assert!(screen.contains("title_generation: titles"), "{screen}");
    menu.type_text("compression").keys(&["Enter"]);
    menu.wait_for("Who does compression?");
    menu.type_text("small").keys(&["Enter"]);
    menu.wait_for("compression: small-model (custom)");
    let config = stage.scratch.read("config.yaml");
    assert!(config.contains("model: small-model"), "{config}");
    menu.type_text("approval").keys(&["Enter"]);
    menu.wait_for("Who does approval?");
    menu.type_text("server of its own").keys(&["Enter"]);
    menu.wait_for("Address");
    menu.enter(&stage.server.url()).wait_for("Key");
    menu.enter("judge-secret").wait_for("Which of its models?");
    menu.keys(&["Enter"]).wait_for("approval: scripted-model");
    let config = stage.scratch.read("config.yaml");
    assert!(
        config.contains("${AUXILIARY_APPROVAL_API_KEY}") && !config.contains("judge-secret"),
        "{config}"
    );
    assert!(stage.scratch.read(".env").contains("judge-secret"));
    menu.type_text("all as the main").keys(&["Enter"]);
    menu.wait_for("compression: as the main model");
    menu.keys(&["Escape"]).wait_for("Stored in");
    assert_eq!(menu.exit_code(), 0);
    let config = stage.scratch.read("config.yaml");
    assert!(!config.contains("small-model"), "{config}");
}

#[test]
fn a_server_of_ones_own_is_named_keyed_used_and_removed() {
    let (scratch, server) = (Scratch::new(), ModelServer::start());
    scratch.write("config.yaml", "# mine\nlocal_servers: []\n");
    server.fallback(|_| Reply::text("own answer"));
    let model = Terminal::start(&scratch.command(["model"]), 80, 24);
    model.wait_for("Which model answers?");
    model.type_text("server of your own").keys(&["Enter"]);
    model.wait_for("Address");
    model.enter(&server.url()).wait_for("A name for it");
    model.enter("openrouter").wait_for("name of a provider");
    model.enter("lab").wait_for("Key");
    model.enter("lab-secret").wait_for("What does it speak?");
    model.type_text("chat comp").keys(&["Enter"]);
    model.wait_for("Which of its models?");
    model.keys(&["Enter"]).wait_for("From now on: ");
    assert_eq!(model.exit_code(), 0);
    let config = scratch.read("config.yaml");
    for part in [
        "# mine",
        "custom:lab",
        "key_env: LAB_API_KEY",
        "openai_chat",
    ] {
        assert!(config.contains(part), "{part} in {config}");
    }
    assert!(!config.contains("lab-secret"), "{config}");
    assert_eq!(scratch.run(["-z", "hi"]).stdout, "own answer\n");
    let request = server.requests().pop().unwrap();
    assert_eq!(request.header("authorization"), Some("Bearer lab-secret"));

    let model = Terminal::start(&scratch.command(["model"]), 80, 24);
    model.wait_for("Which model answers?");
    model.type_text("remove a server").keys(&["Enter"]);
    model.wait_for("Which server is removed?");
    model.keys(&["Enter"]).wait_for("Remove lab");
    model.enter("y").wait_for("Removed lab");
    let screen = model.wait_for("hermes config unset LAB_API_KEY");
    assert!(screen.contains("`hermes model` chooses"), "{screen}");
    assert_eq!(model.exit_code(), 0);
    let config = scratch.read("config.yaml");
    assert!(!config.contains("lab"), "{config}");
    assert_eq!(scratch.run(["-z", "hi"]).code, 1);
}

#[test]
fn how_long_the_model_thinks_is_chosen_beside_it() {
    let stage = Stage::with("local_servers: []\n");
    for (choice, said) in [("long", "high"), ("left to the model", "")] {
        let model = Terminal::start(&stage.command(&["model"]), 80, 24);
        model.wait_for("Which model answers?");
        model.type_text("how long the model").keys(&["Enter"]);
        model.wait_for("How long may the model think?");
        model.type_text(choice).keys(&["Enter"]);
        model.wait_for("Stored in");
        assert_eq!(model.exit_code(), 0);
        let set = stage
            .scratch
            .run(["config", "get", "agent.reasoning_effort"]);
        assert_eq!(set.stdout.trim(), said, "{set:#?}");
    }
}
