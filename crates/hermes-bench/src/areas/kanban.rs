//! A board with 10,000 tasks through the binary, and many processes on one board.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use hermes_kanban::machine::NewTask;
use hermes_kanban::store::{Board, ClaimRequest, ListFilter, ListSort, OpenOptions};
use hermes_types::TaskId;
use rusqlite::Connection;

use crate::measure::{Bench, Invocation};
use crate::report::{Row, Unit};
use crate::stats::Stats;

const AREA: &str = "kanban";
pub(super) const CREATE: &str = "__kanban-create";
pub(super) const CLAIM: &str = "__kanban-claim";

const TASKS: usize = 10_000;
const WRITERS: usize = 8;
const CREATES_EACH: usize = 100;
const CLAIMED: usize = 1_000;
const ROUNDS: usize = 20;

pub(crate) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = commands(bench)?;
    rows.push(many_creates()?);
    rows.extend(many_processes(bench)?);
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

/// Each verb as a command, in turn with the other implementation on a board of its own.
fn commands(bench: &Bench) -> Result<Vec<Row>> {
    let ours = tempfile::tempdir()?;
    let theirs = tempfile::tempdir()?;
    for home in [&ours, &theirs] {
        std::fs::write(home.path().join("config.yaml"), "kanban: {max_spawn: 8}\n")?;
    }
    let mut rows = Vec::new();
    let words = ["kanban", "create", "One more", "--assignee", "default"];
    let pair = bench.alternate(
        &Invocation::new(ours.path(), &words),
        Some(&Invocation::new(theirs.path(), &words)),
    )?;
    rows.extend(Row::at_most(
        AREA,
        "`kanban create`",
        Unit::Ms,
        15.0,
        pair.wall(),
    ));

    let batch = ours.path().join("batch.jsonl");
    let lines: String = (0..TASKS)
        .map(|number| format!("{{\"title\": \"Task {number}\", \"assignee\": \"default\"}}\n"))
        .collect();
    std::fs::write(&batch, lines)?;
    let mut times = Vec::new();
    for _ in 0..3 {
        let fresh = tempfile::tempdir()?;
        let from = batch.to_string_lossy();
        let words = ["kanban", "create", "--from", &from];
        let invocation = Invocation::new(fresh.path(), &words);
        times.push(bench.sample(&bench.candidate, &invocation)?.wall_ms);
    }
    rows.extend(Row::at_most(
        AREA,
        "`kanban create --from`, 10,000 tasks",
        Unit::Ms,
        500.0,
        (Stats::of(times), None),
    ));

    for home in [&ours, &theirs] {
        let board = Board::open(&home.path().join("kanban.db"), &OpenOptions::default())?;
        let cards: Vec<NewTask> = (0..TASKS).map(card).collect();
        board
            .create_many(&cards)
            .map_err(|(line, error)| anyhow::anyhow!("task {line}: {error}"))?;
    }
    for (words, bar) in [
        (&["kanban", "list"][..], 40.0),
        (&["kanban", "list", "--json"], 60.0),
        (&["kanban", "stats", "--json"], 35.0),
        (&["kanban", "diagnostics"], 70.0),
        (&["kanban", "dispatch", "--dry-run", "--json"], 60.0),
    ] {
        let pair = bench.alternate(
            &Invocation::new(ours.path(), words),
            Some(&Invocation::new(theirs.path(), words)),
        )?;
        let measure = format!("`{}`, 10,000 tasks", words.join(" "));
        rows.extend(Row::at_most(AREA, measure, Unit::Ms, bar, pair.wall()));
    }
    Ok(rows)
}

/// One process that makes 10,000 tasks, beside the least that SQLite can do for that.
fn many_creates() -> Result<Row> {
    let directory = tempfile::tempdir()?;
    let board = Board::open(&directory.path().join("kanban.db"), &OpenOptions::default())?;
    let plain = directory.path().join("plain.db");
    drop(Board::open(&plain, &OpenOptions::default())?);
    let connection = Connection::open(&plain)?;
    connection.execute_batch(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;
         PRAGMA wal_autocheckpoint=100; PRAGMA secure_delete=ON; PRAGMA cell_size_check=ON;",
    )?;
    // In small turns, so that a busy minute of the machine hits both alike.
    const TURN: usize = 500;
    let (mut ours, mut theirs) = (0.0, 0.0);
    for turn in 0..TASKS / TURN {
        let started = Instant::now();
        for number in 0..TURN {
            board.create(&card(turn * TURN + number))?;
        }
        ours += started.elapsed().as_secs_f64();
        let started = Instant::now();
        for number in 0..TURN {
            let card = card(turn * TURN + number);
            let id = format!("t_{:08x}", turn * TURN + number);
            connection.execute_batch("BEGIN IMMEDIATE")?;
            connection
                .prepare_cached(
                    "INSERT INTO tasks (id, title, body, assignee, status, created_by, created_at)
                     VALUES (?, ?, ?, ?, 'ready', ?, 1780000000)",
                )?
                .execute((
                    &id,
                    &card.title,
                    &card.body,
                    &card.assignee,
                    &card.created_by,
                ))?;
            connection
                .prepare_cached(
                    "INSERT INTO task_events (task_id, kind, payload, created_at)
                     VALUES (?, 'created', '{\"assignee\": \"default\", \"status\": \"ready\"}', 1780000000)",
                )?
                .execute([&id])?;
            connection.execute_batch("COMMIT")?;
        }
        theirs += started.elapsed().as_secs_f64();
    }
    eprintln!("10,000 creates: {ours:.2} s, the plain loop {theirs:.2} s");
    Row::at_most(
        AREA,
        "10,000 creates in one process, beside a plain SQLite loop",
        Unit::Factor,
        1.2,
        (Some(Stats::once(ours / theirs)), None),
    )
    .context("a figure was measured")
}

/// Lost rows and double claims over all rounds.
fn many_processes(bench: &Bench) -> Result<Vec<Row>> {
    let (mut lost, mut errors, mut doubled) = (0usize, 0usize, 0usize);
    for round in 0..ROUNDS {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("kanban.db");
        let created = together(bench, CREATE, &path, round)?;
        errors += created.failed;
        let board = Board::open(&path, &OpenOptions::default())?;
        for id in created.printed.keys() {
            lost += usize::from(board.find(&TaskId::new(id))?.is_none());
        }
        ensure!(
            created.failed > 0 || created.printed.len() == WRITERS * CREATES_EACH,
            "only {} tasks were acknowledged",
            created.printed.len()
        );

        let path = directory.path().join("claims.db");
        let board = Board::open(&path, &OpenOptions::default())?;
        let cards: Vec<NewTask> = (0..CLAIMED).map(card).collect();
        board
            .create_many(&cards)
            .map_err(|(line, error)| anyhow::anyhow!("task {line}: {error}"))?;
        let claimed = together(bench, CLAIM, &path, round)?;
        errors += claimed.failed;
        doubled += claimed.printed.values().filter(|times| **times > 1).count();
        ensure!(
            claimed.printed.len() == CLAIMED,
            "only {} of {CLAIMED} tasks were claimed",
            claimed.printed.len()
        );
    }
    let count = |value: usize| (Some(Stats::once(value as f64)), None);
    Ok([
        Row::at_most(
            AREA,
            format!(
                "acknowledged tasks lost, {WRITERS} processes × {CREATES_EACH} creates, connect per call, {ROUNDS} rounds"
            ),
            Unit::Count,
            0.0,
            count(lost),
        ),
        Row::at_most(
            AREA,
            format!("double claims, {WRITERS} processes, {CLAIMED} tasks, {ROUNDS} rounds"),
            Unit::Count,
            0.0,
            count(doubled),
        ),
        Row::at_most(
            AREA,
            "processes that ended with an error in those rounds",
            Unit::Count,
            0.0,
            count(errors),
        ),
    ]
    .into_iter()
    .flatten()
    .collect())
}

struct Printed {
    /// How often each line was printed.
    printed: HashMap<String, usize>,
    failed: usize,
}

fn together(bench: &Bench, helper: &str, path: &Path, round: usize) -> Result<Printed> {
    let children = (0..WRITERS)
        .map(|writer| {
            Command::new(&bench.own)
                .arg(helper)
                .arg(path)
                .arg((round * WRITERS + writer).to_string())
                .stdout(Stdio::piped())
                .spawn()
        })
        .collect::<Result<Vec<_>, _>>()?;
    let mut all = Printed {
        printed: HashMap::new(),
        failed: 0,
    };
    for child in children {
        let output = child.wait_with_output()?;
        all.failed += usize::from(!output.status.success());
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            *all.printed.entry(line.to_owned()).or_default() += 1;
        }
    }
    Ok(all)
}

/// `__kanban-create DATABASE NUMBER`: opens the board anew for every task.
pub(super) fn create(words: &[OsString]) -> Result<ExitCode> {
    let [_, path, _] = words else {
        anyhow::bail!("usage: {CREATE} DATABASE NUMBER");
    };
    let mut stdout = std::io::stdout().lock();
    for number in 0..CREATES_EACH {
        let board = Board::open(&PathBuf::from(path), &OpenOptions::default())?;
        writeln!(stdout, "{}", board.create(&card(number))?.id)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `__kanban-claim DATABASE SEED`: claims what it can, in an order of its own.
pub(super) fn claim(words: &[OsString]) -> Result<ExitCode> {
    let [_, path, seed] = words else {
        anyhow::bail!("usage: {CLAIM} DATABASE SEED");
    };
    let seed: u64 = seed.to_string_lossy().parse()?;
    let board = Board::open(&PathBuf::from(path), &OpenOptions::default())?;
    let mut tasks = board.list(&ListFilter::default(), ListSort::default())?;
    shuffle(&mut tasks, seed);
    let request = ClaimRequest {
        lock: format!("bench:{}", std::process::id()),
        ttl: 600,
        host: None,
    };
    let mut stdout = std::io::stdout().lock();
    for task in tasks {
        // Somebody else had it: the ordinary case here.
        if board.claim(&task.id, &request).is_ok() {
            writeln!(stdout, "{}", task.id)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The same order for the same seed, so that a round can be repeated.
fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for at in (1..items.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        items.swap(at, (state % (at as u64 + 1)) as usize);
    }
}
