//! Several processes in one conversation: one turn at a time, and every call of a
//! tool has exactly one result.

use hermes_testkit::model::Reply;
use hermes_testkit::process::Running;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::chat::Stage;

/// What a request carries as results, with the calls they answer.
fn results(messages: &[Value]) -> Vec<(String, String)> {
    messages
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| {
            let word = |key: &str| message[key].as_str().unwrap_or_default().to_owned();
            (word("tool_call_id"), word("content"))
        })
        .collect()
}

fn left_behind(stage: &Stage) -> Vec<String> {
    std::fs::read_dir(stage.scratch.home())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with(".turn-"))
        .collect()
}

/// A command that runs until the file `go` is there.
fn waiting() -> Reply {
    Reply::tool_call(
        "terminal",
        json!({"command": "until [ -e go ]; do sleep 0.05; done; echo RESULT_A"}),
    )
}

#[test]
fn a_second_process_does_not_take_a_running_call_for_dead() {
    let stage = Stage::new();
    stage.server.push(Reply::text("hello"));
    let first = stage.run(&["chat", "-Q", "-q", "hi"]);
    let id = stage.session(&first);
    stage.server.push(waiting());
    let owner = Running::start(stage.scratch.command(["-z", "A", "-c"]));
    stage.server.wait_for_requests(2);

    let refused = stage.run(&["-z", "B", "-c"]);
    assert_eq!(
        (refused.code, refused.stdout.as_str()),
        (1, ""),
        "{refused:#?}"
    );
    let words = format!("session {id} is in use: process {}", owner.pid());
    assert!(refused.stderr.contains(&words), "{refused:#?}");
    assert_eq!(stage.server.requests().len(), 2, "nothing was asked");

    stage.server.push(Reply::text("done"));
    std::fs::write(stage.scratch.user_home().join("go"), "").unwrap();
    let ended = owner.wait();
    assert_eq!(
        (ended.status.code(), ended.stdout.as_str()),
        (Some(0), "done\n"),
        "{ended:?}"
    );
    stage.server.push(Reply::text("later"));
    assert_eq!(stage.run(&["-z", "C", "-c"]).stdout, "later\n");
    let last = stage.server.requests().pop().unwrap();
    let [(_, result)] = &results(last.messages())[..] else {
        panic!("{:#?}", last.messages());
    };
    assert!(result.contains("RESULT_A"), "{result}");
    let said: Vec<&Value> = last
        .messages()
        .iter()
        .filter(|m| m["role"] == "user")
        .collect();
    assert_eq!(said.len(), 3, "B was not kept: {said:#?}");
    assert_eq!(left_behind(&stage), [""; 0]);
}

#[test]
fn a_killed_process_holds_nothing_and_its_call_gets_a_word() {
    let stage = Stage::new();
    stage.server.push(waiting());
    let owner = Running::start(stage.scratch.command(["-z", "A"]));
    stage.server.wait_for_requests(1);
    owner.kill9();
    assert_eq!(left_behind(&stage).len(), 1);
    stage.server.push(Reply::text("later"));
    let ran = stage.run(&["-z", "B", "-c"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "later\n"), "{ran:#?}");
    assert_eq!(left_behind(&stage), [""; 0]);
}
