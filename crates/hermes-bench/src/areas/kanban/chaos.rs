//! 200 tasks through real workers and a real dispatcher, both killed at random.
//!
//! What must hold afterwards: every task is done, or blocked and says why; whatever
//! is done was completed once; nobody is left over.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use hermes_kanban::machine::NewTask;
use hermes_kanban::store::{Board, OpenOptions};
use hermes_process::Identity;
use hermes_testkit::model::ModelServer;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rusqlite::Connection;

use super::{AREA, card, completing, home};
use crate::measure::Bench;
use crate::report::{Row, Unit};
use crate::stats::Stats;

const FLEET: usize = 200;
const AT_ONCE: &str = "12";
/// A worker is killed this often, a dispatcher every so many workers.
const PAUSE: Duration = Duration::from_millis(70);
const WORKERS_PER_DISPATCHER: usize = 15;
/// After so many kills the rest may finish.
const KILLS: usize = 150;
const PATIENCE: Duration = Duration::from_secs(600);

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let server = ModelServer::start();
    server.fallback(|request| {
        // Long enough to be killed in the middle of.
        std::thread::sleep(Duration::from_millis(40));
        completing(request)
    });
    let directory = home(&server, "kanban:\n  failure_limit: 4\n")?;
    let database = directory.path().join("kanban.db");
    let cards: Vec<NewTask> = (0..FLEET).map(card).collect();
    Board::open(&database, &OpenOptions::default())?
        .create_many(&cards)
        .map_err(|(line, error)| anyhow::anyhow!("task {line}: {error}"))?;
    let look = Connection::open(&database)?;
    let started = Instant::now();
    let mut daemon = start(bench, directory.path())?;
    let (mut killed, mut replaced, mut seed) = (0usize, 0usize, 0x2545_f491_4f6c_dd1d_u64);
    while count(&look, "status IN ('ready', 'running', 'todo')")? > 0 {
        ensure!(
            started.elapsed() < PATIENCE,
            "{} tasks are still open",
            count(&look, "status IN ('ready', 'running', 'todo')")?
        );
        std::thread::sleep(PAUSE);
        if killed >= KILLS {
            continue;
        }
        if let Some(pid) = any_worker(&look, &mut seed)? {
            killed += usize::from(kill(Pid::from_raw(pid), Signal::SIGKILL).is_ok());
        }
        if killed / WORKERS_PER_DISPATCHER > replaced {
            replaced += 1;
            end(daemon)?;
            daemon = start(bench, directory.path())?;
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    end(daemon)?;
    let done = count(&look, "status = 'done'")?;
    eprintln!(
        "{FLEET} tasks in {seconds:.1} s: {done} done, {} blocked; {killed} workers and {replaced} \
         dispatchers killed",
        count(&look, "status = 'blocked'")?
    );
    let unexplained = count(
        &look,
        "NOT (status = 'done' OR (status = 'blocked' AND COALESCE(last_failure_error, '') <> ''))",
    )?;
    let miscounted = count(
        &look,
        "(SELECT COUNT(*) FROM task_events e WHERE e.task_id = tasks.id AND e.kind = 'completed')
             <> (status = 'done')",
    )?;
    let left = left_over(&database);
    let row = |measure: &str, value: i64| {
        let measured = (Some(Stats::once(value as f64)), None);
        Row::at_most(AREA, measure, Unit::Count, 0.0, measured)
    };
    Ok([
        row(
            "of 200 tasks with killed workers and dispatchers: neither done nor blocked with a reason",
            unexplained,
        ),
        row(
            "of these: not completed exactly once when done, or completed without being done",
            miscounted,
        ),
        row("processes left over", left),
    ]
    .into_iter()
    .flatten()
    .collect())
}

fn start(bench: &Bench, home: &Path) -> Result<Child> {
    Command::new(&bench.candidate)
        .args(["kanban", "daemon", "--interval", "0.2", "--max", AT_ONCE])
        .env("HERMES_HOME", home)
        .env("HERMES_KANBAN_CRASH_GRACE_SECONDS", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("the dispatcher does not start")
}

fn end(mut daemon: Child) -> Result<()> {
    daemon.kill()?;
    daemon.wait()?;
    Ok(())
}

fn count(board: &Connection, condition: &str) -> Result<i64> {
    let question = format!("SELECT COUNT(*) FROM tasks WHERE {condition}");
    Ok(board.query_row(&question, [], |row| row.get(0))?)
}

fn any_worker(board: &Connection, seed: &mut u64) -> Result<Option<i32>> {
    let pids: Vec<i32> = board
        .prepare_cached("SELECT worker_pid FROM tasks WHERE worker_pid IS NOT NULL")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    let chosen = seed.checked_rem(pids.len() as u64).unwrap_or(0);
    Ok(pids.get(chosen as usize).copied())
}

/// Processes that were started for this board and do not go by themselves.
fn left_over(database: &Path) -> i64 {
    let path = database.to_string_lossy();
    let variables = [("HERMES_KANBAN_DB", path.as_ref())];
    let deadline = Instant::now() + Duration::from_secs(20);
    while Identity::oldest_started_with(&variables).is_some() {
        if Instant::now() > deadline {
            return 1;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    0
}
