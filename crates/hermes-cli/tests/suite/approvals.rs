//! Who may run what, through the binary: every mode, every list, and the rules for
//! when nobody is there.

use hermes_testkit::model::Reply;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::stage::Stage;

/// A dangerous command whose effect can be seen.
const REMOVE: &str = "rm -rf build";

fn stage(more: &str) -> Stage {
    let stage = Stage::with(more);
    stage.calls("terminal", json!({"command": REMOVE}));
    std::fs::create_dir(stage.scratch.user_home().join("build")).unwrap();
    stage
}

fn removed(stage: &Stage) -> bool {
    !stage.scratch.user_home().join("build").exists()
}

fn result(stage: &Stage) -> Value {
    let text = stage.last_result();
    serde_json::Deserializer::from_str(&text)
        .into_iter::<Value>()
        .next()
        .unwrap()
        .unwrap()
}

#[test]
fn without_a_person_worker_mode_decides() {
    let denied = stage("");
    assert_eq!(denied.run(&["-z", "go"]).code, 0);
    let said = result(&denied);
    assert_eq!(
        (&said["status"], &said["outcome"], &said["user_consent"]),
        (&json!("blocked"), &json!("denied"), &json!(false))
    );
    let error = said["error"].as_str().unwrap();
    assert!(
        error.contains("recursive delete") && error.contains("approvals.worker_mode"),
        "{error}"
    );
    assert!(!removed(&denied));

    let allowed = stage("approvals: {worker_mode: allow}\n");
    allowed.run(&["-z", "go"]);
    assert!(removed(&allowed), "{}", result(&allowed));
}

#[test]
fn a_model_judges_where_it_shall() {
    for (verdict, more, gone) in [
        ("APPROVE", "approvals: {worker_mode: smart}\n", true),
        ("DENY", "approvals: {worker_mode: smart}\n", false),
        ("Let me think", "approvals: {worker_mode: smart}\n", false),
        ("APPROVE", "approvals: {mode: smart}\n", true),
    ] {
        let stage = stage(more);
        stage.server.push_for("judge", Reply::text(verdict));
        stage.run(&["-z", "go"]);
        assert_eq!(removed(&stage), gone, "{verdict}: {}", result(&stage));
        let requests = stage.server.requests();
        let asked = requests.iter().find(|one| one.model() == "judge").unwrap();
        let question = asked.last_message()["content"].as_str().unwrap();
        assert!(
            question.contains(REMOVE) && question.contains("recursive delete"),
            "{question}"
        );
        assert_eq!(asked.tool_names(), Vec::<&str>::new());
    }
}

#[test]
fn yolo_means_yes_but_not_to_everything() {
    for words in [&["--yolo", "-z", "go"][..], &["-z", "go"]] {
        let stage = stage("");
        let mut command = stage.command(words);
        if words.len() == 2 {
            command.env("HERMES_YOLO_MODE", "1");
        }
        command.output().unwrap();
        assert!(removed(&stage), "{words:?}: {}", result(&stage));
    }
    let off = stage("approvals: {mode: off}\n");
    off.run(&["-z", "go"]);
    assert!(removed(&off));

    for (command, what) in [
        ("rm -rf --no-preserve-root /", "BLOCKED (hardline)"),
        ("echo x | sudo -S true", "sudo -S"),
    ] {
        let stage = Stage::with("approvals: {mode: off, worker_mode: allow}\n");
        stage.calls("terminal", json!({"command": command}));
        stage.run(&["--yolo", "-z", "go"]);
        let error = result(&stage)["error"].as_str().unwrap().to_owned();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn the_allowlist_holds_for_its_keys_only() {
    let stage = stage("command_allowlist: [recursive delete, some old key]\n");
    stage.run(&["-z", "go"]);
    assert!(removed(&stage), "{}", result(&stage));
    stage.calls("terminal", json!({"command": "git reset --hard"}));
    stage.run(&["-z", "go"]);
    assert_eq!(result(&stage)["status"], "blocked");
}

#[test]
fn a_person_says_once_session_always_or_no() {
    let again = |stage: &Stage| {
        stage.calls("terminal", json!({"command": REMOVE}));
        stage.calls(
            "terminal",
            json!({"command": "mkdir -p build && rm -rf build"}),
        );
    };
    // Asked each time: the second answer is missing, and silence is a no.
    let once = Stage::new();
    again(&once);
    let ran = once.talk(&["chat"], &["go", "once", "again", "no", "/quit"]);
    assert_eq!(
        ran.stdout.matches("May this command run?").count(),
        2,
        "{ran:#?}"
    );
    assert!(once.last_result().contains("the user denied this"));

    // Asked once in this conversation, again in the next.
    let session = Stage::new();
    again(&session);
    session.calls("terminal", json!({"command": REMOVE}));
    let lines = [
        "go", "session", "again", "/new", "yes", "third", "deny", "/quit",
    ];
    let ran = session.talk(&["chat"], &lines);
    assert_eq!(
        ran.stdout.matches("May this command run?").count(),
        2,
        "{ran:#?}"
    );

    // Never again, in any process; what others stored there stays.
    let always = Stage::with("command_allowlist:\n  - some old key # kept\n");
    always.calls("terminal", json!({"command": REMOVE}));
    let ran = always.talk(&["chat"], &["go", "always", "/quit"]);
    assert_eq!(
        ran.stdout.matches("May this command run?").count(),
        1,
        "{ran:#?}"
    );
    let config = always.scratch.read("config.yaml");
    assert!(
        config.contains("some old key # kept") && config.contains("recursive delete"),
        "{config}"
    );
    always.calls("terminal", json!({"command": REMOVE}));
    always.run(&["-z", "go"]);
    assert_eq!(result(&always)["exit_code"], 0);
}

#[test]
fn yolo_is_switched_per_conversation() {
    let stage = Stage::new();
    for _ in 0..3 {
        stage.calls("terminal", json!({"command": REMOVE}));
    }
    let lines = ["/yolo", "one", "/new", "yes", "two", "no", "/quit"];
    let ran = stage.talk(&["chat"], &lines);
    assert_eq!(
        ran.stdout.matches("May this command run?").count(),
        1,
        "{ran:#?}"
    );
}

#[test]
fn nobody_answers_in_time() {
    let stage = stage("approvals: {timeout: 1}\n");
    // Nothing is typed until the model has heard of it.
    let ran = stage.talk_in_two(
        &["chat"],
        &["go"],
        || stage.wait_for_rounds(2),
        &["once", "/quit"],
    );
    assert!(ran.stdout.contains("May this command run?"), "{ran:#?}");
    let said = result(&stage);
    assert_eq!(said["outcome"], "timeout", "{said}");
    assert!(!removed(&stage));
}

#[test]
fn a_script_is_asked_about_as_a_whole_and_its_commands_too() {
    let code = "from hermes_tools import terminal\nprint(terminal('rm -rf build')['error'])";
    let denied = Stage::new();
    denied.calls("execute_code", json!({"code": code}));
    denied.run(&["-z", "go"]);
    assert_eq!(result(&denied)["status"], "blocked");

    // At a terminal the script runs, and its command is asked about.
    let asked = Stage::new();
    asked.calls("execute_code", json!({"code": code}));
    let ran = asked.talk(&["chat"], &["go", "no", "/quit"]);
    assert!(ran.stdout.contains("rm -rf build"), "{ran:#?}");
    assert!(asked.last_result().contains("the user denied this"));
}

#[test]
fn a_script_is_judged_by_what_stands_in_it() {
    let write = |path: &str, text: &str| {
        Reply::tool_call("write_file", json!({"path": path, "content": text}))
    };
    for (path, text, command) in [
        ("x.sh", "cd .\nrm -rf build\n", "bash x.sh"),
        ("x.sh", "rm -rf build\n", "cat x.sh | sh"),
        ("sub/x", "rm -rf ../build\n", "cd sub && . ./x"),
        ("~/x.sh", "rm -rf build\n", "sh ~/x.sh"),
        ("a.sh", "bash b.sh\n", "bash a.sh"),
        (
            "x.py",
            "import shutil\nshutil.rmtree('build')\n",
            "python3 x.py",
        ),
    ] {
        let stage = Stage::new();
        let home = stage.scratch.user_home();
        std::fs::create_dir(home.join("build")).unwrap();
        std::fs::write(home.join("b.sh"), "rm -rf build\n").unwrap();
        stage
            .says(write(path, text))
            .calls("terminal", json!({"command": command}));
        stage.run(&["-z", "go"]);
        let said = result(&stage);
        assert_eq!(said["status"], "blocked", "{command}: {said}");
        assert!(!removed(&stage), "{command}");
    }
    // What only prints such words runs.
    let stage = Stage::new();
    stage
        .says(write("x.sh", "echo 'never rm -rf /'\n"))
        .calls("terminal", json!({"command": "bash x.sh"}));
    stage.run(&["-z", "go"]);
    assert_eq!(result(&stage)["exit_code"], 0, "{}", result(&stage));
}

#[test]
fn a_tool_of_the_project_runs_unless_it_does_what_is_never_run() {
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(86_400);
    for (text, blocked) in [("rm -rf build\n", false), ("true || rm -rf /\n", true)] {
        let stage = Stage::with("approvals: {mode: off}\n");
        let home = stage.scratch.user_home();
        std::fs::create_dir(home.join("build")).unwrap();
        let script = home.join("clean.sh");
        std::fs::write(&script, text).unwrap();
        let file = std::fs::File::options().write(true).open(&script).unwrap();
        file.set_modified(old).unwrap();
        if !blocked {
            stage.configure("");
        }
        stage.calls("terminal", json!({"command": "sh clean.sh"}));
        stage.run(&["-z", "go"]);
        let said = result(&stage);
        assert_eq!(said["status"] == "blocked", blocked, "{said}");
        assert_eq!(removed(&stage), !blocked);
    }
}

#[test]
fn a_person_sees_the_line_of_the_script() {
    let stage = Stage::new();
    stage
        .says(Reply::tool_call(
            "write_file",
            json!({"path": "x.sh", "content": "cd /tmp\nrm -rf build\n"}),
        ))
        .calls("terminal", json!({"command": "bash x.sh"}));
    let ran = stage.talk(&["chat"], &["go", "no", "/quit"]);
    assert!(ran.stdout.contains("x.sh: rm -rf build"), "{ran:#?}");
}
