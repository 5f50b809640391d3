//! Slash commands, in the terminal.

use hermes_testkit::model::{Gate, ModelServer, Reply};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::{Stage, input_line};

#[test]
fn what_was_said_can_be_retried_looked_at_saved_and_copied() {
    let stage = Stage::new();
    let chat = stage.chat(&[]);
    stage.push(Reply::text("one answer"));
    chat.enter("a question").wait_for("one answer");
    stage.push(Reply::text("another answer"));
    chat.enter("/retry").wait_for("another answer");
    assert_eq!(
        stage.requests()[0].messages(),
        stage.requests()[1].messages()
    );
    chat.enter("/history").wait_for("◆ Hermes: another answer");
    chat.enter("/usage").wait_for("input tokens");
    let screen = chat.enter("/status").wait_for("messages");
    assert!(!screen.contains("─┼─"), "facts have no headings:\n{screen}");
    chat.enter("/copy").wait_for("Copied.");
    chat.enter("/save").wait_for("Written to");
    let saved = std::fs::read_dir(stage.scratch.home().join("sessions/saved")).unwrap();
    let saved = saved.last().unwrap().unwrap().path();
    assert!(
        std::fs::read_to_string(saved)
            .unwrap()
            .contains("another answer")
    );
    chat.enter("/frobnicate")
        .wait_for("there is no command /frobnicate");
    chat.enter("/voice").wait_for("/voice is not built yet");
    chat.enter("/quit --delete").wait_for("was removed.");
    assert_eq!(chat.exit_code(), 0);
    assert_eq!(
        stage.scratch.ok(["sessions", "list"]),
        "No sessions found.\n"
    );
}

#[test]
fn a_branch_goes_on_in_a_copy() {
    let stage = Stage::new();
    let chat = stage.chat(&[]);
    stage.push(Reply::text("trunk answer"));
    chat.enter("trunk question").wait_for("trunk answer");
    chat.enter("/branch a twig").wait_for("This is a copy now");
    stage.push(Reply::text("twig answer"));
    chat.enter("twig question").wait_for("twig answer");
    assert_eq!(stage.requests()[1].messages().len(), 4);
    chat.keys(&["C-d"]).wait_for("hermes -c \"a twig\"");
    let listed = stage.scratch.ok(["sessions", "list"]);
    assert!(
        listed.contains("a twig") && listed.lines().count() >= 3,
        "{listed}"
    );
}

#[test]
fn pickers_find_sessions_models_and_sandboxes() {
    let stage = Stage::new();
    stage.server.models(vec![
        json!({"id": ModelServer::DEFAULT_MODEL}),
        json!({"id": "second-model"}),
    ]);
    let chat = stage.chat(&[]);
    stage.push(Reply::text("about herons"));
    chat.enter("tell me of herons").wait_for("about herons");
    // Models: the list is that of `hermes model --list`.
    chat.enter("/model").wait_for("type to filter");
    chat.type_text("second").wait_for("❯ second-model");
    chat.keys(&["Enter"]).wait_for("From now on: second-model");
    stage
        .server
        .push_for("second-model", Reply::text("the other one speaks"));
    chat.enter("who are you?").wait_for("the other one speaks");
    let asked = stage.server.requests().last().unwrap().last_message()["content"].to_string();
    assert!(
        asked.contains("changed from scripted-model to second-model"),
        "{asked}"
    );
    // Sessions.
    chat.enter("/new now").wait_for("A new session.");
    chat.enter("/sessions").wait_for("type to filter");
    chat.keys(&["Enter"]).wait_for("Going on with");
    chat.wait_for("● You: tell me of herons");
    // Sandboxes: chosen, shown in the status line, told to the model.
    chat.enter("/sandbox").wait_for("local (now)");
    chat.keys(&["Escape"]).wait_gone("local (now)");
    chat.enter("/sandbox use nowhere").wait_for("nowhere");
    chat.enter("/sandbox").wait_for("local (now)");
    chat.type_text("docker").keys(&["Enter"]);
    chat.wait_for("run in docker from now on");
    chat.wait_until("the status line", |screen| {
        screen
            .lines()
            .any(|line| line.starts_with("⚕") && line.contains("docker"))
    });
}

#[test]
fn processes_in_the_background_are_listed_ended_and_told() {
    let stage = Stage::new();
    stage.push(Reply::tool_call(
        "terminal",
        json!({"command": "sleep 300", "background": true}),
    ));
    stage.push(Reply::text("it runs"));
    let chat = stage.chat(&[]);
    chat.enter("start it").wait_for("it runs");
    chat.wait_for("⚙ 1");
    chat.enter("/agents").wait_for("sleep 300");
    chat.enter("/stop")
        .wait_for("Ended 1 background process(es).");
    chat.enter("/agents")
        .wait_for("Nothing runs in the background.");
    // One that ends by itself is told to the model when it is idle.
    stage.push(Reply::tool_call(
        "terminal",
        json!({"command": "echo result of the work", "background": true, "notify_on_complete": true}),
    ));
    stage.push(Reply::text("under way"));
    stage.push(Reply::text("I heard of it"));
    let screen = chat.enter("again").wait_for("I heard of it");
    // The person sees a line of the program, not words that look like their own.
    assert!(
        screen.contains("ended with exit code 0: echo result") && !screen.contains("IMPORTANT"),
        "{screen}"
    );
    assert!(
        stage.last_question().contains("result of the work"),
        "{}",
        stage.last_question()
    );
}

#[test]
fn yolo_and_the_budget_are_in_the_status_line() {
    let stage = Stage::with("budget:\n  per_session:\n    tokens: 100000\n");
    let victim = stage.scratch.user_home().join("old-build");
    std::fs::create_dir(&victim).unwrap();
    stage.push(Reply::tool_call(
        "terminal",
        json!({"command": "rm -rf old-build"}),
    ));
    stage.push(Reply::text("gone without a question"));
    let chat = stage.chat(&[]);
    chat.enter("/yolo").wait_for("⚠ YOLO");
    chat.enter("clean up").wait_for("gone without a question");
    assert!(!victim.exists());
    chat.wait_until("the budget", |screen| {
        screen.contains(" of 100000 tokens this session")
    });
    chat.enter("/yolo")
        .wait_for("Dangerous commands are asked about.");
    chat.wait_gone("⚠ YOLO");
}

#[test]
fn the_conversation_is_condensed_on_request() {
    let stage = Stage::new();
    let chat = stage.chat(&[]);
    chat.enter("/compress").wait_for("nothing to condense");
    for number in 0..6 {
        stage.push(Reply::text(format!(
            "answer {number} {}",
            "word ".repeat(40)
        )));
        chat.enter(&format!("question {number}"))
            .wait_for(&format!("answer {number}"));
        chat.wait_until("an idle prompt", |screen| input_line(screen).trim() == "❯");
    }
    stage.push(Reply::text("## Goal\nA summary of all that."));
    chat.enter("/compress")
        .wait_for("the conversation was condensed");
}

#[test]
fn a_question_beside_is_answered_beside() {
    let stage = Stage::new();
    let gate = Gate::new();
    let chat = stage.chat(&[]);
    stage.push(Reply::text("the answer from beside").held_by(&gate));
    chat.enter("/bg what is beside?")
        .wait_for("Background 1 is under way");
    gate.wait_reached();
    stage.push(Reply::text("the answer in the conversation"));
    chat.enter("and here?")
        .wait_for("the answer in the conversation");
    gate.release();
    chat.wait_for("the answer from beside");
    // It is in a session of its own, which `-c` does not go on with.
    assert_eq!(stage.requests()[1].messages().len(), 2);
}

#[test]
fn questions_beside_are_listed_and_stopped() {
    let stage = Stage::new();
    let gate = Gate::new();
    let chat = stage.chat(&[]);
    stage.push(Reply::text("never said").held_by(&gate));
    chat.enter("/bg count the herons")
        .wait_for("Background 1 is under way");
    gate.wait_reached();
    chat.wait_for("▶ 1");
    chat.enter("/agents").wait_for("bg 1 ");
    chat.wait_until("what it is about", |screen| {
        screen
            .lines()
            .any(|line| line.starts_with("bg 1") && line.contains("count the herons"))
    });
    chat.enter("/stop")
        .wait_for("Ended 1 background question(s).");
    chat.wait_for("It was stopped.");
    chat.wait_gone("▶ 1");
    chat.enter("/agents")
        .wait_for("Nothing runs in the background.");
    // One that is under way when the chat ends does not hold it up.
    stage.push(Reply::text("never said either").held_by(&Gate::new()));
    chat.enter("/bg count the storks")
        .wait_for("Background 2 is under way");
    chat.enter("/quit");
    assert_eq!(chat.exit_code(), 0);
}

#[test]
fn reasoning_is_set_for_good_and_shown_on_request() {
    let stage = Stage::new();
    let chat = stage.chat(&[]);
    chat.enter("/reasoning high").wait_for("Reasoning: high");
    chat.enter("/reasoning show")
        .wait_for("is shown from now on");
    let config = stage.scratch.read("config.yaml");
    assert!(
        config.contains("reasoning_effort: high") && config.contains("show_reasoning: true"),
        "{config}"
    );
    let gate = Gate::new();
    stage.push(
        Reply::reasoning("a thought to be seen")
            .then_stall(&gate)
            .then_text("an answer"),
    );
    chat.enter("think").wait_for("a thought to be seen");
    gate.release();
    chat.wait_for("an answer");
    chat.enter("/reasoning sideways")
        .wait_for("is no level of reasoning");
}

#[test]
fn a_worktree_is_made_for_the_chat_and_removed_after_it() {
    let stage = Stage::new();
    let repository = stage.scratch.user_home().join("repository");
    std::fs::create_dir(&repository).unwrap();
    let git = |words: &[&str]| {
        let mut command = std::process::Command::new("git");
        command
            .args(["-c", "user.name=a", "-c", "user.email=a@b"])
            .args(words);
        let output = command.current_dir(&repository).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    git(&["init", "-q"]);
    git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    stage.push(Reply::tool_call("terminal", json!({"command": "pwd"})));
    stage.push(Reply::text("that is where"));
    let mut command = stage.command(&["-w"]);
    command.current_dir(&repository);
    let chat = hermes_testkit::tmux::Terminal::start(&command, 80, 24);
    chat.wait_for("❯");
    chat.enter("where are you?").wait_for("that is where");
    assert!(
        stage
            .last_question()
            .contains("/repository/.worktrees/hermes-")
    );
    chat.enter("/quit");
    assert_eq!(chat.exit_code(), 0);
    assert_eq!(git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn own_commands_and_skills_are_commands_too() {
    let stage = Stage::with(
        "quick_commands:\n  hi:\n    type: exec\n    command: echo hello from the shell\n  zz:\n    type: alias\n    \
         target: status\n",
    );
    stage.scratch.write(
        "skills/greet/SKILL.md",
        "---\nname: greet\ndescription: How to greet.\n---\nAlways bow first.\n",
    );
    let chat = stage.chat(&[]);
    chat.wait_for(" tools · 1 skill · session 20");
    // They are in the menu, with what they do, and in the help.
    chat.type_text("/h")
        .wait_for("runs echo hello from the shell");
    chat.keys(&["C-u"])
        .type_text("/gree")
        .wait_for("How to greet.");
    chat.keys(&["C-u"]);
    chat.enter("/hi").wait_for("hello from the shell");
    chat.enter("/zz").wait_for("profile");
    stage.push(Reply::text("bowing"));
    chat.enter("/greet the queen").wait_for("bowing");
    let asked = stage.last_question();
    assert!(
        asked.contains("Always bow first.") && asked.contains("the queen"),
        "{asked}"
    );
}
