//! One worker process from start to end, with one scripted turn: it takes up its
//! run, completes its task and exits.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use hermes_kanban::Host;
use hermes_kanban::model::Status;
use hermes_kanban::store::{Board, ClaimRequest, OpenOptions};
use hermes_testkit::model::ModelServer;

use super::{AREA, card, completing, home};
use crate::measure::{Bench, Invocation, Pair};
use crate::probe::Sample;
use crate::report::{Row, Unit};

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let server = ModelServer::start();
    server.fallback(completing);
    let (ours, theirs) = (home(&server, "")?, home(&server, "")?);
    let mut pair = Pair {
        candidate: Vec::new(),
        reference: Vec::new(),
    };
    work(bench, &bench.candidate, ours.path())?;
    for round in 0..bench.rounds {
        pair.candidate
            .push(work(bench, &bench.candidate, ours.path())?);
        // It takes seconds a run; a fifth of the rounds is enough.
        if let Some(program) = bench.reference.as_deref().filter(|_| round % 5 == 0) {
            pair.reference.push(work(bench, program, theirs.path())?);
        }
    }
    Ok([
        Row::at_most(
            AREA,
            "a worker process, one scripted turn",
            Unit::Ms,
            120.0,
            pair.wall(),
        ),
        Row::at_most(
            AREA,
            "a worker process, peak memory",
            Unit::MiB,
            25.0,
            pair.peak(),
        ),
    ]
    .into_iter()
    .flatten()
    .collect())
}

/// A fresh task, claimed as a dispatcher claims it, worked on by `program`.
fn work(bench: &Bench, program: &Path, home: &Path) -> Result<Sample> {
    let database = home.join("kanban.db");
    let board = Board::open(&database, &OpenOptions::default())?;
    let task = board.create(&card(1))?.id;
    let host = Host::of_machine();
    let request = ClaimRequest {
        lock: host.claim_lock(),
        ttl: 900,
        host: Some(host.name().to_owned()),
    };
    let run = board
        .claim(&task, &request)?
        .current_run_id
        .context("a claim opens a run")?;
    let workspace = home.join("kanban/workspaces").join(task.as_str());
    std::fs::create_dir_all(&workspace)?;
    let query = format!("work kanban task {task}");
    let words = ["-p", "default", "--accept-hooks", "chat", "-q", &query];
    let mut invocation = Invocation::new(home, &words);
    invocation.directory = Some(workspace.clone());
    for (name, value) in [
        ("HERMES_PROFILE", "default"),
        ("HERMES_KANBAN_TASK", task.as_str()),
        ("HERMES_KANBAN_WORKSPACE", &workspace.to_string_lossy()),
        ("HERMES_KANBAN_DB", &database.to_string_lossy()),
        ("HERMES_KANBAN_BOARD", "default"),
        ("HERMES_KANBAN_RUN_ID", &run.to_string()),
        ("HERMES_KANBAN_CLAIM_LOCK", &request.lock),
    ] {
        invocation
            .environment
            .insert(name.to_owned(), value.to_owned());
    }
    let sample = bench.sample(program, &invocation)?;
    let status = board.task(&task)?.status;
    ensure!(status == Status::Done, "the worker left its task {status}");
    Ok(sample)
}
