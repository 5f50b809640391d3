//! Many processes that write to one board at once.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Result, ensure};
use hermes_kanban::machine::NewTask;
use hermes_kanban::store::{Board, Check, ClaimRequest, ListFilter, ListSort, OpenOptions};
use hermes_types::TaskId;

use super::{AREA, card};
use crate::measure::Bench;
use crate::report::{Row, Unit};
use crate::stats::Stats;

pub(crate) const CREATE: &str = "__kanban-create";
pub(crate) const CLAIM: &str = "__kanban-claim";

const WRITERS: usize = 8;
const CREATES_EACH: usize = 100;
const CLAIMED: usize = 1_000;
const ROUNDS: usize = 20;

/// Lost rows and double claims over all rounds.
pub(super) fn many_processes(bench: &Bench) -> Result<Vec<Row>> {
    let (mut lost, mut errors, mut doubled, mut damaged) = (0usize, 0usize, 0usize, 0usize);
    for round in 0..ROUNDS {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("kanban.db");
        let created = together(bench, CREATE, &path, round)?;
        errors += created.failed;
        damaged += usize::from(!is_sound(&path));
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
        damaged += usize::from(!is_sound(&path));
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
        Row::at_most(
            AREA,
            "malformed boards after those rounds",
            Unit::Count,
            0.0,
            count(damaged),
        ),
    ]
    .into_iter()
    .flatten()
    .collect())
}

/// Every index against its table.
fn is_sound(path: &Path) -> bool {
    Board::forget(path);
    let options = OpenOptions {
        check: Check::Full,
        ..OpenOptions::default()
    };
    Board::open(path, &options).is_ok()
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
pub(crate) fn create(words: &[OsString]) -> Result<ExitCode> {
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
pub(crate) fn claim(words: &[OsString]) -> Result<ExitCode> {
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
