//! The loop that keeps boards moving.
//!
//! One thread decides. It wakes for the next round, for the end of a child, and
//! for a signal. Workers are not its children in spirit: they live on when it
//! ends, and the next dispatcher finds them on the board.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use hermes_config::Config;
use hermes_home::{Clock, Environment, Home, Lock, LockKind};
use tokio::signal::unix::{SignalKind, signal};

use super::clock_watch::ClockWatch;
use super::launcher::{ProcessLauncher, WorkerExit};
use super::lock::RoundLock;
use super::{Caps, DispatchResult, Health, Round, Surroundings};
use crate::boards::{BoardPaths, Boards, Slug};
use crate::error::KanbanError;
use crate::host::Host;
use crate::settings::Settings;
use crate::store::{Board, Check, OpenOptions};

/// What a loop is told when it starts.
pub struct Daemon<'a> {
    pub home: &'a Home,
    pub environment: &'a Environment,
    pub clock: &'a Clock,
    pub host: &'a Host,
    pub program: &'a Path,
    pub start: &'a Path,
    /// `None`: every board that is not archived, new ones too.
    pub board: Option<Slug>,
    pub interval: Option<Duration>,
    pub max: Option<usize>,
    pub failure_limit: Option<i64>,
    pub once: bool,
    /// Reads the configuration again; the last good one stays in use.
    pub config: &'a dyn Fn() -> Result<Config, String>,
}

/// What a loop tells while it runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Report<'r> {
    Round {
        board: &'r Slug,
        result: &'r DispatchResult,
    },
    /// Why an idle board is idle, or what else a person should know.
    Remark(String),
}

/// How a loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Once,
    /// One round, and not on every board.
    OnceFailed,
    Interrupted,
    Terminated,
    /// Nobody reads what it reports any more.
    Unheard,
}

enum Wake {
    Exit(WorkerExit),
    Stop(Ended),
}

/// A board that could not be opened, and what its file looked like then.
struct Paused {
    fingerprint: Option<(i64, i64, u64)>,
    since: Instant,
}

/// How long a damaged board is left alone.
const PAUSE: Duration = Duration::from_secs(300);
/// Ends that come together are settled together.
const GATHER: Duration = Duration::from_millis(20);
/// One worker is supposed to need this much.
const WORKER_MEMORY_MB: u64 = 512;
/// Other dispatchers' rounds are worth waiting for this long.
const ROUND_PATIENCE: Duration = Duration::from_secs(5);

impl Daemon<'_> {
    pub fn run(
        &self,
        report: &mut dyn FnMut(Report<'_>) -> std::io::Result<()>,
    ) -> Result<Ended, KanbanError> {
        let boards = Boards::locate(self.home, self.environment);
        let _only = self.take_root_lock(&boards)?;
        let (sender, wakes) = channel();
        let mut launcher = ProcessLauncher::watching(sender.clone(), Wake::Exit);
        listen(&mut launcher, &sender)?;
        let mut state = State::default();
        let mut announced = false;
        loop {
            let settings = self.settings(&mut state, report)?;
            let caps = self.caps(&settings);
            if let Some(memory) = caps.memory.filter(|_| !announced) {
                announced = true;
                let remark =
                    format!("no cap is set: at most {memory} workers, by available memory");
                if report(Report::Remark(remark)).is_err() {
                    return Ok(Ended::Unheard);
                }
            }
            if let Some(seconds) = state.watch.look(self.clock.now().timestamp()) {
                let remark = format!(
                    "the clock moved by {seconds} s beside time itself; live workers keep their \
                     tasks while they get heard of again"
                );
                tracing::warn!(seconds, "the clock was set, or the machine slept");
                if report(Report::Remark(remark)).is_err() {
                    return Ok(Ended::Unheard);
                }
            }
            let next_round = Instant::now() + self.interval.unwrap_or(settings.interval);
            if self
                .rounds(&boards, &settings, caps, &mut launcher, &mut state, report)?
                .is_some()
            {
                return Ok(Ended::Unheard);
            }
            if self.once {
                return Ok(if state.failed {
                    Ended::OnceFailed
                } else {
                    Ended::Once
                });
            }
            if let Some(ended) = wait(&wakes, next_round, &mut state) {
                return Ok(ended);
            }
        }
    }

    fn take_root_lock(&self, boards: &Boards) -> Result<Lock, KanbanError> {
        let file = boards.dispatcher_lock();
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).map_err(KanbanError::io(parent))?;
        }
        Lock::try_acquire(&file, LockKind::Exclusive)
            .map_err(KanbanError::io(&file))?
            .ok_or_else(|| {
                KanbanError::Process(format!(
                    "another dispatcher is running for this root (it holds {})",
                    file.display()
                ))
            })
    }

    fn settings(
        &self,
        state: &mut State,
        report: &mut dyn FnMut(Report<'_>) -> std::io::Result<()>,
    ) -> Result<Settings, KanbanError> {
        let read = (self.config)();
        let mut settings = match (read, state.settings.clone()) {
            (Ok(config), _) => Settings::read(&config, self.environment),
            (Err(reason), Some(last)) => {
                let remark = format!("configuration not read, the last one stays in use: {reason}");
                if state.say_once(&remark) {
                    let _ = report(Report::Remark(remark));
                }
                last
            }
            (Err(reason), None) => return Err(KanbanError::Process(reason)),
        };
        if let Some(limit) = self.failure_limit {
            settings.failure_limit = limit;
        }
        for complaint in &settings.complaints {
            if state.say_once(complaint) {
                let _ = report(Report::Remark(complaint.clone()));
            }
        }
        state.settings = Some(settings.clone());
        Ok(settings)
    }

    /// Without any cap the machine's memory is one.
    fn caps(&self, settings: &Settings) -> Caps {
        let mut caps = Caps::of(settings);
        if self.max.is_some() {
            caps.max_spawn = self.max;
        }
        if caps.max_spawn.is_none() && caps.max_in_progress.is_none() {
            caps.memory = Some(memory_cap());
        }
        caps
    }

    fn slugs(&self, boards: &Boards) -> Vec<Slug> {
        match &self.board {
            Some(slug) => vec![slug.clone()],
            // With a pinned database every name is the same board.
            None if boards.is_database_pinned() => vec![Slug::default_board()],
            None => boards
                .list()
                .into_iter()
                .filter(|slug| !boards.metadata(slug).is_archived())
                .collect(),
        }
    }

    fn rounds(
        &self,
        boards: &Boards,
        settings: &Settings,
        caps: Caps,
        launcher: &mut ProcessLauncher<Wake>,
        state: &mut State,
        report: &mut dyn FnMut(Report<'_>) -> std::io::Result<()>,
    ) -> Result<Option<()>, KanbanError> {
        let slugs = self.slugs(boards);
        state.open.retain(|slug, _| slugs.contains(slug));
        let all_exits = std::mem::take(&mut state.exits);
        for slug in slugs {
            let paths = boards.paths(&slug);
            let exits: Vec<&WorkerExit> =
                all_exits.iter().filter(|exit| exit.board == slug).collect();
            let ended: HashSet<i64> = exits.iter().map(|exit| exit.run).collect();
            match self.one_board(
                &paths, boards, settings, caps, launcher, state, &exits, &ended,
            ) {
                Ok(None) => {}
                Ok(Some(result)) => {
                    if report(Report::Round {
                        board: &slug,
                        result: &result,
                    })
                    .is_err()
                    {
                        return Ok(Some(()));
                    }
                    let now = self.clock.now().timestamp();
                    let health = state.health.entry(slug.clone()).or_default();
                    if let Some(line) = health.observe(&result, now)
                        && report(Report::Remark(format!("board '{slug}': {line}"))).is_err()
                    {
                        return Ok(Some(()));
                    }
                }
                // One board's trouble is not another's.
                Err(error) => {
                    state.failed = true;
                    state.open.remove(&slug);
                    if error.is_damage() {
                        let fingerprint = fingerprint(&paths.database);
                        state.paused.insert(
                            slug.clone(),
                            Paused {
                                fingerprint,
                                since: Instant::now(),
                            },
                        );
                    }
                    tracing::error!(board = %slug, %error, "round failed");
                    if report(Report::Remark(format!("board '{slug}': {error}"))).is_err() {
                        return Ok(Some(()));
                    }
                }
            }
        }
        Ok(None)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the loop's state, lent for one board"
    )]
    fn one_board(
        &self,
        paths: &BoardPaths,
        boards: &Boards,
        settings: &Settings,
        caps: Caps,
        launcher: &mut ProcessLauncher<Wake>,
        state: &mut State,
        exits: &[&WorkerExit],
        ended: &HashSet<i64>,
    ) -> Result<Option<DispatchResult>, KanbanError> {
        if let Some(paused) = state.paused.get(&paths.slug) {
            let same = paused.fingerprint == fingerprint(&paths.database);
            if same && paused.since.elapsed() < PAUSE {
                return Ok(None);
            }
            state.paused.remove(&paths.slug);
        }
        // Kept open for the loop's life: this is also what guards the log.
        if state
            .open
            .get(&paths.slug)
            .is_none_or(|board| board.failure_limit() != settings.failure_limit)
        {
            let options = OpenOptions {
                check: Check::Full,
                patience: settings.busy_timeout,
                failure_limit: settings.failure_limit,
                clock: self.clock.clone(),
                ..OpenOptions::default()
            };
            state
                .open
                .insert(paths.slug.clone(), Board::open(&paths.database, &options)?);
        }
        let Some(board) = state.open.get(&paths.slug) else {
            return Ok(None);
        };
        for exit in exits {
            board.record_exit(exit.run, exit.code(), exit.signal())?;
        }
        let Some(_lock) = RoundLock::acquire(&paths.database, ROUND_PATIENCE)? else {
            return Ok(None);
        };
        let round = Round {
            board,
            boards,
            paths,
            around: Surroundings {
                home: self.home,
                environment: self.environment,
                program: self.program,
                paths,
                settings,
            },
            host: self.host,
            caps,
            start: self.start,
            clock_was_set: state.watch.is_lenient(),
            own_runs: ended,
        };
        round.run(launcher).map(Some)
    }
}

#[derive(Default)]
struct State {
    open: BTreeMap<Slug, Board>,
    paused: BTreeMap<Slug, Paused>,
    health: BTreeMap<Slug, Health>,
    settings: Option<Settings>,
    said: HashSet<String>,
    exits: Vec<WorkerExit>,
    failed: bool,
    watch: ClockWatch,
}

impl State {
    fn say_once(&mut self, text: &str) -> bool {
        self.said.insert(text.to_owned())
    }
}

/// Signals become wakes.
fn listen(launcher: &mut ProcessLauncher<Wake>, sender: &Sender<Wake>) -> Result<(), KanbanError> {
    let runtime = launcher.runtime()?;
    for (kind, ended) in [
        (SignalKind::interrupt(), Ended::Interrupted),
        (SignalKind::terminate(), Ended::Terminated),
    ] {
        let sender = sender.clone();
        let _inside = runtime.enter();
        let mut signals = signal(kind).map_err(|error| KanbanError::Process(error.to_string()))?;
        runtime.spawn(async move {
            while signals.recv().await.is_some() {
                if sender.send(Wake::Stop(ended)).is_err() {
                    return;
                }
            }
        });
    }
    Ok(())
}

/// Until the next round is due or a child has ended; `Some` when the loop is over.
fn wait(wakes: &Receiver<Wake>, until: Instant, state: &mut State) -> Option<Ended> {
    let mut until = until;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match wakes.recv_timeout(left) {
            Ok(Wake::Stop(ended)) => return Some(ended),
            Ok(Wake::Exit(exit)) => {
                state.exits.push(exit);
                until = until.min(Instant::now() + GATHER);
            }
            Err(RecvTimeoutError::Timeout) => return None,
            Err(RecvTimeoutError::Disconnected) => return Some(Ended::Terminated),
        }
    }
}

fn fingerprint(database: &Path) -> Option<(i64, i64, u64)> {
    fs::metadata(database)
        .ok()
        .map(|meta| (meta.mtime(), meta.mtime_nsec(), meta.len()))
}

/// Between 2 and 8, by the memory that could be had now.
pub fn memory_cap() -> usize {
    let available = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        text.lines()
            .find_map(|line| line.strip_prefix("MemAvailable:"))?
            .split_whitespace()
            .next()?
            .parse::<u64>()
            .ok()
    });
    let megabytes = available.unwrap_or(0) / 1024;
    usize::try_from(megabytes / WORKER_MEMORY_MB)
        .unwrap_or(8)
        .clamp(2, 8)
}
