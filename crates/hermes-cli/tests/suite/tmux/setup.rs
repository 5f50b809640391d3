//! The first start, `hermes setup` and `hermes model`, with a person.

use hermes_testkit::model::{ModelServer, Reply};
use hermes_testkit::tmux::Terminal;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::super::support::Scratch;
use super::Stage;

#[test]
fn the_first_start_offers_ways_on_and_the_demo_works_at_once() {
    let scratch = Scratch::new();
    let chat = Terminal::start(&scratch.command::<&str>([]), 80, 24);
    let screen = chat.wait_for("Type a number");
    assert!(screen.lines().count() <= 12, "too much to read:\n{screen}");
    let demo = screen
        .lines()
        .find(|line| line.contains("demo model"))
        .expect(&screen);
    let number = demo.trim().split(' ').next().unwrap().to_owned();
    let screen = chat.enter(&number).wait_for("not a language model");
    assert!(screen.contains("❯"), "{screen}");
    chat.enter("hello").wait_for("list files in src");
    chat.enter("/quit").wait_for("hermes --resume ");
    assert_eq!(chat.exit_code(), 0);
    // Nothing was chosen for good.
    assert!(!scratch.exists("config.yaml") || !scratch.read("config.yaml").contains("demo"));
    let chat = Terminal::start(&scratch.command::<&str>([]), 80, 24);
    chat.wait_for("Type a number");
    chat.keys(&["Enter"]).wait_for("hermes setup");
    assert_eq!(chat.exit_code(), 0);
}

#[test]
fn a_person_is_led_through_the_setup() {
    let (scratch, server) = (Scratch::new(), ModelServer::start());
    server.models(vec![
        json!({"id": ModelServer::DEFAULT_MODEL}),
        json!({"id": "second-model"}),
    ]);
    let setup = Terminal::start(&scratch.command(["setup"]), 80, 24);
    setup.wait_for("Where do models come from?");
    setup.type_text("of your own").wait_for("1/");
    setup.keys(&["Enter"]).wait_for("Address");
    setup.enter(&server.url()).wait_for("Key");
    setup.keys(&["Enter"]).wait_for("Which model?");
    setup.type_text("scripted").wait_for("1/2");
    setup.keys(&["Enter"]).wait_for("On this machine (now)");
    setup
        .keys(&["Enter"])
        .wait_for("Which tools does a chat have?");
    setup.type_text("web").wait_for("[x] web");
    setup.keys(&["Enter"]).wait_for("Keep it like this");
    setup.keys(&["Enter"]).wait_for("How many steps");
    setup.enter("12").wait_for("One line per call (now)");
    setup.keys(&["Enter"]).wait_for("You are asked (now)");
    setup.keys(&["Enter"]).wait_for("Start a chat now?");
    setup.enter("y").wait_for("scripted-model · /help");
    setup.enter("/quit");
    assert_eq!(setup.exit_code(), 0);
    let config = scratch.read("config.yaml");
    for part in [
        "provider: custom",
        &server.url(),
        "default: scripted-model",
        "max_turns: 12",
    ] {
        assert!(config.contains(part), "{part} in {config}");
    }
    let tools = scratch.ok(["tools", "list"]);
    assert!(
        tools.contains("✗ disabled  web") && tools.contains("✓ enabled  file"),
        "{tools}"
    );
    // One section alone, left with Escape: nothing changes.
    let setup = Terminal::start(&scratch.command(["setup", "terminal"]), 80, 24);
    setup.wait_for("On this machine (now)");
    setup.keys(&["Escape"]);
    assert_eq!(setup.exit_code(), 0);
    assert_eq!(scratch.read("config.yaml"), config);
    // And it works.
    server.push(Reply::text("set up and ready"));
    let ran = scratch.run(["-z", "hi"]);
    assert_eq!(ran.stdout, "set up and ready\n", "{ran:#?}");
}

#[test]
fn a_key_is_asked_for_unseen() {
    let scratch = Scratch::new();
    let mut command = scratch.command(["setup", "model"]);
    // No list of models is fetched from outside.
    command.env("OPENROUTER_BASE_URL", "http://127.0.0.1:9/v1");
    let setup = Terminal::start(&command, 80, 24);
    setup.wait_for("Where do models come from?");
    setup.type_text("openrouter").keys(&["Enter"]);
    setup.wait_for("Key for openrouter");
    setup
        .enter("sk-or-very-secret")
        .wait_for("Name of the model:");
    setup.enter("vendor/model").wait_for("Stored in");
    assert_eq!(setup.exit_code(), 0);
    assert!(!setup.scrollback().contains("very-secret"));
    assert!(
        scratch
            .ok(["auth", "list"])
            .contains("openrouter (1 credentials)")
    );
}

#[test]
fn models_are_chosen_from_the_list_that_is_printed() {
    let stage = Stage::new();
    stage.server.models(vec![
        json!({"id": ModelServer::DEFAULT_MODEL}),
        json!({"id": "second-model"}),
    ]);
    let listed: serde_json::Value =
        serde_json::from_str(&stage.scratch.ok(["model", "--list", "--json"])).unwrap();
    let names: Vec<&str> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["model"].as_str().unwrap())
        .collect();
    assert_eq!(names, [ModelServer::DEFAULT_MODEL, "second-model", "demo"]);
    assert_eq!(listed[0]["current"], true);
    let picker = Terminal::start(&stage.command(&["model"]), 80, 24);
    let screen = picker.wait_for("scripted-model (now)");
    assert!(
        screen.contains("second-model") && screen.contains("demo"),
        "{screen}"
    );
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
    // Without a terminal it is said what to do instead.
    assert!(
        stage
            .scratch
            .fails(1, ["model"])
            .contains("hermes model --list")
    );
    assert_eq!(
        stage
            .scratch
            .run(["model", "demo", "--provider", "demo"])
            .code,
        0
    );
    assert!(stage.scratch.read("config.yaml").contains("provider: demo"));
}
