//! Conversations with a scripted model that answers at once, through the binary.

mod killed;
mod long;

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use hermes_testkit::model::{ModelServer, Reply};
use serde_json::json;

use crate::measure::{Bench, Invocation};
use crate::report::{Row, Unit};
use crate::stats::Stats;

const AREA: &str = "agent";
/// Tool calls of one turn; each is one request more.
const CALLS: usize = 20;

pub(crate) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let server = ModelServer::start();
    server.fallback(|_| Reply::text("Hello."));
    let ours = home(&server)?;
    let theirs = home(&server)?;
    let words = ["-z", "hi"];
    let mut rows = Vec::new();
    let pair = bench.alternate(
        &invocation(ours.path(), &words),
        Some(&invocation(theirs.path(), &words)),
    )?;
    rows.extend(Row::at_most(
        AREA,
        "`hermes -z hi`",
        Unit::Ms,
        60.0,
        pair.wall(),
    ));
    rows.extend(Row::at_most(
        AREA,
        "`hermes -z hi` peak memory",
        Unit::MiB,
        25.0,
        pair.peak(),
    ));

    let (mut candidate, mut reference) = (Vec::new(), Vec::new());
    for round in 0..bench.rounds {
        candidate.push(until_request(
            bench,
            &bench.candidate,
            &server,
            ours.path(),
        )?);
        if let Some(program) = bench.reference.as_deref().filter(|_| round % 5 == 0) {
            reference.push(until_request(bench, program, &server, theirs.path())?);
        }
    }
    rows.extend(Row::at_most(
        AREA,
        "process start to the arrival of the conversation's request",
        Unit::Ms,
        40.0,
        (Stats::of(candidate), Stats::of(reference)),
    ));

    let candidate = tool_turns(bench, &bench.candidate, &server, ours.path())?;
    let reference = match &bench.reference {
        Some(program) => tool_turns(bench, program, &server, theirs.path())?,
        None => None,
    };
    rows.extend(Row::at_most(
        AREA,
        "one tool turn: request to request, running `true` locally",
        Unit::Ms,
        8.0,
        (candidate, reference),
    ));
    rows.extend(long::next_turn(bench)?);
    rows.extend(fixed_prompt(bench, &server, ours.path())?);
    rows.extend(long::thousand_turns(bench)?);
    rows.extend(killed::turns(bench)?);
    rows.extend(killed::together(bench)?);
    Ok(rows)
}

fn home(server: &ModelServer) -> Result<tempfile::TempDir> {
    let directory = tempfile::tempdir()?;
    let config = format!(
        "model:\n  default: {}\n  provider: custom\n  base_url: {}\n  api_key: bench-key\n\
         terminal:\n  backend: local\n  auto_source_bashrc: false\n",
        ModelServer::DEFAULT_MODEL,
        server.url()
    );
    std::fs::write(directory.path().join("config.yaml"), config)?;
    Ok(directory)
}

fn invocation(home: &Path, words: &[&str]) -> Invocation {
    let mut invocation = Invocation::new(home, words);
    invocation.directory = Some(home.to_owned());
    invocation
}

/// From just before the spawn to the last byte of the first request with tools: the
/// other implementation may ask for model lists before.
fn until_request(bench: &Bench, program: &Path, server: &ModelServer, home: &Path) -> Result<f64> {
    let before = server.requests().len();
    let started = Instant::now();
    bench.sample(program, &invocation(home, &["-z", "hi"]))?;
    let requests = server.requests();
    let first = requests
        .get(before..)
        .and_then(|new| new.iter().find(|request| !request.tool_names().is_empty()))
        .context("no request of a conversation arrived")?;
    Ok((first.arrived - started).as_secs_f64() * 1e3)
}

/// Times between the requests of one turn that runs `true` again and again.
fn tool_turns(
    bench: &Bench,
    program: &Path,
    server: &ModelServer,
    home: &Path,
) -> Result<Option<Stats>> {
    for _ in 0..CALLS {
        server.push(Reply::tool_call("terminal", json!({"command": "true"})));
    }
    let before = server.requests().len();
    bench.sample(
        program,
        &invocation(home, &["-z", "run true often", "--yolo"]),
    )?;
    ensure!(
        server.replies_left() == 0,
        "{} replies were not asked for",
        server.replies_left()
    );
    let arrived: Vec<Instant> = server.requests()[before..]
        .iter()
        .filter(|request| !request.tool_names().is_empty())
        .map(|request| request.arrived)
        .collect();
    // The first call makes the shell's state and is no warm one.
    let gaps = arrived
        .windows(2)
        .skip(1)
        .map(|two| (two[1] - two[0]).as_secs_f64() * 1e3)
        .collect();
    Ok(Stats::of(gaps))
}

/// System text and schemas of a fresh conversation, as bytes of JSON.
fn fixed_prompt(bench: &Bench, server: &ModelServer, home: &Path) -> Result<Option<Row>> {
    let before = server.requests().len();
    bench.sample(&bench.candidate, &invocation(home, &["-z", "hi"]))?;
    let requests = server.requests();
    let request = requests
        .get(before..)
        .and_then(|new| new.iter().find(|request| !request.tool_names().is_empty()))
        .context("no request of a conversation arrived")?;
    let system: usize = request
        .messages()
        .iter()
        .filter(|message| message["role"] == "system")
        .map(|message| message["content"].to_string().len())
        .sum();
    let bytes = system + request.body["tools"].to_string().len();
    Ok(Row::at_most(
        AREA,
        format!(
            "fixed prompt: system text and {} schemas",
            request.tool_names().len()
        ),
        Unit::KB,
        25.0,
        (Some(Stats::once(bytes as f64 / 1e3)), None),
    ))
}
