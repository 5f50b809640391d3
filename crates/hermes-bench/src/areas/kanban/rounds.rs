//! Rounds of the dispatcher in this process, over 10,000 ready tasks: what a round
//! costs beside the starting of processes.

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use hermes_config::Config;
use hermes_home::{Environment, Home};
use hermes_kanban::boards::{Boards, Slug};
use hermes_kanban::dispatch::{Caps, Launcher, ProcessLauncher, Round, Surroundings, WorkerExit};
use hermes_kanban::store::{Board, CompletionRequest, OpenOptions};
use hermes_kanban::{Host, Settings};
use hermes_process::{Command, Identity};
use hermes_types::TaskId;

use super::{AREA, TASKS, card};
use crate::measure::Bench;
use crate::report::{Row, Unit};
use crate::stats::Stats;

const PLACES: usize = 8;

/// Starts real processes and keeps the time that takes apart.
struct Timed {
    inner: ProcessLauncher<WorkerExit>,
    spent: Duration,
}

impl Launcher for Timed {
    fn launch(
        &mut self,
        board: &Slug,
        task: &TaskId,
        run: i64,
        command: Command,
    ) -> Result<Identity, String> {
        let started = Instant::now();
        let launched = self.inner.launch(board, task, run, command);
        self.spent += started.elapsed();
        launched
    }
}

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let directory = tempfile::tempdir()?;
    let home = Home::at(directory.path(), directory.path());
    let mut environment = Environment::of_process();
    environment.set("HERMES_BIN", "/bin/true");
    let settings = Settings::read(&Config::defaults(), &environment);
    let boards = Boards::locate(&home, &environment);
    let paths = boards.paths(&Slug::default_board());
    let board = Board::open(&paths.database, &OpenOptions::default())?;
    let cards: Vec<_> = (0..TASKS + PLACES * bench.rounds).map(card).collect();
    board
        .create_many(&cards)
        .map_err(|(line, error)| anyhow::anyhow!("task {line}: {error}"))?;
    let own_runs = HashSet::new();
    let host = Host::of_machine();
    let round = Round {
        board: &board,
        boards: &boards,
        paths: &paths,
        around: Surroundings {
            home: &home,
            environment: &environment,
            program: Path::new("/bin/true"),
            paths: &paths,
            settings: &settings,
        },
        host: &host,
        caps: Caps {
            max_spawn: Some(PLACES),
            ..Caps::default()
        },
        start: directory.path(),
        clock_was_set: false,
        own_runs: &own_runs,
    };
    let (mut rehearsals, mut rounds, mut spawns) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bench.rounds {
        let started = Instant::now();
        let rehearsed = round.rehearse()?;
        rehearsals.push(started.elapsed().as_secs_f64() * 1e3);
        ensure!(rehearsed.spawned.len() == PLACES, "the places are free");

        let mut launcher = Timed {
            inner: ProcessLauncher::leaving(),
            spent: Duration::ZERO,
        };
        let started = Instant::now();
        let result = round.run(&mut launcher)?;
        let all = started.elapsed();
        ensure!(
            result.spawned.len() == PLACES,
            "{PLACES} workers are started"
        );
        rounds.push((all - launcher.spent).as_secs_f64() * 1e3);
        spawns.push(launcher.spent.as_secs_f64() * 1e3);
        for (task, _, _) in &result.spawned {
            board.complete(task, &CompletionRequest::default())?;
        }
    }
    Ok([
        Row::at_most(
            AREA,
            "a dry round, 10,000 ready tasks",
            Unit::Ms,
            40.0,
            (Stats::of(rehearsals), None),
        ),
        Row::at_most(
            AREA,
            "a round that claims and launches 8 of 10,000, without the spawns",
            Unit::Ms,
            10.0,
            (Stats::of(rounds), None),
        ),
        Stats::of(spawns).map(|candidate| Row {
            area: AREA,
            measure: "the 8 spawns of such a round".to_owned(),
            unit: Unit::Ms,
            bar: None,
            candidate,
            reference: None,
        }),
    ]
    .into_iter()
    .flatten()
    .collect())
}
