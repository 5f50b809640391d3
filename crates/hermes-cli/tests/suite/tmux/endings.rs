//! How a chat ends: by a closed terminal, with a way back, before it began.

use hermes_testkit::model::{Gate, Reply};
use hermes_testkit::process::wait_until_gone;
use hermes_testkit::tmux::Terminal;
use pretty_assertions::assert_eq;

use super::Stage;
use super::turns::{pid_in, sleeping};

#[test]
fn a_closed_terminal_ends_the_command_and_leaves_a_complete_session() {
    let stage = Stage::new();
    stage.push(sleeping("mark"));
    let chat = stage.chat(&[]);
    chat.enter("sleep for me").wait_for("sleep 300");
    let (tool, program) = (pid_in(&stage, "mark"), chat.program());
    chat.close();
    wait_until_gone(tool);
    wait_until_gone(program);
    // It ended properly: the question, the call and a result for it are stored.
    let listed = stage.scratch.ok(["sessions", "list"]);
    let id = listed
        .split_whitespace()
        .find(|word| word.len() == 22 && word.as_bytes()[8] == b'_')
        .expect(&listed);
    let stored = stage
        .scratch
        .ok(["sessions", "export", "-", "--session-id", id]);
    assert!(stored.contains("\"end_reason\":\"cli_close\""), "{stored}");
    stage.push(Reply::text("where were we"));
    let chat = stage.chat(&["-c"]);
    chat.wait_for("● You: sleep for me");
    chat.enter("go on").wait_for("where were we");
    let request = stage.requests().pop().unwrap();
    let roles: Vec<String> = request
        .messages()
        .iter()
        .map(|message| message["role"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(roles[..4], ["system", "user", "assistant", "tool"]);
}

#[test]
fn a_closed_terminal_also_ends_a_chat_that_waits_or_streams() {
    let stage = Stage::new();
    let chat = stage.chat(&[]);
    let program = chat.program();
    chat.close();
    wait_until_gone(program);
    let gate = Gate::new();
    stage.push(Reply::text("half an answer").then_stall(&gate));
    let chat = stage.chat(&[]);
    chat.enter("speak").wait_for("half an answer");
    let program = chat.program();
    chat.close();
    wait_until_gone(program);
}

#[test]
fn a_closed_dumb_terminal_ends_the_command_too() {
    let stage = Stage::new();
    stage.push(sleeping("mark"));
    let mut command = stage.command(&[]);
    command.env("TERM", "dumb");
    let chat = Terminal::start(&command, 80, 24);
    chat.wait_until("a prompt", |screen| screen.ends_with("\n>"));
    chat.enter("sleep for me").wait_for("sleep 300");
    let (tool, program) = (pid_in(&stage, "mark"), chat.program());
    chat.close();
    wait_until_gone(tool);
    wait_until_gone(program);
}

#[test]
fn a_session_that_does_not_exist_is_said_before_anything_else() {
    let stage = Stage::new();
    let chat = Terminal::start(&stage.command(&["--resume", "nosuch"]), 80, 24);
    let screen = chat.wait_for("hermes sessions list");
    assert_eq!(chat.exit_code(), 1);
    assert!(!screen.contains("Hermes 0"), "{screen}");
}

#[test]
fn the_way_back_can_be_pasted_into_a_shell_whatever_the_title() {
    let stage = Stage::new();
    stage.push(Reply::text("noted"));
    let chat = stage.chat(&[]);
    chat.enter("hello").wait_for("noted");
    let title = "it's `id` for \"$HOME\"";
    chat.enter(&format!("/title {title}")).wait_for("is called");
    chat.enter("/quit");
    let screen = chat.wait_for("hermes -c ");
    assert_eq!(chat.exit_code(), 0);
    let line = screen
        .lines()
        .find(|line| line.contains("hermes -c "))
        .unwrap();
    let words = shlex::split(line).unwrap();
    assert_eq!(words, ["hermes", "-c", title]);
}
