//! Who works on what, and what becomes of that.

use std::process::{Command, Stdio};

use hermes_kanban::store::ClaimRequest;
use hermes_process::Identity;
use hermes_types::TaskId;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::dispatcher::{SLEEPER, dispatch, end, eventually, home_with, run_daemon, worker};
use super::support::TestHome;

#[test]
fn archive_block_and_reclaim_end_the_worker() {
    let home = home_with(SLEEPER);
    for verb in ["archive", "block", "reclaim", "schedule"] {
        let id = home.create("x --assignee alpha");
        home.json("dispatch --json");
        let process = worker(&home, &id);
        home.ok(&format!("{verb} {id}"));
        assert!(!process.is_alive(), "{verb}");
        home.kanban(&format!("archive {id}"));
    }
}

/// A process that is there as a worker would be, with or without the variables that
/// a dispatcher gives.
struct Standing(std::process::Child);

impl Standing {
    fn start(variables: &[(&str, &str)]) -> Self {
        let child = Command::new("sleep")
            .arg("300")
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        Self(child)
    }

    fn identity(&self) -> Identity {
        Identity::of(self.0.id().cast_signed()).unwrap()
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A claim as a dispatcher makes it, and its run.
fn claimed(home: &TestHome, host: Option<&str>) -> (TaskId, i64) {
    let id = TaskId::new(home.create("x --assignee alpha"));
    let request = ClaimRequest {
        lock: format!("testhost:{}", std::process::id()),
        ttl: 900,
        host: host.map(str::to_owned),
    };
    let run = home.board().claim(&id, &request).unwrap().current_run_id;
    (id, run.unwrap())
}

#[test]
fn a_dispatchers_claim_without_a_process_is_a_spawn_failure_after_ten_seconds() {
    let home = home_with("");
    let (id, _) = claimed(&home, Some("testhost"));
    home.advance(9);
    assert_eq!(home.json("dispatch --json --max 1")["promoted"], 0);
    assert_eq!(home.status(id.as_str()), "running");
    home.advance(1);
    home.json("dispatch --json --max 0");
    let task = home.board().task(&id).unwrap();
    assert_eq!(
        (task.status.as_str(), task.consecutive_failures),
        ("ready", 1)
    );
    let view = home.board().view(&id).unwrap();
    assert_eq!(view.events.last().unwrap().kind, "spawn_failed");
}

/// Its dispatcher died between the start and the record, and it cannot check in.
#[test]
fn a_worker_that_nobody_wrote_down_is_found_and_kept() {
    let home = home_with("");
    let (id, run) = claimed(&home, Some("testhost"));
    let variables = [
        ("HERMES_KANBAN_TASK", id.as_str()),
        ("HERMES_KANBAN_RUN_ID", &run.to_string()),
    ];
    let standing = Standing::start(&variables);
    home.advance(20);
    let result = home.json("dispatch --json --max 1");
    assert_eq!(result["spawned"], json!([]));
    let task = home.board().task(&id).unwrap();
    assert_eq!(
        (task.status.as_str(), task.worker_pid),
        ("running", Some(i64::from(standing.0.id())))
    );
    home.ok(&format!("reclaim {id}"));
    assert!(!standing.identity().is_alive());
}

/// What the reference writes: a pid and nothing else. The second attempt began long
/// after the task was first started.
#[test]
fn a_worker_of_the_reference_is_ended_in_its_second_attempt_too() {
    let home = TestHome::new();
    let (id, first) = claimed(&home, None);
    home.ok(&format!("reclaim {id}"));
    home.advance(100_000);
    let request = ClaimRequest {
        lock: "testhost:1".to_owned(),
        ttl: 900,
        host: None,
    };
    let board = home.board();
    let second = board.claim(&id, &request).unwrap().current_run_id.unwrap();
    assert_ne!(first, second);
    let standing = Standing::start(&[
        ("HERMES_KANBAN_TASK", id.as_str()),
        ("HERMES_KANBAN_RUN_ID", &second.to_string()),
    ]);
    let pid = standing.0.id();
    home.sql(&format!(
        "UPDATE tasks SET worker_pid = {pid} WHERE id = '{id}';
         UPDATE task_runs SET worker_pid = {pid} WHERE id = {second}"
    ));
    home.ok(&format!("block {id} enough"));
    assert!(!standing.identity().is_alive());
}

/// This test's clock is months behind the machine's, as if it had been set: the
/// process looks younger than its run.
#[test]
fn a_clock_that_was_set_does_not_hide_a_live_worker() {
    let home = TestHome::new();
    let (id, run) = claimed(&home, None);
    let standing = Standing::start(&[
        ("HERMES_KANBAN_TASK", id.as_str()),
        ("HERMES_KANBAN_RUN_ID", &run.to_string()),
    ]);
    let pid = standing.0.id();
    home.sql(&format!(
        "UPDATE tasks SET worker_pid = {pid} WHERE id = '{id}';
         UPDATE task_runs SET worker_pid = {pid} WHERE id = {run}"
    ));
    home.advance(60);
    let result = home.json("dispatch --json --dry-run");
    assert_eq!(result["crashed"], json!([]));
    assert!(standing.identity().is_alive());
}

/// The machine slept for a day: every heartbeat is old, every claim has run out, and
/// every worker lives.
#[test]
fn a_loop_that_wakes_from_sleep_ends_nobody() {
    let home = home_with(SLEEPER);
    let id = home.create("x --assignee alpha --max-runtime 60");
    let mut rounds = 0;
    let (_, _, remarks) = run_daemon(&home, || {
        rounds += 1;
        if rounds == 2 {
            worker(&home, &id);
            home.sql("UPDATE tasks SET last_heartbeat_at = created_at");
            home.advance(86_400);
        }
        rounds == 6
    });
    let process = worker(&home, &id);
    assert!(process.is_alive());
    assert_eq!(home.status(&id), "running");
    assert!(
        remarks
            .iter()
            .any(|text| text.contains("the clock moved by")),
        "{remarks:?}"
    );
    home.ok(&format!("archive {id}"));
}

/// A worker that is no Hermes of ours: nobody ends its children when it dies.
#[test]
fn children_of_a_dead_worker_end_before_the_next_attempt() {
    let home = home_with(
        "sleep 300 &\necho $! > \"$HERMES_KANBAN_WORKSPACE/child\"\n\
         echo $$ > \"$HERMES_KANBAN_WORKSPACE/pid\"\nwait",
    );
    let id = home.create("x --assignee alpha");
    dispatch(&home);
    let process = worker(&home, &id);
    let workspace = home.root().join("kanban/workspaces").join(&id);
    let child = std::fs::read_to_string(workspace.join("child")).unwrap();
    let child = Identity::of(child.trim().parse().unwrap()).unwrap();
    end(&process);
    assert!(child.is_alive());
    home.advance(31);
    let result = home.json("dispatch --json --max 0");
    assert_eq!(result["crashed"], json!([id]));
    assert!(!child.is_alive());

    // The same when a person takes the task away first.
    home.json("dispatch --json");
    let first = process;
    let process = eventually("another worker", || {
        let process = worker(&home, &id);
        (process != first).then_some(process)
    });
    let child = eventually("its child", || {
        let text = std::fs::read_to_string(workspace.join("child")).ok()?;
        let found = Identity::of(text.trim().parse().ok()?)?;
        (found != child).then_some(found)
    });
    end(&process);
    home.ok(&format!("block {id}"));
    assert!(!child.is_alive());
}

#[test]
fn a_board_with_busy_workers_is_not_removed() {
    let home = home_with(SLEEPER);
    home.ok("boards create side");
    let id = home.create_on("side", "x --assignee alpha");
    home.ok("--board side dispatch");
    let pid = home.sql_on(
        "side",
        &format!("SELECT worker_pid FROM tasks WHERE id = '{id}'"),
    );
    let process = Identity::of(pid.parse().unwrap()).unwrap();
    let refused = home.kanban("boards rm side");
    assert_eq!(refused.exit, 1);
    assert!(refused.err.contains(&id), "{}", refused.err);
    assert!(home.root().join("kanban/boards/side/kanban.db").exists());
    home.ok(&format!("--board side archive {id}"));
    assert!(!process.is_alive());
    home.ok("boards rm side");
}

#[test]
fn a_claim_of_another_host_is_never_touched_before_it_expires() {
    let home = home_with("");
    let board = home.board();
    let id = home.create("x --assignee alpha");
    let request = ClaimRequest {
        lock: format!("elsewhere:{}", std::process::id()),
        ttl: 900,
        host: Some("elsewhere".into()),
    };
    board.claim(&TaskId::new(id.as_str()), &request).unwrap();
    home.advance(899);
    assert_eq!(dispatch(&home)["crashed"], json!([]));
    assert_eq!(home.status(&id), "running");
    home.advance(2);
    assert_eq!(home.json("dispatch --json --max 0")["reclaimed"], 1);
}

#[test]
fn a_claim_by_hand_ends_by_its_ttl_alone() {
    let home = home_with("");
    let id = home.create("x --assignee alpha");
    home.ok(&format!("claim {id} --ttl 100000"));
    home.advance(50_000);
    let result = home.json("dispatch --json --max 1");
    assert_eq!(
        (&result["stale"], &result["reclaimed"]),
        (&json!([]), &json!(0))
    );
    home.advance(50_001);
    assert_eq!(home.json("dispatch --json --max 0")["reclaimed"], 1);
}
