//! The tools as a model calls them.

use std::fs;
use std::sync::Arc;

use hermes_kanban::tools::{KanbanTool, ToolAccess, kanban_tools};
use hermes_tools::{Tool, ToolContext, Unattended, Unheard};
use hermes_types::{SessionId, TaskId};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::support::TestHome;

struct Bench {
    home: TestHome,
    tools: Vec<KanbanTool>,
    runtime: tokio::runtime::Runtime,
}

impl Bench {
    fn of(home: TestHome) -> Self {
        let access = ToolAccess::new(
            &home.context.home,
            &home.context.environment,
            &home.context.config,
            &home.context.clock,
            home.context.host.clone(),
        );
        let tools = kanban_tools(Arc::new(access));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        Self {
            home,
            tools,
            runtime,
        }
    }

    /// Somebody who plans.
    fn planner() -> Self {
        let mut home = TestHome::new();
        home.context.environment.set("HERMES_PROFILE", "lead");
        Self::of(home)
    }

    /// A worker on a fresh task.
    fn worker(words: &str) -> (Self, String) {
        let mut home = TestHome::new();
        let id = home.create(&format!("{words} --assignee w"));
        home.ok(&format!("claim {id}"));
        let task = home.board().task(&TaskId::new(id.as_str())).unwrap();
        let environment = &mut home.context.environment;
        environment.set("HERMES_PROFILE", "w");
        environment.set("HERMES_KANBAN_TASK", id.as_str());
        environment.set(
            "HERMES_KANBAN_RUN_ID",
            task.current_run_id.unwrap().to_string(),
        );
        environment.set("HERMES_KANBAN_CLAIM_LOCK", task.claim_lock.unwrap());
        environment.set("HERMES_TENANT", "acme");
        (Self::of(home), id)
    }

    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.tools.iter().map(Tool::name).collect();
        names.sort_unstable();
        names
    }

    fn call(&self, name: &str, arguments: Value) -> Value {
        let tool = self.tools.iter().find(|tool| tool.name() == name).unwrap();
        let context = ToolContext {
            session: SessionId::new("20260531_120000_abcdef"),
            task: "t".into(),
            call_id: "c".into(),
            round: 1,
            reader: hermes_tools::Reader::Model,
            cancel: Default::default(),
            asker: Arc::new(Unattended),
            events: Arc::new(Unheard),
        };
        let output = self.runtime.block_on(tool.call(&context, arguments));
        let value: Value = serde_json::from_str(&output.text).unwrap();
        assert_eq!(output.failed, value.get("error").is_some());
        value
    }

    fn error(&self, name: &str, arguments: Value) -> String {
        self.call(name, arguments)["error"]
            .as_str()
            .unwrap()
            .to_owned()
    }
}

#[test]
fn a_worker_has_seven_tools_and_a_planner_nine() {
    let (worker, _) = Bench::worker("x");
    assert_eq!(
        worker.names(),
        [
            "kanban_block",
            "kanban_comment",
            "kanban_complete",
            "kanban_create",
            "kanban_heartbeat",
            "kanban_link",
            "kanban_show",
        ]
    );
    let planner = Bench::planner();
    assert_eq!(planner.names().len(), 9);
    for tool in &planner.tools {
        let spec = tool.spec();
        assert_eq!(spec.name, tool.name());
        assert_eq!(spec.parameters["type"], "object");
        assert!(spec.parameters["properties"]["board"].is_object());
        for required in spec.parameters["required"].as_array().unwrap() {
            assert!(spec.parameters["properties"][required.as_str().unwrap()].is_object());
        }
    }
}

#[test]
fn a_worker_reads_and_finishes_its_own_task() {
    let (bench, id) = Bench::worker("'Count lines' --body 'Report the number.'");
    let shown = bench.call("kanban_show", json!({}));
    assert_eq!(shown["task"]["id"], json!(id));
    assert!(
        shown["worker_context"]
            .as_str()
            .unwrap()
            .contains("Report the number.")
    );
    assert_eq!(
        bench.call("kanban_heartbeat", json!({"note": "half way"}))["ok"],
        true
    );
    assert_eq!(
        bench.error("kanban_complete", json!({})),
        "give a summary or a result"
    );
    let done = bench.call(
        "kanban_complete",
        json!({"summary": "6 lines", "metadata": {"lines": 6, "worker_session_id": "forged"}}),
    );
    assert_eq!((&done["ok"], &done["run_id"]), (&json!(true), &json!(1)));
    let runs = bench.home.json(&format!("runs {id} --json"));
    assert_eq!(
        runs[0]["metadata"],
        json!({"lines": 6, "worker_session_id": "20260531_120000_abcdef"}),
        "who did it is ours to say"
    );
}

#[test]
fn a_worker_is_kept_to_its_own_task() {
    let (bench, id) = Bench::worker("x");
    let other = bench.home.create("other");
    for (tool, arguments) in [
        ("kanban_complete", json!({"task_id": other, "summary": "s"})),
        ("kanban_block", json!({"task_id": other, "reason": "r"})),
        ("kanban_heartbeat", json!({"task_id": other})),
    ] {
        let error = bench.error(tool, arguments);
        assert!(
            error.starts_with(&format!(
                "worker is scoped to task {id}; refusing to mutate {other}. "
            )),
            "{error}"
        );
    }
    assert_eq!(bench.home.status(&other), "ready");
}

#[test]
fn authors_come_from_the_environment_and_never_from_the_model() {
    let (bench, _) = Bench::worker("x");
    let other = bench.home.create("other");
    bench.call(
        "kanban_comment",
        json!({"task_id": other, "body": "hello", "author": "boss"}),
    );
    let made = bench.call(
        "kanban_create",
        json!({"title": "follow-up", "assignee": "z", "created_by": "boss", "parents": other}),
    );
    assert_eq!(made["status"], "todo", "a single string is a list of one");
    let id = made["task_id"].as_str().unwrap();
    let board = bench.home.board();
    let task = board.task(&TaskId::new(id)).unwrap();
    assert_eq!(task.created_by.as_deref(), Some("w"));
    assert_eq!(task.tenant.as_deref(), Some("acme"));
    assert_eq!(task.session_id.as_deref(), Some("20260531_120000_abcdef"));
    assert_eq!(
        board.view(&TaskId::new(other)).unwrap().comments[0].author,
        "w"
    );
}

#[test]
fn invented_cards_are_refused_and_a_retry_is_fine() {
    let (bench, id) = Bench::worker("x");
    let made = bench.call("kanban_create", json!({"title": "real", "assignee": "z"}));
    let real = made["task_id"].clone();
    let error = bench.error(
        "kanban_complete",
        json!({"summary": "s", "created_cards": [real, "t_deadbeef"]}),
    );
    assert!(
        error.contains("t_deadbeef") && error.contains("try again"),
        "{error}"
    );
    assert_eq!(bench.home.status(&id), "running");
    let done = bench.call(
        "kanban_complete",
        json!({"summary": "s", "created_cards": [real]}),
    );
    assert_eq!(done["ok"], true);
}

#[test]
fn artifacts_of_a_scratch_directory_outlive_it() {
    let (bench, id) = Bench::worker("x");
    let workspace = bench.home.root().join("kanban/workspaces").join(&id);
    fs::write(workspace.join("report.txt"), "numbers").unwrap();
    bench.call(
        "kanban_complete",
        json!({"summary": "s", "artifacts": ["report.txt", "/etc/hostname"]}),
    );
    assert!(!workspace.exists());
    let kept = bench
        .home
        .root()
        .join("kanban/attachments")
        .join(&id)
        .join("report.txt");
    assert_eq!(fs::read_to_string(&kept).unwrap(), "numbers");
    let shown = bench.home.json(&format!("show {id} --json"));
    let payload = &shown["events"].as_array().unwrap().last().unwrap()["payload"];
    assert_eq!(payload["artifacts"], json!([kept, "/etc/hostname"]));
    assert_eq!(shown["runs"][0]["metadata"]["artifacts"][0], json!(kept));
}

#[test]
fn a_parent_keeps_its_directory_until_its_children_are_finished() {
    let (bench, id) = Bench::worker("x");
    let workspace = bench.home.root().join("kanban/workspaces").join(&id);
    let child = bench.home.create(&format!("child --parent {id}"));
    bench.call("kanban_complete", json!({"summary": "s"}));
    assert!(workspace.exists(), "the child may read from it");
    bench.home.ok(&format!("complete {child}"));
    assert!(!workspace.exists());
}

#[test]
fn a_scratch_directory_is_not_inherited_and_a_real_one_is() {
    let (scratch, _) = Bench::worker("x");
    let made = scratch.call("kanban_create", json!({"title": "c", "assignee": "z"}));
    let board = scratch.home.board();
    let task = board
        .task(&TaskId::new(made["task_id"].as_str().unwrap()))
        .unwrap();
    assert_eq!(
        (task.workspace_kind.as_str(), task.workspace_path),
        ("scratch", None)
    );

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    let (dir, _) = Bench::worker(&format!("x --workspace dir:{path}"));
    let made = dir.call("kanban_create", json!({"title": "c", "assignee": "z"}));
    let task = dir
        .home
        .board()
        .task(&TaskId::new(made["task_id"].as_str().unwrap()))
        .unwrap();
    assert_eq!(
        (task.workspace_kind.as_str(), task.workspace_path.as_deref()),
        ("dir", Some(path))
    );
}

#[test]
fn a_planner_lists_links_and_unblocks() {
    let bench = Bench::planner();
    for n in 0..4 {
        let made = bench.call(
            "kanban_create",
            json!({"title": format!("task {n}"), "assignee": "w", "priority": n}),
        );
        assert_eq!(made["status"], "ready");
    }
    let listed = bench.call("kanban_list", json!({"limit": 3}));
    assert_eq!(
        (
            &listed["count"],
            &listed["truncated"],
            &listed["next_limit"]
        ),
        (&json!(3), &json!(true), &json!(6))
    );
    let first = listed["tasks"][0]["id"].as_str().unwrap().to_owned();
    let second = listed["tasks"][1]["id"].as_str().unwrap().to_owned();
    bench.call(
        "kanban_link",
        json!({"parent_id": first, "child_id": second}),
    );
    assert_eq!(bench.home.status(&second), "todo");
    let error = bench.error("kanban_unblock", json!({"task_id": first}));
    assert_eq!(error, "task is ready");
}

#[test]
fn unblocking_says_where_the_task_really_went() {
    let bench = Bench::planner();
    let (parent, child) = (bench.home.create("parent"), bench.home.create("child"));
    bench.home.ok(&format!("block {child} wait"));
    bench.call(
        "kanban_link",
        json!({"parent_id": parent, "child_id": child}),
    );
    assert_eq!(
        bench.call("kanban_unblock", json!({"task_id": child}))["status"],
        "todo"
    );
}

#[test]
fn an_unknown_board_is_an_error_and_no_new_board() {
    let bench = Bench::planner();
    let error = bench.error("kanban_list", json!({"board": "nowhere"}));
    assert_eq!(error, "board 'nowhere' does not exist");
    assert!(!bench.home.root().join("kanban/boards/nowhere").exists());
    bench.home.ok("boards create here");
    assert_eq!(
        bench.call("kanban_list", json!({"board": "here"}))["count"],
        0
    );
}
