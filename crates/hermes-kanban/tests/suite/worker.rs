//! The worker's side of the bargain, without a model: turns are reported as a
//! front end would.

use std::sync::{Arc, Mutex};

use hermes_kanban::Host;
use hermes_kanban::dispatch::{Caps, Launcher, Round, Surroundings};
use hermes_kanban::store::{Board, ClaimRequest};
use hermes_kanban::worker::{Assignment, Next, NotMine, TurnEnd, WorkerSession};
use hermes_types::TaskId;
use pretty_assertions::assert_eq;

use super::support::TestHome;

struct Desk {
    home: TestHome,
    id: TaskId,
    run: i64,
}

impl Desk {
    /// A task claimed by a dispatcher for a worker that is this process.
    fn new(words: &str) -> Self {
        let home = TestHome::new();
        let id = TaskId::new(home.create(&format!("{words} --assignee w")));
        let run = claim(&home, &id);
        Self { home, id, run }
    }

    fn assignment(&self) -> Assignment {
        Assignment {
            task: self.id.clone(),
            run: Some(self.run),
            lock: Some("testhost:1".into()),
            workspace: None,
            tenant: None,
            goal: None,
        }
    }

    fn begin_with(&self, assignment: Assignment) -> Result<WorkerSession, NotMine> {
        let board = Arc::new(Mutex::new(self.home.board()));
        WorkerSession::check_in(board, assignment, &Host::named("testhost"), 900)
    }

    fn begin(&self) -> WorkerSession {
        self.begin_with(self.assignment())
            .unwrap_or_else(|error| panic!("{error:?}"))
    }

    fn board(&self) -> Board {
        self.home.board()
    }

    fn status(&self) -> String {
        self.board().task(&self.id).unwrap().status.to_string()
    }

    fn kinds(&self) -> Vec<String> {
        self.home.event_kinds(self.id.as_str())
    }
}

fn claim(home: &TestHome, id: &TaskId) -> i64 {
    let request = ClaimRequest {
        lock: "testhost:1".into(),
        ttl: 900,
        host: Some("testhost".into()),
    };
    home.board()
        .claim(id, &request)
        .unwrap()
        .current_run_id
        .unwrap()
}

fn answered(text: &str) -> TurnEnd {
    TurnEnd::Answered { text: text.into() }
}

#[test]
fn a_worker_whose_dispatcher_died_registers_itself() {
    let desk = Desk::new("x");
    drop(desk.begin());
    let pid = i64::from(std::process::id());
    assert_eq!(desk.board().task(&desk.id).unwrap().worker_pid, Some(pid));
    let identity = desk.board().identity(desk.run).unwrap().unwrap();
    assert_eq!(
        (identity.pid, identity.host.as_str()),
        (Some(pid), "testhost")
    );
    assert!(identity.start_time.is_some() && identity.boot_id.is_some());
    assert_eq!(desk.kinds(), ["created", "claimed", "spawned"]);
    drop(desk.begin());
    assert_eq!(desk.kinds().len(), 3, "checking in again says nothing new");
}

#[test]
fn a_worker_that_comes_too_late_does_nothing() {
    let desk = Desk::new("x");
    desk.home.ok(&format!("reclaim {}", desk.id));
    assert!(matches!(
        desk.begin_with(desk.assignment()),
        Err(NotMine::RunIsOver(_))
    ));
    claim(&desk.home, &desk.id);
    assert!(matches!(
        desk.begin_with(desk.assignment()),
        Err(NotMine::RunIsOver(_))
    ));
}

#[test]
fn a_reported_task_ends_the_worker_with_0() {
    let desk = Desk::new("x");
    let mut session = desk.begin();
    desk.board()
        .complete(&desk.id, &Default::default())
        .unwrap();
    assert_eq!(session.after_turn(answered("done")).unwrap(), Next::Exit(0));
}

#[test]
fn a_silent_worker_is_reminded_once_and_then_blocked_with_its_last_words() {
    let desk = Desk::new("x");
    let mut session = desk.begin();
    let Next::Say(reminder) = session.after_turn(answered("I think I am done")).unwrap() else {
        panic!("no reminder");
    };
    assert!(reminder.contains("kanban_complete") && reminder.contains(desk.id.as_str()));
    assert_eq!(
        session.after_turn(answered("As I said, done.")).unwrap(),
        Next::Exit(0)
    );
    assert_eq!(desk.status(), "blocked");
    let view = desk.board().view(&desk.id).unwrap();
    let reason = view
        .events
        .last()
        .unwrap()
        .payload_str("reason")
        .unwrap()
        .to_owned();
    assert!(
        reason.ends_with("it last said: As I said, done."),
        "{reason}"
    );
}

#[test]
fn a_rate_limit_costs_nothing_and_exits_with_75() {
    let desk = Desk::new("x");
    let mut session = desk.begin();
    let end = TurnEnd::RateLimited {
        message: "429 too many requests".into(),
    };
    assert_eq!(session.after_turn(end).unwrap(), Next::Exit(75));
    let task = desk.board().task(&desk.id).unwrap();
    assert_eq!(
        (task.status.as_str(), task.consecutive_failures),
        ("ready", 0)
    );
    assert_eq!(desk.kinds().last().unwrap(), "rate_limited");
}

#[test]
fn failures_budgets_and_iterations_are_written_down_by_the_worker() {
    let failed = Desk::new("x --max-retries 2");
    let end = TurnEnd::Failed {
        message: "the provider answered 500".into(),
    };
    assert_eq!(failed.begin().after_turn(end).unwrap(), Next::Exit(1));
    let task = failed.board().task(&failed.id).unwrap();
    assert_eq!(
        task.last_failure_error.as_deref(),
        Some("the provider answered 500")
    );
    assert_eq!(
        (task.status.as_str(), task.consecutive_failures),
        ("ready", 1)
    );

    let spent = Desk::new("x");
    let end = TurnEnd::BudgetReached {
        message: "2 USD a day".into(),
    };
    assert_eq!(spent.begin().after_turn(end).unwrap(), Next::Exit(1));
    assert_eq!(spent.status(), "blocked");

    let tired = Desk::new("x --max-retries 1");
    let end = TurnEnd::OutOfIterations { used: 90, max: 90 };
    assert_eq!(tired.begin().after_turn(end).unwrap(), Next::Exit(1));
    let view = tired.board().view(&tired.id).unwrap();
    let payload = view.events.last().unwrap().payload.clone().unwrap();
    assert_eq!(payload["trigger_outcome"], "timed_out");
    assert_eq!(
        (
            payload["budget_used"].as_i64(),
            payload["budget_max"].as_i64()
        ),
        (Some(90), Some(90))
    );
}

struct Nobody;

impl Launcher for Nobody {
    fn launch(
        &mut self,
        _: &hermes_kanban::boards::Slug,
        _: &TaskId,
        _: i64,
        _: hermes_process::Command,
    ) -> Result<hermes_process::Identity, String> {
        Err("nobody is started here".into())
    }
}

#[test]
fn an_interrupted_worker_leaves_a_note_and_the_next_round_takes_the_task_back() {
    let desk = Desk::new("x");
    // A worker that is gone by the time somebody looks.
    let identity = hermes_kanban::model::WorkerIdentity {
        run_id: desk.run,
        pid: Some(4_194_999),
        start_time: Some(1),
        boot_id: Some("boot".into()),
        host: "testhost".into(),
        ..Default::default()
    };
    desk.board()
        .launched(&[(desk.id.clone(), identity)])
        .unwrap();
    desk.board().record_exit(desk.run, Some(143), None).unwrap();
    let home = &desk.home;
    let boards =
        hermes_kanban::boards::Boards::locate(&home.context.home, &home.context.environment);
    let paths = boards.paths(&hermes_kanban::boards::Slug::default_board());
    let settings = hermes_kanban::Settings::read(&home.context.config, &home.context.environment);
    let board = desk.board();
    let none = std::collections::HashSet::new();
    let round = Round {
        board: &board,
        boards: &boards,
        paths: &paths,
        around: Surroundings {
            home: &home.context.home,
            environment: &home.context.environment,
            program: &home.context.program,
            paths: &paths,
            settings: &settings,
        },
        host: &home.context.host,
        caps: Caps {
            max_spawn: Some(0),
            ..Caps::default()
        },
        start: home.root(),
        clock_was_set: false,
        own_runs: &none,
    };
    let result = round.run(&mut Nobody).unwrap();
    assert_eq!(result.reclaimed, 1);
    let task = board.task(&desk.id).unwrap();
    assert_eq!(
        (task.status.as_str(), task.consecutive_failures),
        ("ready", 0)
    );
}

#[test]
fn an_interruption_exits_with_143_and_keeps_the_claim() {
    let desk = Desk::new("x");
    let mut session = desk.begin();
    assert_eq!(
        session.after_turn(TurnEnd::Interrupted).unwrap(),
        Next::Exit(143)
    );
    assert_eq!(desk.status(), "running");
    let identity = desk.board().identity(desk.run).unwrap().unwrap();
    assert_eq!(identity.exit_code, Some(143));
}

#[test]
fn activity_is_a_heartbeat_that_keeps_the_claim_at_most_once_a_minute() {
    let desk = Desk::new("x");
    let session = desk.begin();
    desk.home.advance(100);
    session.pulse();
    session.pulse();
    let task = desk.board().task(&desk.id).unwrap();
    let now = desk.board().now();
    assert_eq!(
        (task.last_heartbeat_at, task.claim_expires),
        (Some(now), Some(now + 900))
    );
    assert_eq!(
        desk.kinds()
            .iter()
            .filter(|kind| *kind == "heartbeat")
            .count(),
        1
    );
}

#[test]
fn goal_mode_goes_on_until_the_judge_is_satisfied_or_the_turns_are_used_up() {
    let desk = Desk::new("'reach the goal' --body 'all of it'");
    let goal = |max_turns| Assignment {
        goal: Some(hermes_kanban::worker::Goal { max_turns }),
        ..desk.assignment()
    };
    let mut session = desk.begin_with(goal(3)).unwrap();
    let Next::Judge { user, .. } = session.after_turn(answered("half of it")).unwrap() else {
        panic!("nobody judged");
    };
    assert!(
        user.contains("reach the goal")
            && user.contains("all of it")
            && user.contains("half of it")
    );
    let not_yet =
        Ok("```json\n{\"done\": false, \"reason\": \"the rest is missing\"}\n```".to_owned());
    let Next::Say(more) = session.judged(not_yet).unwrap() else {
        panic!("it stopped")
    };
    assert!(more.contains("the rest is missing"));
    session.after_turn(answered("more")).unwrap();
    assert!(
        matches!(session.judged(Err("timeout".into())).unwrap(), Next::Say(_)),
        "errors mean go on"
    );
    session.after_turn(answered("still more")).unwrap();
    assert_eq!(
        session
            .judged(Ok("{\"done\": false, \"reason\": \"no\"}".into()))
            .unwrap(),
        Next::Exit(0)
    );
    assert_eq!(desk.status(), "blocked");

    let done = Desk::new("x");
    let mut session = done
        .begin_with(Assignment {
            goal: Some(hermes_kanban::worker::Goal { max_turns: 9 }),
            ..done.assignment()
        })
        .unwrap();
    session.after_turn(answered("finished")).unwrap();
    let verdict = Ok("{\"done\": true, \"reason\": \"yes\"}".to_owned());
    assert!(
        matches!(session.judged(verdict).unwrap(), Next::Say(_)),
        "asked to report"
    );
}
