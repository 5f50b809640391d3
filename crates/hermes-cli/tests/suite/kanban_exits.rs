//! A worker's own exit code, seen by whoever started it.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hermes_testkit::model::{Gate, Reply};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::kanban::{Stage, complete, wait_until};

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
fn a_worker_exits_with_0_when_done_75_when_limited_78_when_misconfigured_and_1_when_broken() {
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
    // Another worker would be refused too: people must look at it.
    let refused = || Reply::error(401, "invalid api key");
    assert_eq!(run(&refused), (Some(78), "blocked".to_owned()));
    stage
        .server
        .fallback(|_| Reply::error(400, "this cannot be read"));
    let broken = || Reply::error(400, "this cannot be read");
    assert_eq!(run(&broken), (Some(1), "ready".to_owned()));
}

#[test]
fn a_worker_that_is_out_of_budget_says_so() {
    let stage = Stage::with("budget:\n  per_day: {tokens: 10}\n");
    let id = stage.create("x --assignee alpha");
    let mut worker = worker(&stage, &id);
    let output = worker.stderr(Stdio::piped()).output().expect("it ends");
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(words.contains("budget.per_day"), "{words}");
    assert_eq!(stage.status(&id), "blocked");
}

#[test]
fn a_worker_that_can_never_start_says_so_once_and_is_not_tried_again() {
    let stage = Stage::new();
    for (config, reason) in [
        (
            "model: {default: m, provider: nosuch}\n",
            "unknown provider",
        ),
        (
            "model: {default: m, provider: deepseek}\n",
            "DEEPSEEK_API_KEY",
        ),
        ("model: {default: m, provider: bedrock}\n", "not built yet"),
    ] {
        let id = stage.create("x --assignee alpha");
        stage.scratch.write("profiles/alpha/config.yaml", config);
        let mut worker = worker(&stage, &id);
        let ended = code(worker.spawn().expect("the binary starts"));
        assert_eq!(ended, Some(78), "{reason}");
        assert_eq!(stage.status(&id), "blocked", "{reason}");
        let shown = stage.ok(&format!("show {id}"));
        assert!(shown.contains(reason), "{reason} is not in\n{shown}");
    }
    assert!(stage.server.requests().is_empty());
}

#[test]
fn a_dispatcher_stops_at_once_when_the_configuration_of_its_workers_is_broken() {
    let stage = Stage::new();
    let id = stage.create("x --assignee alpha");
    stage
        .scratch
        .write("profiles/alpha/config.yaml", "model: [oops\n");
    stage.ok("dispatch");
    wait_until("the task is blocked", || {
        stage.ok("dispatch");
        stage.status(&id) == "blocked"
    });
    let runs: i64 = stage
        .database()
        .query_row(
            "SELECT count(*) FROM task_runs WHERE task_id = ?1",
            [&id],
            |row| row.get(0),
        )
        .expect("a count");
    assert_eq!(runs, 1);
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
