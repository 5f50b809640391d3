//! One attempt at a task, and the process that makes it.

use hermes_types::TaskId;
use serde_json::{Map, Value, json};

/// How an attempt ended; also the run's status, except for `Completed` on a
/// claimed task, whose status is `done`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    Completed,
    Blocked,
    Scheduled,
    Reclaimed,
    Crashed,
    TimedOut,
    Stale,
    RateLimited,
    SpawnFailed,
    GaveUp,
}

impl Outcome {
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Completed => "completed",
            Outcome::Blocked => "blocked",
            Outcome::Scheduled => "scheduled",
            Outcome::Reclaimed => "reclaimed",
            Outcome::Crashed => "crashed",
            Outcome::TimedOut => "timed_out",
            Outcome::Stale => "stale",
            Outcome::RateLimited => "rate_limited",
            Outcome::SpawnFailed => "spawn_failed",
            Outcome::GaveUp => "gave_up",
        }
    }
}

/// A row of `task_runs`.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub id: i64,
    pub task_id: TaskId,
    pub profile: Option<String>,
    pub step_key: Option<String>,
    pub status: String,
    pub claim_lock: Option<String>,
    pub claim_expires: Option<i64>,
    pub worker_pid: Option<i64>,
    pub max_runtime_seconds: Option<i64>,
    pub last_heartbeat_at: Option<i64>,
    pub started_at: i64,
    pub ended_at: Option<i64>,
    pub outcome: Option<String>,
    pub summary: Option<String>,
    pub metadata: Option<Value>,
    pub error: Option<String>,
}

impl Run {
    pub fn ended_as(&self, outcome: Outcome) -> bool {
        self.outcome.as_deref() == Some(outcome.as_str())
    }

    /// What people call the attempt's state: its outcome once it has one.
    pub fn state(&self) -> &str {
        self.outcome.as_deref().unwrap_or(&self.status)
    }

    /// The shape inside `show --json`.
    pub fn show_json(&self) -> Value {
        json!({
            "id": self.id,
            "profile": self.profile,
            "step_key": self.step_key,
            "status": self.status,
            "outcome": self.outcome,
            "summary": self.summary,
            "error": self.error,
            "metadata": self.metadata,
            "worker_pid": self.worker_pid,
            "started_at": self.started_at,
            "ended_at": self.ended_at,
        })
    }

    /// The shape of `runs --json`.
    pub fn list_json(&self) -> Value {
        json!({
            "id": self.id,
            "profile": self.profile,
            "status": self.status,
            "outcome": self.outcome,
            "started_at": self.started_at,
            "ended_at": self.ended_at,
            "summary": self.summary,
            "error": self.error,
            "metadata": self.metadata,
            "worker_pid": self.worker_pid,
            "step_key": self.step_key,
        })
    }
}

/// Who works on a run. A pid alone is not an identity: it is reused, and it
/// means nothing on another host or after a reboot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerIdentity {
    pub run_id: i64,
    /// Empty between claim and launch.
    pub pid: Option<i64>,
    /// In clock ticks since boot, as the kernel reports it.
    pub start_time: Option<i64>,
    pub boot_id: Option<String>,
    pub host: String,
    pub exit_code: Option<i64>,
    pub signal: Option<i64>,
    pub ended_at: Option<i64>,
}

/// What was done to end a worker before its claim was taken back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Termination {
    pub prev_pid: Option<i64>,
    pub host_local: bool,
    pub attempted: bool,
    pub terminated: bool,
    pub sigkill: bool,
}

impl Termination {
    pub fn to_map(&self) -> Map<String, Value> {
        let Value::Object(map) = json!({
            "prev_pid": self.prev_pid,
            "host_local": self.host_local,
            "termination_attempted": self.attempted,
            "terminated": self.terminated,
            "sigkill": self.sigkill,
        }) else {
            return Map::new();
        };
        map
    }
}
