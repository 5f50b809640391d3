//! The vocabulary of the state machine: what can be asked, and what comes out.

use hermes_types::TaskId;
use serde_json::{Map, Value};

use crate::model::{EventKind, Outcome, Status, Task, Termination};

/// Something that somebody wants to do with a task.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// The board itself: nothing holds the task any more.
    Promote {
        parents_open: bool,
        sticky_block: bool,
        limit: i64,
    },
    /// A person: go, even over open parents when forced.
    PromoteManually {
        actor: String,
        reason: Option<String>,
        forced: bool,
        open_parents: Vec<TaskId>,
    },
    /// A new dependency of this task.
    Link {
        parent: TaskId,
        parent_open: bool,
    },
    Unlink {
        parent: TaskId,
    },
    /// A parent went back to work: its waiting child waits again.
    ParentReopened {
        parent: TaskId,
    },
    Claim(Claim),
    /// What a claim does to a task whose parents are not finished.
    RejectClaim,
    /// The worker's process exists.
    Spawned {
        pid: i64,
    },
    /// The worker reports by itself that it is at work (no event).
    CheckIn {
        pid: i64,
        fence: Fence,
    },
    Heartbeat {
        note: Option<String>,
        extend_to: Option<i64>,
        fence: Fence,
    },
    /// A dispatcher sees a live worker behind an expired claim.
    ExtendClaim {
        expires: i64,
    },
    Complete(Completion),
    Block {
        reason: Option<String>,
        fence: Fence,
    },
    Schedule {
        reason: Option<String>,
        fence: Fence,
    },
    Unblock {
        parents_open: bool,
    },
    /// The claim is taken back without counting a failure.
    Release(Release),
    Fail(Failure),
    /// Deferred for so long that a person should look.
    GiveUp {
        error: String,
        trigger: String,
        limit: Limit,
    },
    Assign {
        assignee: Option<String>,
        source: Option<String>,
    },
    Archive {
        fence: Fence,
    },
    Specify {
        title: Option<String>,
        body: Option<String>,
        assignee: Option<String>,
    },
    Decompose {
        children: Vec<TaskId>,
        assignee: Option<String>,
    },
    /// Dragged to another column.
    MoveTo {
        status: Status,
        parents_open: bool,
    },
    EditResult {
        result: String,
        summary: Option<String>,
        metadata: Option<Value>,
    },
    EditText {
        title: Option<String>,
        body: Option<String>,
    },
    Reprioritize {
        priority: i64,
    },
}

/// Under which run an action holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fence {
    #[default]
    Open,
    /// Only while this run is the open one.
    Run(i64),
    /// Only while no run is open.
    Idle,
}

impl Fence {
    /// For whoever has looked at the task and ended its worker.
    pub fn as_seen(current_run: Option<i64>) -> Self {
        current_run.map_or(Fence::Idle, Fence::Run)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub lock: String,
    pub expires: i64,
    pub parents_open: bool,
    /// A person forced the task over its open parents and nothing has happened since.
    pub waived: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Completion {
    pub result: Option<String>,
    pub summary: Option<String>,
    pub metadata: Option<Value>,
    pub artifacts: Vec<String>,
    pub verified_cards: Vec<TaskId>,
    pub fence: Fence,
}

/// Why a claim is taken back.
#[derive(Clone, Debug, PartialEq)]
pub enum Release {
    /// A person asked; also forgives earlier failures.
    Manual {
        reason: Option<String>,
        termination: Termination,
    },
    /// The claim ran out.
    Expired {
        host_local: bool,
        heartbeat_stale: bool,
        termination: Termination,
    },
    /// The worker lives but has said nothing for too long.
    Stale {
        elapsed: i64,
        heartbeat_age: Option<i64>,
        timeout: i64,
        termination: Termination,
    },
    /// The provider asked us to come back later.
    RateLimited { exit_code: i64, error: String },
    /// Nobody's fault: the worker was ended from outside and said so, or somebody who
    /// took the task by hand found no place to work in.
    Abandoned { reason: &'static str, error: String },
}

/// How many failures a task may have, and who says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    pub value: i64,
    pub from_task: bool,
}

impl Limit {
    pub fn of(task: &Task, configured: i64) -> Self {
        Self::resolve(task.max_retries, configured)
    }

    pub fn resolve(own: Option<i64>, configured: i64) -> Self {
        match own.filter(|n| *n >= 1) {
            Some(value) => Self {
                value,
                from_task: true,
            },
            None => Self {
                value: configured.max(1),
                from_task: false,
            },
        }
    }

    pub fn source(self) -> &'static str {
        if self.from_task { "task" } else { "dispatcher" }
    }
}

/// A failure as it is reported; how many a task may have is the board's to know.
#[derive(Clone, Debug, PartialEq)]
pub struct Failed {
    pub kind: FailureKind,
    pub error: String,
    /// Another attempt would end the same way: block now.
    pub at_once: bool,
    pub fence: Fence,
}

impl Failed {
    pub fn within(self, limit: Limit) -> Failure {
        Failure {
            kind: self.kind,
            error: self.error,
            limit,
            at_once: self.at_once,
            fence: self.fence,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    pub kind: FailureKind,
    pub error: String,
    pub limit: Limit,
    /// Another attempt would end the same way: block now.
    pub at_once: bool,
    pub fence: Fence,
}

#[derive(Clone, Debug, PartialEq)]
pub enum FailureKind {
    /// `exit`: what is known about the end, e.g. `("code", 1)` or `("signal", 9)`.
    Crashed {
        pid: i64,
        exit: Option<(&'static str, i64)>,
    },
    /// Exit code 0 without a word on the board.
    ProtocolViolation {
        pid: i64,
    },
    TimedOut {
        pid: i64,
        elapsed: i64,
        limit: i64,
        sigkill: bool,
    },
    SpawnFailed,
    /// The worker used up its turns; written by the worker itself.
    BudgetExhausted {
        used: i64,
        max: i64,
    },
}

/// The task afterwards, and what goes with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Transition {
    pub task: Task,
    /// Ends the run that was open before.
    pub close: Option<RunClose>,
    /// Starts a run, which becomes the task's current one.
    pub open: Option<RunOpen>,
    /// A run that starts and ends now: something happened without a claim.
    pub instant: Option<RunClose>,
    pub events: Vec<NewEvent>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RunClose {
    pub outcome: Outcome,
    /// Differs from the outcome only for completed runs.
    pub status: &'static str,
    pub summary: Option<String>,
    pub metadata: Option<Map<String, Value>>,
    pub error: Option<String>,
}

impl RunClose {
    pub(super) fn of(outcome: Outcome) -> Self {
        Self {
            outcome,
            status: outcome.as_str(),
            summary: None,
            metadata: None,
            error: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOpen {
    pub profile: Option<String>,
    pub step_key: Option<String>,
    pub lock: String,
    pub expires: i64,
    pub max_runtime_seconds: Option<i64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct NewEvent {
    pub kind: EventKind,
    pub payload: Option<Value>,
    pub run: EventRun,
}

/// Which run an event belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventRun {
    None,
    /// The one that was open before, if any.
    Previous,
    /// The one this transition opens or writes as an instant; its id also
    /// replaces a null `run_id` in the payload.
    New,
}

impl NewEvent {
    pub(super) fn plain(kind: EventKind) -> Self {
        Self {
            kind,
            payload: None,
            run: EventRun::None,
        }
    }

    pub(super) fn with(kind: EventKind, payload: Value) -> Self {
        Self {
            kind,
            payload: Some(payload),
            run: EventRun::None,
        }
    }

    pub(super) fn on(mut self, run: EventRun) -> Self {
        self.run = run;
        self
    }
}
