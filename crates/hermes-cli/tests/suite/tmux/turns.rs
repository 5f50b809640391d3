//! What happens while Hermes works.

use hermes_testkit::model::{Gate, Reply};
use hermes_testkit::process::wait_until_gone;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::Stage;

pub(super) fn sleeping(mark: &str) -> Reply {
    Reply::tool_call(
        "terminal",
        json!({"command": format!("echo $$ > {mark}; exec sleep 300")}),
    )
}

pub(super) fn pid_in(stage: &Stage, mark: &str) -> u32 {
    let path = stage.scratch.user_home().join(mark);
    let deadline = std::time::Instant::now() + hermes_testkit::PATIENCE;
    loop {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if let Ok(pid) = text.trim().parse() {
            return pid;
        }
        assert!(std::time::Instant::now() < deadline, "the tool never ran");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn control_c_stops_the_turn_and_its_command() {
    let stage = Stage::new();
    stage.push(sleeping("mark"));
    stage.push(Reply::text("back again"));
    let chat = stage.chat(&[]);
    chat.enter("sleep").wait_for("sleep 300");
    let pid = pid_in(&stage, "mark");
    chat.keys(&["C-c"]).wait_for("stopped");
    wait_until_gone(pid);
    chat.enter("still there?").wait_for("back again");
    chat.enter("/quit").wait_for("hermes --resume ");
    assert_eq!(chat.exit_code(), 0);
}

#[test]
fn a_message_while_working_interrupts_and_is_answered_next() {
    let stage = Stage::new();
    stage.push(sleeping("mark"));
    stage.push(Reply::text("an answer to the second"));
    let chat = stage.chat(&[]);
    chat.enter("the first");
    let pid = pid_in(&stage, "mark");
    chat.enter("the second").wait_for("an answer to the second");
    wait_until_gone(pid);
    assert_eq!(stage.last_question(), "the second");
}

#[test]
fn messages_are_queued_and_guidance_reaches_the_running_turn() {
    let stage = Stage::new();
    let gate = Gate::new();
    stage.push(Reply::tool_call("terminal", json!({"command": "echo tool ran"})).held_by(&gate));
    stage.push(Reply::text("first is done"));
    stage.push(Reply::text("second is done"));
    let chat = stage.chat(&[]);
    chat.enter("go");
    gate.wait_reached();
    chat.enter("/queue and then this")
        .wait_for("next: and then this");
    chat.enter("/steer in French please")
        .wait_for("› in French please  (goes to the model");
    // A command that needs an idle agent follows too.
    chat.enter("/title a good name")
        .wait_for("/title follows this turn");
    gate.release();
    chat.wait_for("second is done");
    chat.wait_for("This session is called “a good name”.");
    let requests = stage.requests();
    let tool = requests[1].last_message()["content"].to_string();
    assert!(
        tool.contains("tool ran") && tool.contains("in French please"),
        "{tool}"
    );
    assert_eq!(stage.last_question(), "and then this");
}

#[test]
fn an_answer_streams_while_it_is_written() {
    let stage = Stage::new();
    let gate = Gate::new();
    stage.push(
        Reply::text("The first half")
            .then_stall(&gate)
            .then_text(" and the rest.\n\n| a | b |\n|---|---|\n| 漢字 | 2 |\n"),
    );
    let chat = stage.chat(&[]);
    chat.enter("tell me").wait_for("The first half");
    gate.release();
    let screen = chat.wait_for("漢字 │ 2");
    assert!(screen.contains("The first half and the rest."), "{screen}");
    assert!(screen.contains("a    │ b"), "{screen}");
}

#[test]
fn tools_show_their_time_their_failure_and_their_diff() {
    let stage = Stage::new();
    std::fs::write(stage.scratch.user_home().join("a.txt"), "old line\n").unwrap();
    stage.push(Reply::tool_call(
        "patch",
        json!({"mode": "replace", "path": "a.txt", "old_string": "old", "new_string": "new"}),
    ));
    stage.push(Reply::tool_call(
        "read_file",
        json!({"path": "missing.txt"}),
    ));
    stage.push(Reply::text("all done"));
    let chat = stage.chat(&[]);
    let screen = chat.enter("edit").wait_for("all done");
    assert!(
        screen.contains("-old line") && screen.contains("+new line"),
        "{screen}"
    );
    let failed = screen
        .lines()
        .find(|line| line.contains('✗'))
        .expect(&screen);
    assert!(
        failed.contains("read_file") && !failed.contains('{'),
        "{failed}"
    );
}

#[test]
fn a_failed_turn_says_why_and_the_chat_goes_on() {
    let stage = Stage::new();
    stage.push(Reply::error(401, "bad key"));
    stage.push(Reply::text("better now"));
    let chat = stage.chat(&[]);
    chat.enter("hi").wait_for("bad key");
    chat.enter("hi again").wait_for("better now");
}

#[test]
fn a_session_goes_on_with_a_recap() {
    let stage = Stage::new();
    stage.push(Reply::text("A heron it is."));
    let chat = stage.chat(&[]);
    chat.enter("remember the heron").wait_for("A heron it is.");
    chat.enter("/quit");
    let summary = chat.wait_for("Messages:  2 (1 user, 0 tool calls)");
    assert_eq!(chat.exit_code(), 0);
    let line = summary
        .lines()
        .find(|line| line.contains("hermes --resume "))
        .unwrap();
    let id = line.rsplit(' ').next().unwrap();
    stage.push(Reply::text("It was a heron."));
    let chat = stage.chat(&["--resume", id]);
    let screen = chat.wait_for("resumed session");
    assert!(screen.contains("● You: remember the heron"), "{screen}");
    assert!(screen.contains("◆ Hermes: A heron it is."), "{screen}");
    chat.enter("which bird?").wait_for("It was a heron.");
    assert_eq!(stage.requests()[1].messages().len(), 4);
    chat.keys(&["C-d"]);
    assert_eq!(chat.exit_code(), 0);
    // What does not exist is said before the screen is touched, and fails.
    let chat =
        hermes_testkit::tmux::Terminal::start(&stage.command(&["--resume", "nonsense"]), 80, 24);
    chat.wait_for("hermes sessions list");
    assert_eq!(chat.exit_code(), 1);
}
