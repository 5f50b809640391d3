//! The state machine walked at random, beside the database: after every step the
//! stored task is what the pure rules say, runs are closed exactly once, and the
//! open run is the current one.

use hermes_kanban::machine::{
    Action, Claim, Completion, Failed, Failure, FailureKind, Fence, Limit, NewTask, Release,
    transition,
};
use hermes_kanban::model::{Status, Task, Termination};
use hermes_kanban::store::{Board, ClaimRequest, CompletionRequest};
use hermes_types::TaskId;
use proptest::prelude::*;

use super::support::TestHome;

#[derive(Clone, Debug)]
enum Step {
    Claim,
    Heartbeat,
    Complete,
    Block(bool),
    Schedule,
    Unblock,
    Reclaim,
    Expire,
    Crash,
    SpawnFailed,
    TimedOut,
    RateLimited,
    Archive,
    Assign(bool),
    Promote,
    Recompute,
    MoveTodo,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Claim),
        1 => Just(Step::Heartbeat),
        1 => Just(Step::Complete),
        2 => any::<bool>().prop_map(Step::Block),
        1 => Just(Step::Schedule),
        2 => Just(Step::Unblock),
        1 => Just(Step::Reclaim),
        1 => Just(Step::Expire),
        2 => Just(Step::Crash),
        1 => Just(Step::SpawnFailed),
        1 => Just(Step::TimedOut),
        1 => Just(Step::RateLimited),
        1 => Just(Step::Archive),
        1 => any::<bool>().prop_map(Step::Assign),
        1 => Just(Step::Promote),
        2 => Just(Step::Recompute),
        1 => Just(Step::MoveTodo),
    ]
}

const TTL: i64 = 900;
const LIMIT: i64 = 2;

fn failed(kind: FailureKind) -> Failed {
    Failed {
        kind,
        error: "it broke".into(),
        at_once: false,
        fence: Fence::Open,
    }
}

fn failure(kind: FailureKind, limit: Limit) -> Failure {
    failed(kind).within(limit)
}

/// What the pure rules make of the step; `None` when they refuse.
fn expected(task: &Task, step: &Step, sticky: bool, now: i64) -> Option<Task> {
    let limit = Limit::of(task, LIMIT);
    let pid = task.worker_pid.unwrap_or(1);
    let action = match step {
        Step::Claim => Action::Claim(Claim {
            lock: "testhost:1".into(),
            expires: now + TTL,
            parents_open: false,
            waived: false,
        }),
        Step::Heartbeat => Action::Heartbeat {
            note: None,
            extend_to: None,
            fence: Fence::Open,
        },
        Step::Complete => Action::Complete(Completion {
            result: Some("r".into()),
            ..Completion::default()
        }),
        Step::Block(reason) => Action::Block {
            reason: reason.then(|| "why".into()),
            fence: Fence::Open,
        },
        Step::Schedule => Action::Schedule {
            reason: None,
            fence: Fence::Open,
        },
        Step::Unblock => Action::Unblock {
            parents_open: false,
        },
        Step::Reclaim => Action::Release(Release::Manual {
            reason: None,
            termination: Termination::default(),
        }),
        Step::Expire => Action::Release(Release::Expired {
            host_local: true,
            heartbeat_stale: false,
            termination: Termination::default(),
        }),
        Step::Crash => Action::Fail(failure(FailureKind::Crashed { pid, exit: None }, limit)),
        Step::SpawnFailed => Action::Fail(failure(FailureKind::SpawnFailed, limit)),
        Step::TimedOut => Action::Fail(failure(
            FailureKind::TimedOut {
                pid,
                elapsed: 5,
                limit: 3,
                sigkill: false,
            },
            limit,
        )),
        Step::RateLimited => Action::Release(Release::RateLimited {
            exit_code: 75,
            error: "429".into(),
        }),
        Step::Archive => Action::Archive { fence: Fence::Open },
        Step::Assign(someone) => Action::Assign {
            assignee: someone.then(|| "other".into()),
            source: None,
        },
        Step::Promote => Action::PromoteManually {
            actor: "me".into(),
            reason: None,
            forced: false,
            open_parents: vec![],
        },
        Step::Recompute => Action::Promote {
            parents_open: false,
            sticky_block: sticky,
            limit: limit.value,
        },
        Step::MoveTodo => Action::MoveTo {
            status: Status::Todo,
            parents_open: false,
        },
    };
    transition(task, &action, now)
        .ok()
        .map(|change| change.task)
}

fn perform(board: &Board, id: &TaskId, task: &Task, step: &Step) -> bool {
    let pid = task.worker_pid.unwrap_or(1);
    let run = task.current_run_id;
    let fail = |kind: FailureKind| board.fail(id, run, failed(kind)).is_ok();
    match step {
        Step::Claim => {
            let request = ClaimRequest {
                lock: "testhost:1".into(),
                ttl: TTL,
                host: None,
            };
            board.claim(id, &request).is_ok()
        }
        Step::Heartbeat => board.heartbeat(id, None, Fence::Open, None).is_ok(),
        Step::Complete => board
            .complete(
                id,
                &CompletionRequest {
                    result: Some("r".into()),
                    ..Default::default()
                },
            )
            .is_ok(),
        Step::Block(reason) => board
            .block(id, reason.then_some("why"), Fence::Open, None)
            .is_ok(),
        Step::Schedule => board.schedule(id, None, Fence::Open, None).is_ok(),
        Step::Unblock => board.unblock(id, None).is_ok(),
        Step::Reclaim => board
            .release(
                id,
                run,
                Release::Manual {
                    reason: None,
                    termination: Termination::default(),
                },
            )
            .is_ok(),
        Step::Expire => board
            .release(
                id,
                run,
                Release::Expired {
                    host_local: true,
                    heartbeat_stale: false,
                    termination: Termination::default(),
                },
            )
            .is_ok(),
        Step::Crash => fail(FailureKind::Crashed { pid, exit: None }),
        Step::SpawnFailed => fail(FailureKind::SpawnFailed),
        Step::TimedOut => fail(FailureKind::TimedOut {
            pid,
            elapsed: 5,
            limit: 3,
            sigkill: false,
        }),
        Step::RateLimited => board
            .release(
                id,
                run,
                Release::RateLimited {
                    exit_code: 75,
                    error: "429".into(),
                },
            )
            .is_ok(),
        Step::Archive => board.archive(id, Fence::Open).is_ok(),
        Step::Assign(someone) => board.assign(id, someone.then_some("other")).is_ok(),
        Step::Promote => board.promote(id, "me", None, false, false).is_ok(),
        Step::Recompute => board.recompute_ready().unwrap() > 0,
        // The board lets go of a task without parents at once.
        Step::MoveTodo => board.move_to(id, Status::Todo).is_ok(),
    }
}

/// The latest of the two events that decide whether a block lasts.
fn is_sticky(board: &Board, id: &TaskId) -> bool {
    let view = board.view(id).unwrap();
    view.events
        .iter()
        .rev()
        .find(|event| event.kind == "blocked" || event.kind == "unblocked")
        .is_some_and(|event| event.kind == "blocked")
}

fn check_invariants(board: &Board, id: &TaskId) {
    let view = board.view(id).unwrap();
    let open: Vec<i64> = view
        .runs
        .iter()
        .filter(|run| run.ended_at.is_none())
        .map(|run| run.id)
        .collect();
    let current: Vec<i64> = view.task.current_run_id.into_iter().collect();
    assert_eq!(open, current, "the open run is the current one");
    assert_eq!(view.task.status == Status::Running, !open.is_empty());
    if view.task.status != Status::Running {
        assert_eq!(view.task.claim_lock, None);
        assert_eq!(view.task.worker_pid, None);
    }
    for run in &view.runs {
        assert_eq!(run.ended_at.is_some(), run.outcome.is_some());
        if run.ended_at.is_some() {
            assert_eq!((&run.claim_lock, run.worker_pid), (&None, None));
        }
    }
    let claims = view
        .events
        .iter()
        .filter(|event| event.kind == "claimed")
        .count();
    let claimed_runs = view.runs.iter().filter(|run| {
        view.events
            .iter()
            .any(|event| event.kind == "claimed" && event.run_id == Some(run.id))
    });
    assert_eq!(claims, claimed_runs.count(), "one run per claim");
    assert!(view.events.windows(2).all(|pair| pair[0].id < pair[1].id));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_database_does_what_the_rules_say(steps in prop::collection::vec(step(), 1..40)) {
        let home = TestHome::new();
        let board = home.board();
        let new = NewTask { title: "x".into(), assignee: Some("w".into()), ..NewTask::default() };
        let id = board.create(&new).unwrap().id;
        for step in steps {
            home.advance(7);
            let before = board.task(&id).unwrap();
            let expected = expected(&before, &step, is_sticky(&board, &id), board.now());
            let performed = perform(&board, &id, &before, &step);
            prop_assert_eq!(performed, expected.is_some(), "{:?} on {:?}", step, before);
            let after = board.task(&id).unwrap();
            match expected {
                None => prop_assert_eq!(&after, &before, "{:?} was refused", step),
                Some(mut expected) => {
                    // Storage numbers the runs.
                    if before.current_run_id.is_none() && expected.status == Status::Running {
                        expected.current_run_id = after.current_run_id;
                    }
                    if matches!(step, Step::MoveTodo) {
                        expected.status = Status::Ready;
                    }
                    prop_assert_eq!(&after, &expected, "{:?}", step);
                }
            }
            check_invariants(&board, &id);
        }
    }
}
