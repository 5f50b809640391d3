//! What is to be done about a task that is running, from what is known about its
//! worker. Pure: whoever asks has looked at the process table.

use crate::settings::{HEARTBEAT_STALE_SECONDS, Settings};
use crate::store::RunningTask;

/// A dispatcher's claim without a worker is given this long.
const SPAWN_SECONDS: i64 = 10;
/// A worker that was told to come back later.
pub const EXIT_RATE_LIMITED: i64 = 75;
/// A worker whose configuration keeps any worker from starting.
pub const EXIT_MISCONFIGURED: i64 = 78;
/// A worker that was ended by SIGTERM and says so.
pub const EXIT_TERMINATED: i64 = 143;

/// What the process table says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Liveness {
    /// The claim was made on this host.
    pub host_local: bool,
    pub worker_alive: bool,
    /// The clock has just been set, or the machine slept: what it says about a live
    /// worker's silence or time means nothing yet.
    pub clock_was_set: bool,
    /// Our own child: its end is known at once and needs no grace.
    pub own_child: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Keep,
    /// The claim ran out under a live worker.
    Extend,
    Expired {
        heartbeat_stale: bool,
    },
    Stale {
        elapsed: i64,
        heartbeat_age: Option<i64>,
        timeout: i64,
    },
    Crashed {
        pid: i64,
        exit: Option<(&'static str, i64)>,
        error: String,
    },
    /// Exit code 0 and not a word on the board.
    CleanExit {
        pid: i64,
    },
    RateLimited {
        pid: i64,
    },
    Interrupted,
    TimedOut {
        pid: i64,
        elapsed: i64,
        limit: i64,
    },
    /// A dispatcher's claim that never got a process.
    NeverSpawned,
}

/// In the order of the reference: claim, heartbeat, process, running time.
pub fn judge(task: &RunningTask, live: Liveness, settings: &Settings, now: i64) -> Verdict {
    let elapsed = now - task.run_started_at;
    let heartbeat_age = task.last_heartbeat_at.map(|at| now - at);
    let heartbeat_stale = heartbeat_age.is_some_and(|age| age > HEARTBEAT_STALE_SECONDS);
    if task.claim_expires.is_some_and(|expires| expires < now) {
        return if live.host_local && live.worker_alive && (!heartbeat_stale || live.clock_was_set) {
            Verdict::Extend
        } else {
            Verdict::Expired { heartbeat_stale }
        };
    }
    if live.worker_alive && live.clock_was_set {
        return Verdict::Keep;
    }
    let Some(pid) = task.worker_pid else {
        // A claim by hand lives by its TTL; a dispatcher's must get a worker soon.
        return if live.host_local && is_overdue(task, now) {
            Verdict::NeverSpawned
        } else {
            Verdict::Keep
        };
    };
    if let Some(timeout) = settings.stale_timeout
        && elapsed > timeout
        && heartbeat_age.is_none_or(|age| age > HEARTBEAT_STALE_SECONDS)
    {
        return Verdict::Stale {
            elapsed,
            heartbeat_age,
            timeout,
        };
    }
    if !live.host_local {
        return Verdict::Keep;
    }
    if !live.worker_alive {
        let known = task
            .identity
            .as_ref()
            .filter(|identity| identity.ended_at.is_some());
        // A run from the future was begun before the clock was set back.
        let young = (0..settings.crash_grace).contains(&elapsed);
        let in_grace = young && !live.own_child && known.is_none();
        return if in_grace {
            Verdict::Keep
        } else {
            judge_the_dead(task, pid)
        };
    }
    match task.max_runtime_seconds {
        Some(limit) if limit > 0 && elapsed >= limit => Verdict::TimedOut {
            pid,
            elapsed,
            limit,
        },
        _ => Verdict::Keep,
    }
}

/// A dispatcher's claim that should have a worker by now and has none.
pub(super) fn is_overdue(task: &RunningTask, now: i64) -> bool {
    task.worker_pid.is_none()
        && task.identity.is_some()
        && !(0..SPAWN_SECONDS).contains(&(now - task.run_started_at))
}

fn judge_the_dead(task: &RunningTask, pid: i64) -> Verdict {
    let identity = task.identity.as_ref();
    let code = identity.and_then(|identity| identity.exit_code);
    let signal = identity.and_then(|identity| identity.signal);
    match (code, signal) {
        (Some(0), _) => Verdict::CleanExit { pid },
        (Some(EXIT_RATE_LIMITED), _) => Verdict::RateLimited { pid },
        (Some(EXIT_TERMINATED), _) => Verdict::Interrupted,
        (Some(code), _) => Verdict::Crashed {
            pid,
            exit: Some(("code", code)),
            error: format!("pid {pid} exited with code {code}"),
        },
        (None, Some(signal)) => Verdict::Crashed {
            pid,
            exit: Some(("signal", signal)),
            error: format!("pid {pid} killed by signal {signal}"),
        },
        (None, None) => Verdict::Crashed {
            pid,
            exit: None,
            error: format!("pid {pid} not alive"),
        },
    }
}

/// Crashes that look alike: pids and long numbers masked, the first 80 characters.
pub(super) fn fingerprint(error: &str) -> String {
    let mut out = String::new();
    let mut rest = error;
    while let Some(first) = rest.chars().next() {
        if first.is_ascii_digit() {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let after_pid = out.ends_with("pid ");
            if after_pid || digits >= 10 {
                out.push('N');
            } else {
                out.push_str(&rest[..digits]);
            }
            rest = &rest[digits..];
        } else {
            out.extend(first.to_lowercase());
            rest = &rest[first.len_utf8()..];
        }
    }
    out.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::WorkerIdentity;
    use hermes_config::Config;
    use hermes_home::Environment;
    use hermes_types::TaskId;

    fn settings() -> Settings {
        Settings::read(&Config::defaults(), &Environment::default())
    }

    fn running() -> RunningTask {
        RunningTask {
            id: TaskId::new("t_00000001"),
            assignee: Some("w".into()),
            claim_lock: Some("here:1".into()),
            claim_expires: Some(10_900),
            worker_pid: Some(77),
            last_heartbeat_at: None,
            run: Some(1),
            run_started_at: 10_000,
            max_runtime_seconds: None,
            max_retries: None,
            failures: 0,
            identity: Some(WorkerIdentity {
                run_id: 1,
                pid: Some(77),
                ..Default::default()
            }),
            priority: 0,
            created_at: 0,
        }
    }

    const ALIVE: Liveness = Liveness {
        host_local: true,
        worker_alive: true,
        clock_was_set: false,
        own_child: false,
    };
    const DEAD: Liveness = Liveness {
        worker_alive: false,
        ..ALIVE
    };
    const FOREIGN: Liveness = Liveness {
        host_local: false,
        worker_alive: false,
        clock_was_set: false,
        own_child: false,
    };

    #[test]
    fn an_expired_claim_is_kept_for_a_live_worker_that_is_heard_of() {
        let settings = settings();
        assert_eq!(judge(&running(), ALIVE, &settings, 10_901), Verdict::Extend);
        let silent = RunningTask {
            last_heartbeat_at: Some(10_000 - 4000),
            ..running()
        };
        assert_eq!(
            judge(&silent, ALIVE, &settings, 10_901),
            Verdict::Expired {
                heartbeat_stale: true
            }
        );
        assert_eq!(
            judge(&running(), FOREIGN, &settings, 10_901),
            Verdict::Expired {
                heartbeat_stale: false
            }
        );
    }

    #[test]
    fn the_dead_have_a_grace_unless_their_end_is_known() {
        let settings = settings();
        assert_eq!(judge(&running(), DEAD, &settings, 10_029), Verdict::Keep);
        assert!(matches!(
            judge(&running(), DEAD, &settings, 10_030),
            Verdict::Crashed { .. }
        ));
        let child = Liveness {
            own_child: true,
            ..DEAD
        };
        assert!(matches!(
            judge(&running(), child, &settings, 10_001),
            Verdict::Crashed { .. }
        ));
        let ended = |code| {
            let mut task = running();
            task.identity = Some(WorkerIdentity {
                exit_code: Some(code),
                ended_at: Some(10_001),
                ..task.identity.unwrap_or_default()
            });
            judge(&task, DEAD, &settings, 10_001)
        };
        assert_eq!(ended(0), Verdict::CleanExit { pid: 77 });
        assert_eq!(ended(75), Verdict::RateLimited { pid: 77 });
        assert_eq!(ended(143), Verdict::Interrupted);
        assert!(matches!(
            ended(1),
            Verdict::Crashed {
                exit: Some(("code", 1)),
                ..
            }
        ));
        assert_eq!(judge(&running(), FOREIGN, &settings, 10_500), Verdict::Keep);
    }

    #[test]
    fn a_claim_without_a_worker_is_by_hand_or_a_failed_launch() {
        let settings = settings();
        let launching = RunningTask {
            worker_pid: None,
            identity: Some(WorkerIdentity {
                run_id: 1,
                ..Default::default()
            }),
            ..running()
        };
        assert_eq!(judge(&launching, ALIVE, &settings, 10_009), Verdict::Keep);
        assert_eq!(
            judge(&launching, ALIVE, &settings, 10_010),
            Verdict::NeverSpawned
        );
        let by_hand = RunningTask {
            identity: None,
            claim_expires: Some(99_999),
            ..launching
        };
        assert_eq!(judge(&by_hand, DEAD, &settings, 60_000), Verdict::Keep);
    }

    #[test]
    fn silence_and_running_time_have_limits() {
        let settings = settings();
        let long = RunningTask {
            claim_expires: Some(99_999),
            ..running()
        };
        assert!(matches!(
            judge(&long, ALIVE, &settings, 24_401),
            Verdict::Stale { .. }
        ));
        let heard = RunningTask {
            last_heartbeat_at: Some(24_000),
            ..long.clone()
        };
        assert_eq!(judge(&heard, ALIVE, &settings, 24_401), Verdict::Keep);
        let limited = RunningTask {
            max_runtime_seconds: Some(60),
            ..long
        };
        assert_eq!(judge(&limited, ALIVE, &settings, 10_059), Verdict::Keep);
        assert_eq!(
            judge(&limited, ALIVE, &settings, 10_060),
            Verdict::TimedOut {
                pid: 77,
                elapsed: 60,
                limit: 60
            }
        );
    }

    #[test]
    fn a_clock_that_was_set_ends_nobody_who_lives_and_hides_nobody_who_is_dead() {
        let settings = settings();
        let set = Liveness {
            clock_was_set: true,
            ..ALIVE
        };
        let silent = RunningTask {
            last_heartbeat_at: Some(10_000),
            max_runtime_seconds: Some(60),
            ..running()
        };
        assert_eq!(judge(&silent, set, &settings, 40_000), Verdict::Extend);
        let held = RunningTask {
            claim_expires: Some(99_999),
            ..silent
        };
        assert_eq!(judge(&held, set, &settings, 40_000), Verdict::Keep);
        assert!(matches!(
            judge(&held, ALIVE, &settings, 40_000),
            Verdict::Stale { .. }
        ));
        // Set back: the run lies in the future.
        assert!(matches!(
            judge(&running(), DEAD, &settings, 5_000),
            Verdict::Crashed { .. }
        ));
    }

    #[test]
    fn crashes_of_different_pids_have_one_fingerprint() {
        assert_eq!(
            fingerprint("pid 12 not alive"),
            fingerprint("PID 99831 not alive")
        );
        assert_ne!(
            fingerprint("pid 1 exited with code 1"),
            fingerprint("pid 1 exited with code 2")
        );
        assert_eq!(fingerprint("at 1780000000123"), "at N");
    }
}
