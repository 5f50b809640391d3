//! Each verb as a command, in turn with the other implementation, and many creates
//! in one process.

use std::time::Instant;

use anyhow::{Context as _, Result};
use hermes_kanban::machine::NewTask;
use hermes_kanban::model::new_task_id;
use hermes_kanban::store::{Board, OpenOptions};
use rusqlite::Connection;

use super::{AREA, TASKS, card};
use crate::measure::{Bench, Invocation};
use crate::report::{Row, Unit};
use crate::stats::Stats;

/// Each verb as a command, in turn with the other implementation on a board of its own.
pub(super) fn commands(bench: &Bench) -> Result<Vec<Row>> {
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
pub(super) fn many_creates() -> Result<Row> {
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
            // Random as well: ids in order would spare SQLite most of the index pages.
            let id = new_task_id();
            let id = id.as_str();
            connection.execute_batch("BEGIN IMMEDIATE")?;
            connection
                .prepare_cached(
                    "INSERT INTO tasks (id, title, body, assignee, status, created_by, created_at)
                     VALUES (?, ?, ?, ?, 'ready', ?, 1780000000)",
                )?
                .execute((
                    id,
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
                .execute([id])?;
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
