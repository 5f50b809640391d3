//! A board with 10,000 tasks, many processes on one board, workers, and a fleet that
//! is killed at random.

mod chaos;
mod commands;
mod processes;
mod rounds;
mod workers;

use anyhow::Result;
use hermes_kanban::machine::NewTask;
use hermes_testkit::model::{ModelServer, Recorded, Reply};
use serde_json::json;

pub(super) use processes::{CLAIM, CREATE, claim, create};

use crate::measure::Bench;
use crate::report::Row;

const AREA: &str = "kanban";
const TASKS: usize = 10_000;

pub(crate) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = commands::commands(bench)?;
    rows.extend(rounds::run(bench)?);
    rows.extend(workers::run(bench)?);
    rows.push(commands::many_creates()?);
    rows.extend(processes::many_processes(bench)?);
    rows.extend(chaos::run(bench)?);
    Ok(rows)
}

fn card(number: usize) -> NewTask {
    NewTask {
        title: format!("Task number {number} of the benchmark"),
        body: Some("One paragraph that says what is to be done and when it is done.".to_owned()),
        assignee: Some("default".to_owned()),
        created_by: Some("bench".to_owned()),
        ..NewTask::default()
    }
}

/// A home whose model is `server`.
fn home(server: &ModelServer, more: &str) -> Result<tempfile::TempDir> {
    let directory = tempfile::tempdir()?;
    let config = format!(
        "model:\n  default: {}\n  provider: custom\n  base_url: {}\n  api_key: bench-key\n  \
         context_length: 200000\nterminal:\n  backend: local\n{more}",
        ModelServer::DEFAULT_MODEL,
        server.url()
    );
    std::fs::write(directory.path().join("config.yaml"), config)?;
    Ok(directory)
}

/// A worker's model: completes the task, then says so.
fn completing(request: &Recorded) -> Reply {
    if request.last_message()["role"] == "tool" {
        Reply::text("Done.")
    } else {
        Reply::tool_call("kanban_complete", json!({"summary": "done"}))
    }
}
