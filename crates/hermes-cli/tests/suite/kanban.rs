//! Boards, dispatcher and real workers through the binary, with a scripted model.

use std::collections::HashSet;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hermes_process::Identity;
use hermes_testkit::model::{Gate, ModelServer, Reply};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pretty_assertions::assert_eq;
use rusqlite::Connection;
use serde_json::{Value, json};

use super::support::{Ran, Scratch};

pub(super) struct Stage {
    pub(super) scratch: Scratch,
    pub(super) server: ModelServer,
}

impl Stage {
    pub(super) fn new() -> Self {
        Self::with("")
    }

    pub(super) fn with(more: &str) -> Self {
        let (scratch, server) = (Scratch::new(), ModelServer::start());
        let config = format!(
            "model:\n  default: {}\n  provider: custom\n  base_url: {}\n  api_key: test-key\n  context_length: 200000\n{more}",
            ModelServer::DEFAULT_MODEL,
            server.url(),
        );
        scratch.write("config.yaml", &config);
        scratch.write("profiles/alpha/config.yaml", &config);
        Self { scratch, server }
    }

    pub(super) fn command(&self, words: &str) -> Command {
        let mut command = self
            .scratch
            .command(std::iter::once("kanban").chain(words.split_whitespace()));
        command
            .stdin(Stdio::null())
            .env("HERMES_KANBAN_CRASH_GRACE_SECONDS", "0");
        command
    }

    pub(super) fn run(&self, words: &str) -> Ran {
        let output = self.command(words).output().expect("the binary starts");
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    pub(super) fn ok(&self, words: &str) -> String {
        let ran = self.run(words);
        assert_eq!(ran.code, 0, "`kanban {words}`: {ran:#?}");
        ran.stdout
    }

    pub(super) fn json(&self, words: &str) -> Value {
        serde_json::from_str(&self.ok(words)).expect("JSON")
    }

    pub(super) fn create(&self, words: &str) -> String {
        let made = self.json(&format!("create {words} --json"));
        made["id"].as_str().expect("an id").to_owned()
    }

    pub(super) fn status(&self, id: &str) -> String {
        let shown = self.json(&format!("show {id} --json"));
        shown["task"]["status"]
            .as_str()
            .expect("a status")
            .to_owned()
    }

    /// Another program's look at the board.
    pub(super) fn database(&self) -> Connection {
        Connection::open(self.scratch.home().join("kanban.db")).expect("the board")
    }

    pub(super) fn wait_for_status(&self, id: &str, wanted: &str) {
        wait_until(&format!("{id} is {wanted}"), || self.status(id) == wanted);
    }

    pub(super) fn worker_pid(&self, id: &str) -> i32 {
        self.database()
            .query_row("SELECT worker_pid FROM tasks WHERE id = ?1", [id], |row| {
                row.get(0)
            })
            .expect("a worker")
    }
}

pub(super) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "{what}: did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(super) fn wait_for_end(pid: i32) {
    wait_until("the worker's end", || {
        Identity::of(pid).is_none_or(|process| !process.is_alive())
    });
}

pub(super) fn complete(summary: &str) -> Reply {
    Reply::tool_call("kanban_complete", json!({ "summary": summary }))
}

#[test]
fn the_verbs_are_mounted_with_their_exit_codes() {
    let stage = Stage::new();
    let id = stage.create("first --assignee alpha");
    assert!(stage.ok("list").contains(&id));
    assert_eq!(stage.run("show t_00000000").code, 1);
    assert_eq!(stage.run("list --status bogus").code, 2);
    assert_eq!(stage.run("--board nope list").code, 1);
    assert_eq!(stage.run("dispatch --bogus").code, 2);
    let refused = stage.run("complete t_00000000");
    assert_eq!(
        (refused.code, refused.stderr.as_str()),
        (
            1,
            "cannot complete t_00000000 (unknown id or terminal state)\n"
        )
    );
    // A profile's home leads to the same board.
    let output = stage
        .command("list --json")
        .env("HERMES_HOME", stage.scratch.home().join("profiles/alpha"))
        .output()
        .expect("the binary starts");
    let listed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(listed[0]["id"], json!(id));
    let printed = stage.scratch.run_with_input(
        ["kanban", "create", "--from", "-"],
        "{\"title\": \"one\"}\n{\"title\": \"two\", \"assignee\": \"alpha\"}\n",
    );
    assert_eq!(
        (printed.code, printed.stdout.lines().count()),
        (0, 2),
        "{printed:#?}"
    );
    let board_help = stage.run("--help");
    assert_eq!(board_help.code, 0);
    assert!(
        board_help.stdout.contains("decompose"),
        "{}",
        board_help.stdout
    );
}

#[test]
fn a_dispatched_worker_reads_its_task_and_completes_it() {
    let stage = Stage::new();
    let id = stage.create("count --assignee alpha --body lines");
    stage
        .server
        .push(Reply::tool_call("kanban_show", json!({})))
        .push(Reply::tool_call(
            "kanban_complete",
            json!({"summary": "6 lines", "metadata": {"lines": 6}}),
        ))
        .push(Reply::text("Done: 6 lines."));
    let result = stage.json("dispatch --json");
    assert_eq!(result["spawned"][0]["task_id"], json!(id), "{result}");
    stage.wait_for_status(&id, "done");
    let shown = stage.json(&format!("show {id} --json"));
    assert_eq!(shown["latest_summary"], "6 lines");
    assert_eq!(shown["runs"][0]["metadata"]["lines"], 6);
    assert!(shown["runs"][0]["metadata"]["worker_session_id"].is_string());
    let requests = stage.server.wait_for_requests(3);
    let tools: Vec<&str> = requests[0]
        .tool_names()
        .into_iter()
        .filter(|name| name.starts_with("kanban_"))
        .collect();
    assert_eq!(
        tools,
        [
            "kanban_block",
            "kanban_comment",
            "kanban_complete",
            "kanban_create",
            "kanban_heartbeat",
            "kanban_link",
            "kanban_show"
        ]
    );
    assert_eq!(
        requests[0]
            .messages()
            .last()
            .map(|message| message["content"].clone()),
        Some(json!(format!("work kanban task {id}")))
    );
    wait_until("the log is written", || {
        stage
            .run(&format!("log {id}"))
            .stdout
            .contains("Done: 6 lines.")
    });
}

#[test]
fn a_plain_chat_sees_no_board_tools() {
    let stage = Stage::new();
    stage.server.push(Reply::text("hi"));
    let ran = stage.scratch.run(["-z", "hello"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let requests = stage.server.requests();
    assert!(
        requests[0]
            .tool_names()
            .iter()
            .all(|name| !name.starts_with("kanban_"))
    );
}

#[test]
fn a_worker_that_forgets_to_report_is_reminded_and_then_blocked() {
    let stage = Stage::new();
    let forgetful = stage.create("forgetful --assignee alpha");
    stage
        .server
        .push(Reply::text("I am done."))
        .push(Reply::text("Really done."));
    stage.ok("dispatch");
    stage.wait_for_status(&forgetful, "blocked");
    let shown = stage.json(&format!("show {forgetful} --json"));
    assert!(
        shown["latest_summary"]
            .as_str()
            .expect("a reason")
            .contains("Really done."),
        "{shown}"
    );
    let reminded = stage.create("reminded --assignee alpha");
    stage
        .server
        .push(Reply::text("I am done."))
        .push(complete("now I say so"))
        .push(Reply::text("ok"));
    stage.ok("dispatch");
    stage.wait_for_status(&reminded, "done");
}

#[test]
fn a_rate_limited_worker_gives_its_task_back_and_exits_with_75() {
    let stage = Stage::with("agent:\n  api_max_retries: 1\n");
    let id = stage.create("limited --assignee alpha");
    stage
        .server
        .fallback(|_| Reply::error(429, "rate limit reached, try later"));
    stage.ok("dispatch");
    let board = stage.database();
    wait_until("the end is on record", || {
        board
            .query_row(
                "SELECT COUNT(*) FROM task_runs WHERE outcome = 'rate_limited'",
                [],
                |row| row.get::<_, i64>(0),
            )
            .is_ok_and(|count| count == 1)
    });
    let shown = stage.json(&format!("show {id} --json"));
    assert_eq!(shown["task"]["status"], "ready");
    let kinds: Vec<&str> = shown["events"]
        .as_array()
        .expect("events")
        .iter()
        .filter_map(|event| event["kind"].as_str())
        .collect();
    assert_eq!(kinds.last(), Some(&"rate_limited"), "{kinds:?}");
    let next = stage.json("dispatch --json");
    assert_eq!(next["respawn_guarded"][0]["reason"], "rate_limit_cooldown");
}

#[test]
fn sigterm_ends_a_worker_promptly_and_costs_its_task_nothing() {
    let stage = Stage::new();
    let id = stage.create("slow --assignee alpha");
    let gate = Gate::new();
    stage.server.push(Reply::text("thinking").then_stall(&gate));
    stage.ok("dispatch");
    gate.wait_reached();
    let pid = stage.worker_pid(&id);
    let asked = Instant::now();
    kill(Pid::from_raw(pid), Signal::SIGTERM).expect("it runs");
    wait_for_end(pid);
    assert!(
        asked.elapsed() < Duration::from_secs(4),
        "{:?}",
        asked.elapsed()
    );
    let code: Option<i64> = stage
        .database()
        .query_row("SELECT exit_code FROM worker_identity", [], |row| {
            row.get(0)
        })
        .expect("an identity");
    assert_eq!(code, Some(143));
    let result = stage.json("dispatch --json --max 0");
    assert_eq!(result["reclaimed"], 1);
    let failures: i64 = stage
        .database()
        .query_row("SELECT consecutive_failures FROM tasks", [], |row| {
            row.get(0)
        })
        .expect("the task");
    assert_eq!((stage.status(&id).as_str(), failures), ("ready", 0));
    gate.release();
}

#[test]
fn a_worker_without_a_model_says_so_on_the_board() {
    let stage = Stage::new();
    stage.scratch.write(
        "profiles/alpha/config.yaml",
        "kanban:\n  failure_limit: 1\n",
    );
    let id = stage.create("x --assignee alpha");
    stage.ok("dispatch --failure-limit 1");
    stage.wait_for_status(&id, "blocked");
    let error = stage.json(&format!("runs {id} --json"))[0]["error"].clone();
    assert!(
        error
            .as_str()
            .expect("an error")
            .contains("no model provider"),
        "{error}"
    );
}

#[test]
fn pictures_of_a_task_reach_the_model() {
    let stage = Stage::new();
    let picture = stage.scratch.user_home().join("shot.png");
    std::fs::write(&picture, [0x89, b'P', b'N', b'G', 13, 10, 26, 10, 0, 0]).expect("a file");
    let id = stage.create(&format!(
        "look --assignee alpha --body {}",
        picture.display()
    ));
    stage.server.push(complete("seen")).push(Reply::text("ok"));
    stage.ok("dispatch");
    stage.wait_for_status(&id, "done");
    let requests = stage.server.requests();
    let content = requests[0].messages().last().expect("a message")["content"].clone();
    assert_eq!(content[1]["type"], "image_url", "{content}");
}

#[test]
fn goal_mode_works_on_until_the_judge_is_satisfied() {
    let stage = Stage::new();
    let id = stage.create("goal --assignee alpha --goal --goal-max-turns 5");
    stage
        .server
        .push(Reply::text("half of it"))
        .push(Reply::text(
            "{\"done\": false, \"reason\": \"the other half\"}",
        ))
        .push(complete("all of it"))
        .push(Reply::text("ok"));
    stage.ok("dispatch");
    stage.wait_for_status(&id, "done");
    let requests = stage.server.requests();
    let third = requests[2].last_message()["content"].to_string();
    assert!(third.contains("the other half"), "{third}");
}

#[test]
fn triage_asks_the_model() {
    let stage = Stage::new();
    let id = stage.create("rough --triage");
    stage
        .server
        .push(Reply::text("{\"title\": \"Clear\", \"body\": \"## Goal\"}"));
    let printed = stage.ok(&format!("specify {id}"));
    assert_eq!(
        printed,
        format!("Specified {id} → todo — retitled: 'Clear'\n")
    );
    let broken = stage.create("rough --triage");
    stage.server.push(Reply::error(400, "no"));
    let refused = stage.run(&format!("decompose {broken}"));
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("LLM error: "), "{}", refused.stderr);
    assert_eq!(stage.status(&broken), "triage");
}

pub(super) struct Daemon(pub(super) Child);

impl Daemon {
    pub(super) fn start(stage: &Stage) -> Self {
        let child = stage
            .command("daemon --interval 0.2 --max 4")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        Self(child)
    }

    pub(super) fn kill(mut self) {
        self.0.kill().expect("it runs");
        self.0.wait().expect("it ends");
    }
}

#[test]
fn a_loop_runs_tasks_as_places_become_free_and_ends_on_sigterm() {
    let stage = Stage::new();
    stage.server.fallback(|request| {
        if request.last_message()["role"] == "tool" {
            Reply::text("ok")
        } else {
            complete("done")
        }
    });
    let ids: Vec<String> = (0..6)
        .map(|n| stage.create(&format!("t{n} --assignee alpha")))
        .collect();
    let mut daemon = Daemon::start(&stage);
    wait_until("all are done", || {
        ids.iter().all(|id| stage.status(id) == "done")
    });
    kill(Pid::from_raw(daemon.0.id().cast_signed()), Signal::SIGTERM).expect("it runs");
    let ended = daemon.0.wait().expect("it ends");
    assert_eq!(ended.code(), Some(143));
}

/// Workers and dispatchers are killed at random; every task still ends exactly
/// once, and nobody is left over.
#[test]
fn killed_workers_and_dispatchers_lose_and_double_nothing() {
    let stage = Stage::with("kanban:\n  failure_limit: 40\n");
    stage.server.fallback(|request| {
        std::thread::sleep(Duration::from_millis(30));
        if request.last_message()["role"] == "tool" {
            Reply::text("ok")
        } else {
            complete("done")
        }
    });
    let lines: String = (0..16)
        .map(|n| format!("{{\"title\": \"t{n}\", \"assignee\": \"alpha\"}}\n"))
        .collect();
    stage.scratch.write("cards.jsonl", lines);
    let file = stage.scratch.home().join("cards.jsonl");
    stage.ok(&format!("create --from {}", file.display()));
    let board = stage.database();
    let workers = || -> Vec<i32> {
        board
            .prepare("SELECT worker_pid FROM tasks WHERE worker_pid IS NOT NULL ORDER BY random()")
            .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect())
            .unwrap_or_default()
    };
    let open = || -> i64 {
        board
            .query_row(
                "SELECT COUNT(*) FROM tasks WHERE status IN ('ready', 'running')",
                [],
                |row| row.get(0),
            )
            .unwrap_or(99)
    };
    let mut seen: HashSet<i32> = HashSet::new();
    let mut daemon = Daemon::start(&stage);
    let deadline = Instant::now() + Duration::from_secs(90);
    let mut round = 0;
    while open() > 0 {
        assert!(Instant::now() < deadline, "{} tasks are still open", open());
        round += 1;
        std::thread::sleep(Duration::from_millis(60));
        let running = workers();
        seen.extend(&running);
        if round % 4 == 0
            && round < 60
            && let Some(pid) = running.first()
        {
            let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
        }
        if round % 15 == 0 && round < 60 {
            daemon.kill();
            daemon = Daemon::start(&stage);
        }
    }
    seen.extend(workers());
    daemon.kill();
    let completed: Vec<i64> = board
        .prepare(
            "SELECT (SELECT COUNT(*) FROM task_events e WHERE e.task_id = t.id AND e.kind = 'completed')
             FROM tasks t WHERE t.status = 'done'",
        )
        .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect())
        .expect("events");
    assert!(completed.iter().all(|count| *count == 1), "{completed:?}");
    let unexplained: i64 = board
        .query_row(
            "SELECT COUNT(*) FROM tasks WHERE status NOT IN ('done')
                 AND NOT (status = 'blocked' AND last_failure_error IS NOT NULL)",
            [],
            |row| row.get(0),
        )
        .expect("tasks");
    assert_eq!(unexplained, 0);
    for pid in seen {
        wait_for_end(pid);
    }
}

#[test]
fn a_task_can_be_given_to_nobody_and_to_a_name_without_a_profile() {
    let scratch = Scratch::new();
    let id = scratch.ok(["kanban", "create", "x", "--assignee", "alpha", "--json"]);
    let id: Value = serde_json::from_str(&id).expect("JSON");
    let id = id["id"].as_str().expect("an id");
    let assignee = || {
        let shown = scratch.ok(["kanban", "show", id, "--json"]);
        let shown: Value = serde_json::from_str(&shown).expect("JSON");
        shown["task"]["assignee"].clone()
    };
    scratch.ok(["kanban", "assign", id, "lane-elsewhere"]);
    assert_eq!(assignee(), "lane-elsewhere");
    scratch.ok(["kanban", "assign", id, "none"]);
    assert_eq!(assignee(), Value::Null);
}
