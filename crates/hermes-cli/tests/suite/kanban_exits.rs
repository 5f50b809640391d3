//! A worker's own exit code, seen by whoever started it.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hermes_testkit::model::{Gate, Reply};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::kanban::{Stage, complete};

/// A worker for a task that is claimed by hand, as a dispatcher would start it.
fn worker(stage: &Stage, id: &str) -> Command {
    stage.ok(&format!("claim {id}"));
    let (run, lock): (i64, String) = stage
        .database()
        .query_row(
            "SELECT current_run_id, claim_lock FROM tasks WHERE id = ?1",
            [id],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .expect("a claim");
    let query = format!("work kanban task {id}");
    let mut command =
        stage
            .scratch
            .command(["-p", "alpha", "--accept-hooks", "chat", "-q", &query]);
    command
        .env("HERMES_KANBAN_TASK", id)
        .env("HERMES_KANBAN_RUN_ID", run.to_string())
        .env("HERMES_KANBAN_CLAIM_LOCK", lock)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn code(mut child: Child) -> Option<i32> {
    child.wait().expect("it ends").code()
}

#[test]
fn a_worker_exits_with_0_when_done_75_when_limited_and_1_when_broken() {
    let stage = Stage::with("agent:\n  api_max_retries: 1\n");
    let run = |reply: &dyn Fn() -> Reply| {
        let id = stage.create("x --assignee alpha");
        let made = reply();
        stage.server.push(made);
        let mut worker = worker(&stage, &id);
        let ended = code(worker.spawn().expect("the binary starts"));
        (ended, stage.status(&id))
    };
    stage.server.fallback(|_| Reply::text("ok"));
    assert_eq!(run(&|| complete("done")), (Some(0), "done".to_owned()));
    let blocked = || Reply::tool_call("kanban_block", json!({"reason": "which one?"}));
    assert_eq!(run(&blocked), (Some(0), "blocked".to_owned()));
    stage
        .server
        .fallback(|_| Reply::error(429, "rate limit reached, try later"));
    let limited = || Reply::error(429, "rate limit reached, try later");
    assert_eq!(run(&limited), (Some(75), "ready".to_owned()));
    stage
        .server
        .fallback(|_| Reply::error(401, "invalid api key"));
    let broken = || Reply::error(401, "invalid api key");
    assert_eq!(run(&broken), (Some(1), "ready".to_owned()));
}

#[test]
fn a_worker_that_is_told_to_end_exits_with_143_within_its_grace() {
    let stage = Stage::new();
    let id = stage.create("slow --assignee alpha");
    let gate = Gate::new();
    stage.server.push(Reply::text("thinking").then_stall(&gate));
    let child = worker(&stage, &id)
        .env("HERMES_SIGTERM_GRACE", "1")
        .spawn()
        .expect("the binary starts");
    gate.wait_reached();
    let asked = Instant::now();
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).expect("it runs");
    assert_eq!(code(child), Some(143));
    assert!(
        asked.elapsed() < Duration::from_secs(10),
        "{:?}",
        asked.elapsed()
    );
    gate.release();
}
