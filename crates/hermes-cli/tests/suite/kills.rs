//! kill -9 at any point of a turn: what was done is on disk, and the session goes
//! on from there.

use std::process::Stdio;
use std::time::Duration;

use hermes_home::Clock;
use hermes_store::{StateDb, StoredMessage};
use hermes_testkit::model::{ModelServer, Recorded, Reply};
use hermes_testkit::process::Running;
use hermes_types::{Role, SessionId};
use serde_json::{Value, json};

use super::support::Scratch;

const CALLS: usize = 20;

/// Answers with call after call until twenty results are there, then with text.
fn twenty_calls(request: &Recorded) -> Reply {
    let results = request
        .messages()
        .iter()
        .filter(|message| message["role"] == "tool")
        .count();
    if results < CALLS {
        Reply::tool_call(
            "write_file",
            json!({"path": format!("step-{results}.txt"), "content": format!("{results}")}),
        )
    } else {
        Reply::text("all done")
    }
}

fn stored(scratch: &Scratch) -> (SessionId, Vec<StoredMessage>) {
    let path = scratch.home().join("state.db");
    let database = StateDb::open_read_only(&path, Clock::System)
        .unwrap()
        .expect("there is a database");
    let id = database
        .newest_of_source("cli")
        .unwrap()
        .expect("a session");
    let messages = database.messages(&id).unwrap();
    (id, messages)
}

/// Role and content of a message as a request carries it.
fn sent(message: &Value) -> (String, String) {
    (
        message["role"].as_str().unwrap_or("").to_owned(),
        message["content"].as_str().unwrap_or("").to_owned(),
    )
}

#[test]
fn a_turn_killed_anywhere_keeps_its_steps_and_completes_after_a_resume() {
    // Spread over the whole turn; the odd microseconds land in different steps.
    let points: Vec<(usize, u64)> = (0..10)
        .map(|n| (1 + n * 2, (n as u64 * 1_733) % 9_000))
        .collect();
    for (request, microseconds) in points {
        let (scratch, server) = (Scratch::new(), ModelServer::start());
        scratch.write(
            "config.yaml",
            format!(
                "model:\n  default: {}\n  provider: custom\n  base_url: {}\n  api_key: k\n  context_length: 200000\n",
                ModelServer::DEFAULT_MODEL,
                server.url(),
            ),
        );
        server.fallback(twenty_calls);
        let child = Running::start(scratch.command(["chat", "-Q", "-q", "do twenty things"]));
        server.wait_for_requests(request);
        std::thread::sleep(Duration::from_micros(microseconds));
        child.kill9();

        // Whatever a request carried was on disk before it was sent.
        let requests = server.requests();
        let last = requests.last().unwrap();
        let (id, messages) = stored(&scratch);
        let on_disk: Vec<(String, String)> = messages
            .iter()
            .map(|row| {
                (
                    row.message.role.as_str().to_owned(),
                    row.message.content.text().trim().to_owned(),
                )
            })
            .collect();
        let carried: Vec<(String, String)> = last.messages()[1..].iter().map(sent).collect();
        assert_eq!(on_disk[..carried.len()], carried[..], "killed at {request}");

        let output = scratch
            .command(["chat", "-Q", "-q", "go on", "--resume", id.as_str()])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "all done\n");
        let (_, messages) = stored(&scratch);
        let calls: Vec<&str> = messages
            .iter()
            .flat_map(|row| &row.message.tool_calls)
            .map(|call| call.id.as_str())
            .collect();
        let results = messages
            .iter()
            .filter(|row| row.message.role == Role::Tool)
            .count();
        assert_eq!(calls.len(), results, "every call has one result");
        let resumed = &server.requests()[requests.len()];
        let again: Vec<(String, String)> = resumed.messages()[1..].iter().map(sent).collect();
        // An unanswered question and the next one become a single message.
        let settled = if carried.len() == 1 { 0 } else { carried.len() };
        assert_eq!(again[..settled], carried[..settled]);
        assert!(again[0].1.starts_with("do twenty things"));
        assert_eq!(resumed.messages()[0], last.messages()[0]);
    }
}
