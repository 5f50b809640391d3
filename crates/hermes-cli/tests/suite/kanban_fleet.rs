//! One board, two implementations. These run when `HERMES_TEST_REFERENCE` names the
//! `hermes` of Python Hermes 0.16.0; without it there is nothing to compare with.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hermes_testkit::model::{Recorded, Reply};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::kanban::{Daemon, Stage, complete};

struct Fleet {
    stage: Stage,
    reference: PathBuf,
}

impl Fleet {
    fn new() -> Option<Self> {
        let reference = std::env::var_os("HERMES_TEST_REFERENCE").map(PathBuf::from)?;
        let stage = Stage::with("kanban:\n  failure_limit: 4\n");
        stage.server.fallback(|request: &Recorded| {
            if request.tool_names().is_empty() {
                // A title or another side question.
                return Reply::text("A title");
            }
            if request.last_message()["role"] == "tool" {
                Reply::text("Done.")
            } else {
                complete("done")
            }
        });
        Some(Self { stage, reference })
    }

    /// `hermes kanban …` of the reference on the same home.
    fn theirs(&self, words: &str) -> Command {
        let ours = self.stage.command(words);
        let mut command = Command::new(&self.reference);
        command.args(ours.get_args()).stdin(Stdio::null());
        for (name, value) in ours.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
            .env("HERMES_HOME", self.stage.scratch.home())
            .current_dir(self.stage.scratch.user_home());
        command
    }

    fn their_output(&self, words: &str) -> String {
        let output = self.theirs(words).output().expect("the reference starts");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn their_json(&self, words: &str) -> Value {
        let printed = self.their_output(words);
        serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{words}: {error}: {printed}"))
    }

    /// Python workers take seconds to start.
    fn wait_until(&self, what: &str, mut condition: impl FnMut() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(240);
        while !condition() {
            assert!(
                Instant::now() < deadline,
                "{what}: did not happen: {}",
                self.stage.ok("list --json --archived")
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn completions(&self, id: &str) -> i64 {
        self.stage
            .database()
            .query_row(
                "SELECT COUNT(*) FROM task_events WHERE kind = 'completed' AND task_id = ?1",
                [id],
                |row| row.get(0),
            )
            .expect("events")
    }
}

#[test]
fn each_implementation_reads_and_changes_what_the_other_made() {
    let Some(fleet) = Fleet::new() else { return };
    let stage = &fleet.stage;
    let mine = stage.create("mine --assignee alpha --body text --priority 3");
    let theirs = fleet.their_json("create theirs --assignee alpha --json");
    let theirs = theirs["id"].as_str().expect("an id");
    for id in [mine.as_str(), theirs] {
        let (ours, other) = (
            stage.json(&format!("show {id} --json")),
            fleet.their_json(&format!("show {id} --json")),
        );
        assert_eq!(ours["task"], other["task"]);
        assert_eq!(ours["events"], other["events"]);
    }
    assert_eq!(stage.json("list --json"), fleet.their_json("list --json"));
    assert!(
        fleet
            .their_output(&format!("claim {mine}"))
            .contains("Claimed")
    );
    assert_eq!(stage.run(&format!("claim {mine}")).code, 1);
    stage.ok(&format!("heartbeat {mine}"));
    assert!(
        fleet
            .their_output(&format!("complete {mine} --summary ok"))
            .contains("Completed")
    );
    stage.ok(&format!("claim {theirs}"));
    assert!(
        !fleet
            .their_output(&format!("claim {theirs}"))
            .contains("Claimed")
    );
    fleet.their_output(&format!("comment {theirs} looks good"));
    stage.ok(&format!("complete {theirs} --summary ok"));
    for id in [mine.as_str(), theirs] {
        let (ours, other) = (
            stage.json(&format!("show {id} --json")),
            fleet.their_json(&format!("show {id} --json")),
        );
        assert_eq!(ours["task"]["status"], "done");
        assert_eq!(ours["runs"], other["runs"]);
        assert_eq!(ours["comments"], other["comments"]);
        assert_eq!(fleet.completions(id), 1);
    }
    assert_eq!(
        stage.json("stats --json")["by_status"],
        fleet.their_json("stats --json")["by_status"]
    );
}

#[test]
fn our_dispatcher_runs_workers_of_the_reference() {
    let Some(fleet) = Fleet::new() else { return };
    let id = fleet.stage.create("theirs --assignee alpha");
    let mut daemon = fleet.stage.command("daemon --interval 0.5 --max 2");
    daemon.env("HERMES_BIN", &fleet.reference);
    let daemon = daemon.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let daemon = Daemon(daemon.expect("the binary starts"));
    fleet.wait_until("a worker of the reference is done", || {
        fleet.stage.status(&id) == "done"
    });
    assert_eq!(fleet.completions(&id), 1);
    daemon.kill();
}

#[test]
fn the_reference_dispatches_our_workers() {
    let Some(fleet) = Fleet::new() else { return };
    let id = fleet.stage.create("ours --assignee alpha");
    let mut dispatch = fleet.theirs("dispatch --json");
    let output = dispatch
        .env("HERMES_BIN", env!("CARGO_BIN_EXE_hermes"))
        .output()
        .expect("the reference starts");
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(result["spawned"][0]["task_id"], json!(id), "{result}");
    fleet.wait_until("our worker is done", || fleet.stage.status(&id) == "done");
    assert_eq!(fleet.completions(&id), 1);
    assert_eq!(
        fleet.their_json(&format!("show {id} --json"))["task"]["status"],
        "done"
    );
}

struct TheirDaemon(Child);

impl Drop for TheirDaemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Both dispatchers at once; each starts workers of the other kind.
#[test]
fn a_mixed_fleet_does_every_task_once() {
    let Some(fleet) = Fleet::new() else { return };
    let stage = &fleet.stage;
    let ids: Vec<String> = (0..8)
        .map(|number| match number % 2 {
            0 => stage.create(&format!("task{number} --assignee alpha")),
            _ => {
                let made =
                    fleet.their_json(&format!("create task{number} --assignee alpha --json"));
                made["id"].as_str().expect("an id").to_owned()
            }
        })
        .collect();
    let mut ours = stage.command("daemon --interval 0.5 --max 4");
    ours.env("HERMES_BIN", &fleet.reference);
    let ours = ours.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let ours = Daemon(ours.expect("the binary starts"));
    let mut theirs = fleet.theirs("daemon --force --interval 1 --max 4");
    theirs.env("HERMES_BIN", env!("CARGO_BIN_EXE_hermes"));
    let theirs = theirs.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let theirs = TheirDaemon(theirs.expect("the reference starts"));
    fleet.wait_until("all are done", || {
        ids.iter().all(|id| stage.status(id) == "done")
    });
    drop(theirs);
    ours.kill();
    for id in &ids {
        assert_eq!(
            fleet.completions(id),
            1,
            "{}",
            stage.ok(&format!("show {id}"))
        );
        let shown = fleet.their_json(&format!("show {id} --json"));
        assert_eq!(
            shown["runs"],
            stage.json(&format!("show {id} --json"))["runs"]
        );
    }
    let sound: String = stage
        .database()
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .expect("the board");
    assert_eq!(sound, "ok");
}
