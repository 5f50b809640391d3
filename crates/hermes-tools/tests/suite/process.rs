use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::support::{Bed, bed};

async fn start(bed: &Bed, arguments: Value) -> (String, Value) {
    let mut arguments = arguments;
    arguments["background"] = true.into();
    let result = bed.call(arguments).await;
    (
        result["session_id"].as_str().unwrap_or_default().to_owned(),
        result,
    )
}

async fn until_output(bed: &Bed, id: &str, text: &str) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !bed
        .process(json!({"action": "poll", "session_id": id}))
        .await["output_preview"]
        .as_str()
        .unwrap()
        .contains(text)
    {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_background_process_is_started_listed_polled_and_killed() {
    let bed = bed();
    let (id, started) = start(&bed, json!({"command": "echo up; sleep 60"})).await;
    assert_eq!(
        (&started["output"], &started["exit_code"], &started["error"]),
        (
            &json!("Background process started"),
            &json!(0),
            &Value::Null
        )
    );
    assert!(
        started["pid"].as_i64().is_some() && started["hint"].is_string(),
        "{started}"
    );
    until_output(&bed, &id, "up").await;
    let list = bed.process(json!({"action": "list"})).await;
    let row = &list["processes"][0];
    assert_eq!(
        (&row["session_id"], &row["status"], &row["command"]),
        (&json!(id), &json!("running"), &json!("echo up; sleep 60"))
    );
    assert!(
        row["started_at"].as_str().unwrap().len() == 19 && row["exit_code"].is_null(),
        "{row}"
    );
    assert_eq!(
        bed.process(json!({"action": "kill", "session_id": id}))
            .await,
        json!({"status": "killed", "session_id": id})
    );
    assert_eq!(
        bed.process(json!({"action": "kill", "session_id": id}))
            .await,
        json!({"status": "already_exited", "exit_code": -15})
    );
}

#[tokio::test]
async fn waiting_tells_the_end_or_that_there_is_none_yet() {
    let bed = bed();
    let (id, _) = start(
        &bed,
        json!({"command": "printf '\\033[1mdone\\033[0m'; exit 9"}),
    )
    .await;
    assert_eq!(
        bed.process(json!({"action": "wait", "session_id": id}))
            .await,
        json!({"status": "exited", "exit_code": 9, "output": "done"})
    );
    let (id, _) = start(&bed, json!({"command": "sleep 60"})).await;
    let waited = bed
        .process(json!({"action": "wait", "session_id": id, "timeout": 1}))
        .await;
    assert_eq!(waited["status"], "timeout");
    bed.process(json!({"action": "kill", "session_id": id}))
        .await;
}

#[tokio::test]
async fn a_log_is_read_from_its_end_or_from_a_line() {
    let bed = bed();
    let (id, _) = start(&bed, json!({"command": "seq 1 500"})).await;
    bed.process(json!({"action": "wait", "session_id": id}))
        .await;
    let last = bed
        .process(json!({"action": "log", "session_id": id, "limit": 3}))
        .await;
    assert_eq!(
        last,
        json!({"session_id": id, "status": "exited", "output": "498\n499\n500", "total_lines": 500, "showing": "3 lines", "exit_code": 0})
    );
    let from = bed
        .process(json!({"action": "log", "session_id": id, "offset": 10, "limit": 2}))
        .await;
    assert_eq!(from["output"], "11\n12");
}

#[tokio::test]
async fn input_is_submitted_and_closed() {
    let bed = bed();
    let (id, _) = start(
        &bed,
        json!({"command": "read -r a; echo \"got $a\"; cat; echo end"}),
    )
    .await;
    assert_eq!(
        bed.process(json!({"action": "submit", "session_id": id, "data": "one"}))
            .await,
        json!({"status": "ok", "bytes_written": 4})
    );
    until_output(&bed, &id, "got one").await;
    assert_eq!(
        bed.process(json!({"action": "write", "session_id": id, "data": "raw"}))
            .await,
        json!({"status": "ok", "bytes_written": 3})
    );
    assert_eq!(
        bed.process(json!({"action": "close", "session_id": id}))
            .await["status"],
        "ok"
    );
    let end = bed
        .process(json!({"action": "wait", "session_id": id}))
        .await;
    assert_eq!(end["output"], "got one\nrawend\n");
}

#[tokio::test]
async fn unknown_processes_and_actions_are_told() {
    let bed = bed();
    assert_eq!(
        bed.process(json!({"action": "poll", "session_id": "proc_x"}))
            .await,
        json!({"status": "not_found", "error": "No process with ID proc_x"})
    );
    assert!(bed.process(json!({"action": "poll"})).await["error"].is_string());
    assert!(
        bed.process(json!({"action": "dance", "session_id": "x"}))
            .await["error"]
            .is_string()
    );
    assert!(bed.process(json!({})).await["error"].is_string());
}

#[tokio::test]
async fn notices_are_asked_for_and_reach_the_session() {
    let bed = bed();
    let (_, both) = start(
        &bed,
        json!({"command": "true", "notify_on_complete": true, "watch_patterns": ["x"]}),
    )
    .await;
    assert!(
        both["watch_patterns_ignored"].is_string()
            && both["notify_on_complete"] == true
            && both["hint"].is_null(),
        "{both}"
    );
    let deadline = Instant::now() + Duration::from_secs(5);
    let notices = loop {
        let notices = bed
            .sandboxes
            .processes()
            .take_notices(|owner| owner.session_key == "s1");
        if !notices.is_empty() {
            break notices;
        }
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    assert!(notices[0].message().contains("completed (exit code 0)"));
}

#[tokio::test]
async fn a_terminal_is_given_on_request_and_not_to_a_token_login() {
    let bed = bed();
    let (id, _) = start(&bed, json!({"command": "tty -s && stty size", "pty": true})).await;
    let end = bed
        .process(json!({"action": "wait", "session_id": id}))
        .await;
    assert_eq!(end["output"].as_str().unwrap().trim(), "30 120");
    let (_, noted) = start(
        &bed,
        json!({"command": "gh auth login --with-token", "pty": true}),
    )
    .await;
    assert!(noted["pty_note"].is_string(), "{noted}");
}
