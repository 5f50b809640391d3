//! The first half of a round: running tasks whose claim, worker or time is over.

use std::collections::HashMap;
use std::thread;

use super::DispatchResult;
use super::judge::{
    EXIT_MISCONFIGURED, EXIT_RATE_LIMITED, Liveness, Verdict, fingerprint, is_overdue, judge,
};
use super::round::Round;
use crate::error::KanbanError;
use crate::machine::{Failed, FailureKind, Fence, Limit, Release};
use crate::model::{Status, Task, Termination};
use crate::store::{ReadyTask, RunningTask};
use crate::worker::{LogTail, read_log};

/// As many crashes of one kind in one round are not the tasks' fault.
const SYSTEMIC: usize = 3;
/// How much of its log a silent worker's error shows.
const LOG_TAIL_BYTES: u64 = 300;

/// What is left running, and what a rehearsal supposes to be ready again.
#[derive(Debug, Default)]
pub(super) struct Settled {
    pub(super) running: Vec<RunningTask>,
    pub(super) ready_again: Vec<ReadyTask>,
}

/// Real rounds act; rehearsals only count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Act,
    Rehearse,
}

pub(super) fn settle(
    round: &Round<'_>,
    tasks: Vec<RunningTask>,
    mode: Mode,
    result: &mut DispatchResult,
) -> Result<Settled, KanbanError> {
    let now = round.board.now();
    let mut tasks = tasks;
    adopt_unrecorded(round, &mut tasks, mode, now)?;
    let judged: Vec<(RunningTask, Liveness, Verdict)> = tasks
        .into_iter()
        .map(|task| {
            let live = look(round, &task);
            let verdict = judge(&task, live, round.around.settings, now);
            (task, live, verdict)
        })
        .collect();
    let alike = count_crashes(&judged);
    let terminations = match mode {
        Mode::Act => end_workers(round, &judged),
        Mode::Rehearse => HashMap::new(),
    };
    let mut settled = Settled::default();
    for (index, (task, live, verdict)) in judged.into_iter().enumerate() {
        let termination = terminations.get(&index).cloned().unwrap_or_default();
        let systemic = match &verdict {
            Verdict::Crashed { error, .. } => alike
                .get(&fingerprint(error))
                .is_some_and(|count| *count >= SYSTEMIC),
            _ => false,
        };
        let case = Case {
            round,
            mode,
            task,
            live,
            termination,
            systemic,
        };
        case.decide(verdict, &mut settled, result)?;
    }
    Ok(settled)
}

/// A dispatcher that died between the start of a worker and its record leaves a
/// process behind that only its environment names. It keeps its task.
fn adopt_unrecorded(
    round: &Round<'_>,
    tasks: &mut [RunningTask],
    mode: Mode,
    now: i64,
) -> Result<(), KanbanError> {
    let mut found = Vec::new();
    for task in tasks.iter_mut() {
        let local = task
            .claim_lock
            .as_deref()
            .is_some_and(|lock| round.host.owns(lock));
        if let Some(run) = task.run.filter(|_| local && is_overdue(task, now))
            && let Some(process) = round.host.find_unrecorded(&task.id, run)
        {
            let identity = round.host.describe(run, &process);
            task.worker_pid = identity.pid;
            task.identity = Some(identity.clone());
            found.push((task.id.clone(), identity));
        }
    }
    if mode == Mode::Act && !found.is_empty() {
        round.board.launched(&found)?;
    }
    Ok(())
}

fn look(round: &Round<'_>, task: &RunningTask) -> Liveness {
    let lock = task.claim_lock.as_deref().unwrap_or_default();
    let host_local = round.host.owns(lock);
    Liveness {
        host_local,
        worker_alive: host_local && round.host.find(task.worker()).is_some(),
        clock_was_set: round.clock_was_set,
        own_child: task.run.is_some_and(|run| round.own_runs.contains(&run)),
    }
}

fn count_crashes(judged: &[(RunningTask, Liveness, Verdict)]) -> HashMap<String, usize> {
    let mut alike: HashMap<String, usize> = HashMap::new();
    for (_, _, verdict) in judged {
        if let Verdict::Crashed { error, .. } = verdict {
            *alike.entry(fingerprint(error)).or_default() += 1;
        }
    }
    alike
}

/// Ends workers side by side, because each may take its whole grace; no
/// transaction is open meanwhile.
fn end_workers(
    round: &Round<'_>,
    judged: &[(RunningTask, Liveness, Verdict)],
) -> HashMap<usize, Termination> {
    let host = round.host;
    thread::scope(|scope| {
        let handles: Vec<_> = judged
            .iter()
            .enumerate()
            .filter_map(|(index, (task, live, verdict))| {
                let handle = match verdict {
                    Verdict::Keep | Verdict::Extend | Verdict::NeverSpawned => return None,
                    Verdict::Expired { .. } | Verdict::Stale { .. } | Verdict::TimedOut { .. } => {
                        scope.spawn(move || host.terminate(task.worker()))
                    }
                    // The worker is gone; its children may not be.
                    Verdict::Crashed { .. }
                    | Verdict::CleanExit { .. }
                    | Verdict::RateLimited { .. }
                    | Verdict::Interrupted => {
                        let run = task.run.filter(|_| live.host_local)?;
                        scope.spawn(move || host.end_remains(&task.id, run))
                    }
                };
                Some((index, handle))
            })
            .collect();
        handles
            .into_iter()
            .filter_map(|(index, handle)| handle.join().ok().map(|done| (index, done)))
            .collect()
    })
}

struct Case<'r> {
    round: &'r Round<'r>,
    mode: Mode,
    task: RunningTask,
    live: Liveness,
    termination: Termination,
    systemic: bool,
}

impl Case<'_> {
    fn decide(
        self,
        verdict: Verdict,
        settled: &mut Settled,
        result: &mut DispatchResult,
    ) -> Result<(), KanbanError> {
        match verdict {
            Verdict::Keep => {
                settled.running.push(self.task);
                Ok(())
            }
            Verdict::Extend => {
                if self.mode == Mode::Act {
                    let ttl = self.round.around.settings.claim_ttl;
                    let board = self.round.board;
                    ours(board.extend_for_live_worker(&self.task.id, self.task.run, ttl))?;
                }
                settled.running.push(self.task);
                Ok(())
            }
            // Something of the worker could not be ended: taking the task back now
            // might double it.
            _ if self.mode == Mode::Act
                && self.termination.attempted
                && !self.termination.terminated =>
            {
                tracing::error!(task = %self.task.id, "the worker could not be ended; trying again");
                settled.running.push(self.task);
                Ok(())
            }
            Verdict::Expired { heartbeat_stale } => {
                let release = Release::Expired {
                    host_local: self.live.host_local && self.task.worker_pid.is_some(),
                    heartbeat_stale,
                    termination: self.termination.clone(),
                };
                result.reclaimed += usize::from(self.release(release, settled)?);
                Ok(())
            }
            Verdict::Stale {
                elapsed,
                heartbeat_age,
                timeout,
            } => {
                let id = self.task.id.clone();
                let termination = self.termination.clone();
                let release = Release::Stale {
                    elapsed,
                    heartbeat_age,
                    timeout,
                    termination,
                };
                if self.release(release, settled)? {
                    result.stale.push(id);
                }
                Ok(())
            }
            Verdict::RateLimited { pid } => {
                let id = self.task.id.clone();
                let error = format!("pid {pid} was rate limited by its provider");
                let release = Release::RateLimited {
                    exit_code: EXIT_RATE_LIMITED,
                    error,
                };
                if self.release(release, settled)? {
                    result.rate_limited.push(id);
                }
                Ok(())
            }
            Verdict::Interrupted => {
                let release = Release::Abandoned {
                    reason: "worker_terminated",
                    error: "the worker was ended from outside".to_owned(),
                };
                result.reclaimed += usize::from(self.release(release, settled)?);
                Ok(())
            }
            Verdict::NeverSpawned => {
                let error = "its dispatcher did not start a worker".to_owned();
                self.fail(FailureKind::SpawnFailed, error, false, settled, result)?;
                Ok(())
            }
            Verdict::TimedOut {
                pid,
                elapsed,
                limit,
            } => {
                let id = self.task.id.clone();
                let sigkill = self.termination.sigkill;
                let kind = FailureKind::TimedOut {
                    pid,
                    elapsed,
                    limit,
                    sigkill,
                };
                let error = format!("elapsed {elapsed}s > limit {limit}s");
                if self.fail(kind, error, false, settled, result)? {
                    result.timed_out.push(id);
                }
                Ok(())
            }
            Verdict::Crashed { pid, exit, error } => {
                let id = self.task.id.clone();
                let hopeless = exit == Some(("code", EXIT_MISCONFIGURED));
                let at_once = self.systemic || hopeless;
                let error = if hopeless {
                    self.with_last_words(error)
                } else {
                    error
                };
                let kind = FailureKind::Crashed { pid, exit };
                if self.fail(kind, error, at_once, settled, result)? {
                    result.crashed.push(id);
                }
                Ok(())
            }
            Verdict::CleanExit { pid } => {
                let id = self.task.id.clone();
                let error = self.with_last_words(format!(
                    "pid {pid} exited with code 0 without completing or blocking the task"
                ));
                let kind = FailureKind::ProtocolViolation { pid };
                if self.fail(kind, error, true, settled, result)? {
                    result.crashed.push(id);
                }
                Ok(())
            }
        }
    }

    /// An ending without a report, and what the worker last said.
    fn with_last_words(&self, error: String) -> String {
        let path = self.round.paths.log_of(self.task.id.as_str());
        let said = read_log(&path, LogTail::Bytes(LOG_TAIL_BYTES))
            .ok()
            .flatten()
            .map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned())
            .filter(|text| !text.is_empty());
        match said {
            Some(said) => format!("{error}; its log ends: {said}"),
            None => error,
        }
    }

    fn release(self, release: Release, settled: &mut Settled) -> Result<bool, KanbanError> {
        if self.mode == Mode::Rehearse {
            let error = match &release {
                Release::RateLimited { error, .. } => Some(error.clone()),
                _ => None,
            };
            settled.ready_again.push(self.task.released(error));
            return Ok(true);
        }
        Ok(ours(
            self.round
                .board
                .release(&self.task.id, self.task.run, release),
        )?
        .is_some())
    }

    /// `false` when the worker finished meanwhile after all.
    fn fail(
        self,
        kind: FailureKind,
        error: String,
        at_once: bool,
        settled: &mut Settled,
        result: &mut DispatchResult,
    ) -> Result<bool, KanbanError> {
        let id = self.task.id.clone();
        if self.mode == Mode::Rehearse {
            let configured = self.round.board.failure_limit();
            let limit = Limit::resolve(self.task.max_retries, configured);
            if at_once || self.task.failures + 1 >= limit.value {
                result.auto_blocked.push(id);
            } else {
                settled.ready_again.push(self.task.released(Some(error)));
            }
            return Ok(true);
        }
        let report = Failed {
            kind,
            error,
            at_once,
            fence: Fence::Open,
        };
        let failed = self.round.board.fail(&id, self.task.run, report);
        let Some(task) = ours(failed)? else {
            return Ok(false);
        };
        if task.status == Status::Blocked {
            result.auto_blocked.push(id);
        }
        Ok(true)
    }
}

/// A refusal means that somebody else was quicker, which is fine.
pub(super) fn ours(outcome: Result<Task, KanbanError>) -> Result<Option<Task>, KanbanError> {
    match outcome {
        Ok(task) => Ok(Some(task)),
        Err(error) if error.is_refusal() => Ok(None),
        Err(error) => Err(error),
    }
}
