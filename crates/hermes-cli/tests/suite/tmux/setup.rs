//! The first start, `hermes setup` and `hermes model`, with a person.

use hermes_testkit::model::{ModelServer, Reply};
use hermes_testkit::tmux::Terminal;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::super::support::Scratch;

/// Nobody listens there, whatever runs on this machine.
const NO_SERVERS: &str = "local_servers: []\n";

#[test]
fn the_first_start_offers_ways_on_and_the_demo_works_at_once() {
    let scratch = Scratch::new();
    scratch.write("config.yaml", NO_SERVERS);
    let chat = Terminal::start(&scratch.command::<&str>([]), 80, 24);
    let screen = chat.wait_for("q: leave):");
    assert!(screen.lines().count() <= 12, "too much to read:\n{screen}");
    // What is not there is asked about again.
    chat.enter("nonsense").wait_for("no `nonsense`");
    chat.enter("7").wait_for("no `7`");
    let screen = chat.enter("demo").wait_for("not a language model");
    assert!(screen.contains("❯"), "{screen}");
    chat.enter("hello").wait_for("list files in src");
    chat.enter("/quit").wait_for("hermes --resume ");
    assert_eq!(chat.exit_code(), 0);
    // Nothing was chosen for good, but that conversation goes on with who it was.
    assert_eq!(scratch.read("config.yaml"), NO_SERVERS);
    let chat = Terminal::start(&scratch.command(["-c"]), 80, 24);
    let screen = chat.wait_for("resumed session");
    assert!(!screen.contains("No model is set up"), "{screen}");
    let screen = chat
        .enter("/model nosuchmodel")
        .wait_for("demo goes on answering");
    assert!(!screen.contains("OPENROUTER_API_KEY"), "{screen}");
}

#[test]
fn the_first_start_can_be_left_and_enter_takes_what_was_told() {
    let scratch = Scratch::new();
    scratch.write("config.yaml", NO_SERVERS);
    for (key, code) in [("q", 0), ("", 130)] {
        let chat = Terminal::start(&scratch.command::<&str>([]), 40, 12);
        let screen = chat.wait_for("Enter: 1");
        assert!(screen.contains("1  setup"), "{screen}");
        // Narrow, and still whole words and nothing out of sight.
        assert!(
            screen.contains("Welcome to Hermes. No model is set up\n"),
            "{screen}"
        );
        match key {
            "" => chat.keys(&["C-c"]),
            word => chat.enter(word),
        };
        assert_eq!(chat.exit_code(), code, "{key}");
    }
    assert_eq!(scratch.read("config.yaml"), NO_SERVERS);
    // Enter takes the first: a model is chosen, and the chat begins with it.
    let chat = Terminal::start(&scratch.command::<&str>([]), 80, 24);
    chat.wait_for("Enter: 1");
    chat.keys(&["Enter"]).wait_for("Which model answers?");
    chat.type_text("demo model").keys(&["Enter"]);
    chat.wait_for("From now on: demo");
    chat.wait_for("demo · /help");
    chat.enter("/quit");
    assert_eq!(chat.exit_code(), 0);
    assert!(scratch.read("config.yaml").contains("provider: demo"));
}

/// What each kind of server answers beside the list that all of them have.
fn server_of_kind(kind: &str) -> ModelServer {
    let server = ModelServer::start();
    server.models(vec![
        json!({"id": ModelServer::DEFAULT_MODEL, "object": "model"}),
    ]);
    let (path, body) = match kind {
        "Ollama" => (
            "/api/tags",
            json!({"models": [{"name": ModelServer::DEFAULT_MODEL}]}),
        ),
        "LM Studio" => ("/api/v1/models", json!({"models": []})),
        "llama.cpp" => ("/props", json!({"total_slots": 1})),
        "vLLM" => ("/version", json!({"version": "0.11.0"})),
        _ => return server,
    };
    server.route(path, Reply::json(200, &body));
    server
}

#[test]
fn a_model_server_on_this_machine_is_found_and_used_at_the_first_start() {
    for kind in ["Ollama", "LM Studio", "llama.cpp", "vLLM", "a model server"] {
        let (scratch, server) = (Scratch::new(), server_of_kind(kind));
        server.fallback(|_| Reply::text("local greetings"));
        scratch.write(
            "config.yaml",
            format!("local_servers: [\"{}\"]\n", server.origin()),
        );
        let chat = Terminal::start(&scratch.command::<&str>([]), 80, 24);
        let screen = chat.wait_for("Enter: 1");
        let first = screen
            .lines()
            .find(|line| line.contains("1  "))
            .expect(&screen);
        let wanted = format!(
            "use {} from {kind} on this machine",
            ModelServer::DEFAULT_MODEL
        );
        assert!(first.contains(&wanted), "{screen}");
        chat.keys(&["Enter"]).wait_for("scripted-model · /help");
        chat.enter("hi").wait_for("local greetings");
        chat.enter("/quit");
        assert_eq!(chat.exit_code(), 0);
        let config = scratch.read("config.yaml");
        assert!(config.contains(&server.url()), "{config}");
        // Stored: nobody is asked again, and nobody looks around.
        server.push(Reply::text("still here"));
        let ran = scratch.run(["-z", "hi"]);
        assert_eq!(ran.stdout, "still here\n", "{ran:#?}");
    }
}

#[test]
fn ollama_is_found_where_its_own_variable_says() {
    let (scratch, server) = (Scratch::new(), server_of_kind("Ollama"));
    server.models(vec![json!({"id": "first:8b"}), json!({"id": "second:70b"})]);
    scratch.write("config.yaml", NO_SERVERS);
    let mut command = scratch.command::<&str>([]);
    command.env("OLLAMA_HOST", server.address().to_string());
    let chat = Terminal::start(&command, 80, 24);
    let screen = chat.wait_for("2 models: first:8b, …)");
    let wanted = format!("use Ollama on this machine, {}", server.address());
    assert!(screen.contains(&wanted), "{screen}");
    // By its name; and with several models one is asked which.
    chat.enter("Ollama").wait_for("Which of its models?");
    chat.type_text("second").keys(&["Enter"]);
    chat.wait_for("second:70b · /help");
    chat.enter("/quit");
    assert_eq!(chat.exit_code(), 0);
    assert!(scratch.read("config.yaml").contains("second:70b"));
    // Elsewhere is not this machine.
    let scratch = Scratch::new();
    scratch.write("config.yaml", NO_SERVERS);
    let mut command = scratch.command::<&str>([]);
    command.env("OLLAMA_HOST", "192.0.2.1:11434");
    let chat = Terminal::start(&command, 80, 24);
    let screen = chat.wait_for("q: leave):");
    assert!(!screen.contains("on this machine"), "{screen}");
}

#[test]
fn a_list_fits_a_small_screen_with_the_line_that_is_typed_into() {
    let scratch = Scratch::new();
    scratch.write("config.yaml", NO_SERVERS);
    let model = Terminal::start(&scratch.command(["model"]), 40, 12);
    let screen = model.wait_for("Which model answers?");
    assert!(screen.contains("/ ❯"), "{screen}");
    assert!(!screen.contains("……"), "{screen}");
    model.keys(&["Down"; 12]);
    model.wait_until("the twelfth entry", |screen| {
        screen
            .lines()
            .last()
            .is_some_and(|line| line.starts_with('❯'))
    });
    model.keys(&["Escape"]);
    assert_eq!(model.exit_code(), 0);
}

#[test]
fn a_quick_setup_asks_only_for_what_is_missing() {
    let scratch = Scratch::new();
    scratch.write("config.yaml", NO_SERVERS);
    let setup = Terminal::start(&scratch.command(["setup", "--quick"]), 80, 24);
    setup.wait_for("Which model answers?");
    setup.type_text("demo model").keys(&["Enter"]);
    setup.wait_for("Start a chat now?");
    setup.enter("n");
    assert_eq!(setup.exit_code(), 0);
    assert!(!setup.scrollback().contains("Where do commands run?"));
    let setup = Terminal::start(&scratch.command(["setup", "--quick"]), 80, 24);
    setup.wait_for("Nothing is missing");
    setup.wait_for("Start a chat now?");
    setup.keys(&["C-c"]);
    assert_eq!(setup.exit_code(), 0);
}

#[test]
fn leaving_the_setup_in_the_middle_says_what_was_stored() {
    let scratch = Scratch::new();
    scratch.write("config.yaml", NO_SERVERS);
    let setup = Terminal::start(&scratch.command(["setup"]), 80, 24);
    setup.wait_for("Which model answers?");
    setup.type_text("demo model").keys(&["Enter"]);
    setup.wait_for("speech is not built yet");
    setup.wait_for("Where do commands run?");
    setup.keys(&["C-c"]);
    let screen = setup.wait_for("stored before that: model");
    assert!(screen.contains("`hermes setup terminal`"), "{screen}");
    assert_eq!(setup.exit_code(), 130);
    // A line prompt is left in the same way, and a section is stored whole or not.
    let before = scratch.read("config.yaml");
    let setup = Terminal::start(&scratch.command(["setup", "terminal"]), 80, 24);
    setup.wait_for("Where do commands run?");
    setup.type_text("another machine").keys(&["Enter"]);
    setup.wait_for("Name of the machine");
    setup.enter("host.example").wait_for("User there");
    setup.keys(&["C-c"]).wait_for("nothing was changed");
    assert_eq!(setup.exit_code(), 130);
    assert_eq!(scratch.read("config.yaml"), before);
    for key in ["C-c", "Escape"] {
        let model = Terminal::start(&scratch.command(["model"]), 80, 24);
        model.wait_for("Which model answers?");
        let screen = model.keys(&[key]).wait_for("othing was changed");
        assert!(screen.to_lowercase().contains("nothing was changed"));
        assert_eq!(model.exit_code(), if key == "C-c" { 130 } else { 0 });
    }
    assert_eq!(scratch.read("config.yaml"), before);
}

#[test]
fn a_person_is_led_through_the_setup() {
    let (scratch, server) = (Scratch::new(), ModelServer::start());
    server.models(vec![
        json!({"id": ModelServer::DEFAULT_MODEL}),
        json!({"id": "second-model"}),
    ]);
    let setup = Terminal::start(&scratch.command(["setup"]), 80, 24);
    setup.wait_for("Which model answers?");
    setup.type_text("server of your own").keys(&["Enter"]);
    setup.wait_for("Address");
    setup.enter("nonsense").wait_for("no address");
    setup.enter(&server.url()).wait_for("A name for it [local-");
    setup.enter("mine").wait_for("Key");
    setup.keys(&["Enter"]).wait_for("What does it speak?");
    setup.keys(&["Enter"]).wait_for("Which of its models?");
    setup.type_text("scripted").wait_for("1/3");
    setup.keys(&["Enter"]).wait_for("On this machine (now)");
    setup
        .keys(&["Enter"])
        .wait_for("Which tools does a chat have?");
    setup.type_text("web").wait_for("[x] web");
    setup.keys(&["Enter"]).wait_for("Keep it like this");
    setup.keys(&["Enter"]).wait_for("How many steps");
    setup.enter("many").wait_for("no number of steps");
    setup.enter("12").wait_for("One line per call (now)");
    setup.keys(&["Enter"]).wait_for("You are asked (now)");
    setup.keys(&["Enter"]).wait_for("Start a chat now?");
    setup.enter("y").wait_for("scripted-model · /help");
    setup.enter("/quit");
    assert_eq!(setup.exit_code(), 0);
    let config = scratch.read("config.yaml");
    for part in [
        "provider: custom:mine",
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
