//! One process and many turns: how soon the next request leaves, and what a
//! thousand turns leave behind in memory.

use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use hermes_testkit::TestHome;
use hermes_testkit::model::{ModelServer, Recorded, Reply};
use hermes_testkit::terminal::Terminal;
use serde_json::json;

use super::AREA;
use crate::measure::Bench;
use crate::report::{Row, Unit};
use crate::stats::Stats;

/// Turns that are too early to count: caches fill, the shell starts.
const WARM_UP: usize = 5;
const TURNS: usize = 1000;
/// Memory is compared over as many turns at both ends: a request in the making and
/// the age of the last compression move it by some megabytes at any moment.
const WINDOW: usize = 50;
/// From here on it must not grow: several compressions are behind it.
const SETTLED: usize = 50;
const INPUT: usize = 2_000;
const OUTPUT: usize = 4_000;
const PATIENCE: Duration = Duration::from_secs(60);

/// From the moment a line is typed to the last byte of the request it causes, in a
/// conversation that is already under way.
pub(super) fn next_turn(bench: &Bench) -> Result<Option<Row>> {
    let (home, server) = (TestHome::new(), ModelServer::start());
    home.config_for(&server, "  context_length: 200000\n");
    server.fallback(|request| match request.tool_names().is_empty() {
        true => Reply::text("A name"),
        false => Reply::text(format!("answer-{}", request.messages().len())),
    });
    let terminal = start(&bench.candidate, &home);
    let mut samples = Vec::new();
    for turn in 0..WARM_UP + bench.rounds {
        let before = conversation_requests(&server).len();
        let typed = Instant::now();
        terminal.type_line(&format!("question {turn}"));
        // System, and question and answer of every turn before this one.
        ensure!(
            terminal.shows(&format!("answer-{}", 2 + 2 * turn), PATIENCE),
            "turn {turn} was not answered"
        );
        let arrived = conversation_requests(&server)
            .get(before)
            .context("no request of a conversation arrived")?
            .arrived;
        if turn >= WARM_UP {
            samples.push((arrived - typed).as_secs_f64() * 1e3);
        }
    }
    Ok(Row::at_most(
        AREA,
        "warm process, next turn: typed line to the arrival of its request",
        Unit::Ms,
        3.0,
        (Stats::of(samples), None),
    ))
}

/// Titles are asked for beside the conversation, without tools.
fn conversation_requests(server: &ModelServer) -> Vec<Recorded> {
    let mut requests = server.requests();
    requests.retain(|request| !request.tool_names().is_empty());
    requests
}

/// Resident memory in the last of a thousand turns over that in the first ones.
pub(super) fn thousand_turns(bench: &Bench) -> Result<Option<Row>> {
    let (home, server) = (TestHome::new(), ModelServer::start());
    home.config_for(&server, "  context_length: 200000\n");
    let (compressed, compressions) = mpsc::channel();
    server.fallback(move |request| {
        if request.tool_names().is_empty() {
            // A name or a summary; who counts may be gone.
            let _ = compressed.send(());
            return Reply::text("Goal: numbers.\nDone: many.");
        }
        let turn = question_of(request);
        if request.last_message()["role"] == "tool" {
            Reply::text(format!("{} answer-{turn}.", "word ".repeat(OUTPUT / 5)))
        } else {
            // About 20 KB, and never the same twice.
            let from = 100_000 + turn * 10;
            let command = format!("seq {from} {}", from + 2850);
            Reply::tool_call("terminal", json!({"command": command}))
        }
    });
    server.remember_nothing();
    let terminal = start(&bench.candidate, &home);
    let mut resident = Vec::new();
    for turn in 0..TURNS {
        terminal.type_line(&format!("{} question-{turn}.", "x".repeat(INPUT)));
        ensure!(
            terminal.shows(&format!("answer-{turn}."), PATIENCE),
            "turn {turn} was not answered"
        );
        terminal.forget();
        resident.push(resident_mb(terminal.pid())?);
    }
    let median = |turns: &[f64]| Stats::of(turns.to_vec()).map_or(0.0, |stats| stats.median);
    let settled = median(&resident[SETTLED..SETTLED + WINDOW]);
    let growth = median(&resident[TURNS - WINDOW..]) - settled;
    let compressions = compressions.try_iter().count();
    ensure!(compressions > 10, "only {compressions} compressions");
    Ok(Row::at_most(
        AREA,
        format!("growth of resident memory over {TURNS} turns, {compressions} compressions"),
        Unit::MB,
        10.0,
        (Some(Stats::once(growth)), None),
    ))
}

fn question_of(request: &Recorded) -> usize {
    request
        .messages()
        .iter()
        .rev()
        .filter(|message| message["role"] == "user")
        .find_map(|message| {
            let (_, rest) = message["content"].as_str()?.rsplit_once("question-")?;
            rest.split('.').next()?.parse().ok()
        })
        .unwrap_or(0)
}

fn start(program: &Path, home: &TestHome) -> Terminal {
    let mut command = home.command(program);
    command.args(["chat", "--yolo"]);
    Terminal::start(command)
}

fn resident_mb(pid: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kib: f64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next())
        .context("no resident size")?
        .parse()?;
    Ok(kib * 1024.0 / 1e6)
}
