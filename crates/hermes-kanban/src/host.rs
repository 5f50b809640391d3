//! This machine, and processes on it that boards know by number.
//!
//! A claim lock reads `<hostname>:<pid>`. Pids mean something only where the host
//! name matches; everything about other hosts is left to the claim's TTL.

use std::time::{Duration, Instant};

use hermes_process::{Identity, Tree};
use hermes_types::TaskId;

use crate::env;
use crate::model::{Termination, WorkerIdentity};

/// Between SIGTERM and SIGKILL.
pub(crate) const TERMINATION_GRACE: Duration = Duration::from_secs(5);

/// The same for children whose worker is dead already.
const REMAINS_GRACE: Duration = Duration::from_secs(2);

/// A process found under a pid without a recorded start time counts as the worker
/// only if it started within this many seconds of the run.
const START_SLACK: i64 = 120;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    name: String,
}

/// What is known about a worker's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerRef<'a> {
    pub task: &'a TaskId,
    pub run: Option<i64>,
    pub lock: Option<&'a str>,
    pub pid: Option<i64>,
    pub run_started_at: i64,
    pub identity: Option<&'a WorkerIdentity>,
}

impl Host {
    pub fn of_machine() -> Self {
        let name = nix::unistd::gethostname()
            .ok()
            .and_then(|name| name.into_string().ok())
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| "unknown".to_owned());
        Self { name }
    }

    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into() }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The lock this process claims with.
    pub fn claim_lock(&self) -> String {
        format!("{}:{}", self.name, std::process::id())
    }

    pub fn owns(&self, lock: &str) -> bool {
        lock.strip_prefix(&self.name)
            .is_some_and(|rest| rest.starts_with(':'))
    }

    /// This very process as a worker of `run`.
    pub fn this_worker(&self, run: i64) -> WorkerIdentity {
        self.describe(run, &Identity::of_this_process())
    }

    pub fn describe(&self, run: i64, process: &Identity) -> WorkerIdentity {
        WorkerIdentity {
            run_id: run,
            pid: Some(i64::from(process.pid)),
            start_time: i64::try_from(process.start_ticks).ok(),
            boot_id: Some(process.boot_id.clone()),
            host: self.name.clone(),
            ..WorkerIdentity::default()
        }
    }

    /// The worker's process if it is here and still the one that was started.
    pub fn find(&self, worker: WorkerRef<'_>) -> Option<Identity> {
        if !worker.lock.is_some_and(|lock| self.owns(lock)) {
            return None;
        }
        let pid = i32::try_from(worker.pid?).ok()?;
        let found = Identity::of(pid).filter(Identity::is_alive)?;
        match worker
            .identity
            .filter(|known| known.pid == Some(i64::from(pid)))
        {
            Some(known) if known.host == self.name => {
                let same = known.start_time == i64::try_from(found.start_ticks).ok()
                    && known.boot_id.as_deref() == Some(found.boot_id.as_str());
                same.then_some(found)
            }
            // Somebody else's worker. Its environment names its run; where that cannot
            // be read, it must be as old as the run, because its number may have been
            // given away again. (A clock that was set makes processes look younger.)
            _ => {
                let of_run = worker.run.is_some_and(|run| {
                    found.was_started_with(&[
                        (env::TASK, worker.task.as_str()),
                        (env::RUN_ID, &run.to_string()),
                    ])
                });
                let old_enough = || {
                    found
                        .started_at()
                        .is_none_or(|at| at as i64 <= worker.run_started_at + START_SLACK)
                };
                (of_run || old_enough()).then_some(found)
            }
        }
    }

    /// A worker of `run` that lives although nobody has written down its number: its
    /// dispatcher died right after starting it, and it does not know how to check in.
    pub fn find_unrecorded(&self, task: &TaskId, run: i64) -> Option<Identity> {
        Identity::oldest_started_with(&[
            (env::TASK, task.as_str()),
            (env::RUN_ID, &run.to_string()),
        ])
    }

    /// Ends what a worker that is gone has left behind: its children carry its
    /// environment. `attempted` says whether there was anything.
    pub fn end_remains(&self, task: &TaskId, run: i64) -> Termination {
        let mut outcome = Termination {
            host_local: true,
            terminated: true,
            ..Termination::default()
        };
        // Each tree is gone before the next look; a tree that stays ends this.
        while let Some(process) = self.find_unrecorded(task, run) {
            outcome.attempted = true;
            if Tree::led_by(process)
                .terminate_blocking(REMAINS_GRACE)
                .is_err()
            {
                outcome.terminated = false;
                break;
            }
        }
        outcome
    }

    /// Ends the worker's whole tree and says what that took.
    pub fn terminate(&self, worker: WorkerRef<'_>) -> Termination {
        let mut outcome = Termination {
            prev_pid: worker.pid,
            host_local: worker.pid.is_some() && worker.lock.is_some_and(|lock| self.owns(lock)),
            ..Termination::default()
        };
        let Some(process) = self.find(worker) else {
            // Nobody is there any more.
            outcome.terminated = outcome.host_local;
            return outcome;
        };
        outcome.attempted = true;
        let tree = Tree::led_by(process);
        let started = Instant::now();
        outcome.terminated = tree.terminate_blocking(TERMINATION_GRACE).is_ok();
        // Whoever outlives the grace is killed.
        outcome.sigkill = started.elapsed() >= TERMINATION_GRACE;
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn me() -> (Host, Identity) {
        (Host::named("here"), Identity::of_this_process())
    }

    #[test]
    fn a_lock_belongs_to_the_host_whose_whole_name_it_begins_with() {
        let host = Host::named("work");
        assert!(host.owns("work:12"));
        assert!(!host.owns("workstation:12"));
        assert!(!host.owns("other:12"));
    }

    #[test]
    fn a_recycled_pid_is_not_the_worker() {
        let (host, process) = me();
        let known = host.describe(1, &process);
        let find = |identity: &WorkerIdentity| {
            host.find(WorkerRef {
                task: &TaskId::new("t_00000001"),
                run: Some(1),
                lock: Some("here:1"),
                pid: Some(i64::from(process.pid)),
                run_started_at: 0,
                identity: Some(identity),
            })
        };
        assert_eq!(find(&known), Some(process.clone()));
        let earlier = known.start_time.map(|ticks| ticks - 1);
        assert_eq!(
            find(&WorkerIdentity {
                start_time: earlier,
                ..known.clone()
            }),
            None
        );
        let boot_id = Some("before the reboot".to_owned());
        assert_eq!(find(&WorkerIdentity { boot_id, ..known }), None);
    }

    #[test]
    fn without_a_recorded_start_the_process_must_be_as_old_as_the_run() {
        let (host, process) = me();
        let started = process.started_at().unwrap() as i64;
        let task = TaskId::new("t_00000001");
        let worker = |run_started_at| WorkerRef {
            task: &task,
            run: None,
            lock: Some("here:1"),
            pid: Some(i64::from(process.pid)),
            run_started_at,
            identity: None,
        };
        assert!(host.find(worker(started)).is_some());
        assert!(host.find(worker(started - 10_000)).is_none());
        let foreign = WorkerRef {
            lock: Some("there:1"),
            ..worker(started)
        };
        assert!(host.find(foreign).is_none());
    }
}
