//! A turn of twenty calls, killed at some point, gone on with, and compared.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use super::stored_messages;
use crate::TestHome;
use crate::model::{ModelServer, Recorded, Reply};
use crate::process::Running;

const CALLS: usize = 20;

/// When to kill: so long after that many requests have arrived.
#[derive(Clone, Copy, Debug)]
pub struct KillPoint {
    /// From 1 to 21.
    pub request: usize,
    pub after: Duration,
}

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

/// Role and content of a message.
fn said(message: &Value) -> (String, String) {
    (
        message["role"].as_str().unwrap_or("").to_owned(),
        message["content"].as_str().unwrap_or("").trim().to_owned(),
    )
}

/// Kills a turn there and goes on with its session. `Err` says what was lost.
pub fn killed_turn(program: &Path, point: KillPoint) -> Result<(), String> {
    let (home, server) = (TestHome::new(), ModelServer::start());
    home.config_for(&server, "  context_length: 200000\n");
    server.fallback(twenty_calls);
    let mut command = home.command(program);
    command.args(["chat", "-Q", "-q", "do twenty things"]);
    let child = Running::start(command);
    server.wait_for_requests(point.request);
    std::thread::sleep(point.after);
    child.kill9();

    // Whatever a request carried was on disk before it was sent.
    let requests = server.requests();
    let last = requests.last().ok_or("no request arrived")?;
    let (id, messages) = session(program, &home)?;
    let on_disk: Vec<_> = messages.iter().map(said).collect();
    let carried: Vec<_> = last.messages()[1..].iter().map(said).collect();
    if !on_disk.starts_with(&carried) {
        return Err(format!(
            "killed at {point:?}: a request carried {carried:?}, on disk were {on_disk:?}"
        ));
    }

    let output = home
        .command(program)
        .args(["chat", "-Q", "-q", "go on", "--resume", &id])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() || output.stdout != b"all done\n" {
        return Err(format!("killed at {point:?}: the resume ended {output:?}"));
    }
    let (_, messages) = session(program, &home)?;
    let calls: usize = messages
        .iter()
        .map(|message| message["tool_calls"].as_array().map_or(0, Vec::len))
        .sum();
    let results = messages.iter().filter(|m| m["role"] == "tool").count();
    if calls != results {
        return Err(format!(
            "killed at {point:?}: {calls} calls have {results} results"
        ));
    }
    let resumed = &server.requests()[requests.len()];
    let again: Vec<_> = resumed.messages()[1..].iter().map(said).collect();
    // An unanswered question and the next one become a single message.
    let settled = if carried.len() == 1 { 0 } else { carried.len() };
    let same = again.starts_with(&carried[..settled])
        && again[0].1.starts_with("do twenty things")
        && resumed.messages()[0] == last.messages()[0];
    if !same {
        return Err(format!(
            "killed at {point:?}: the resumed request does not begin like the one before"
        ));
    }
    Ok(())
}

fn session(program: &Path, home: &TestHome) -> Result<(String, Vec<Value>), String> {
    stored_messages(program, home, "cli")?
        .pop()
        .ok_or_else(|| "no session is stored".to_owned())
}
