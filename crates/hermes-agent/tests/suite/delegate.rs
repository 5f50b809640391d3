//! Subagents.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_agent::{Agent, DelegateTool, DelegationLimits, Events};
use hermes_types::{Interrupt, StopReason, ToolOutput, TurnEvent};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::sync::Barrier;

use super::support::*;

/// The stage's agent with `delegate_task`; children answer from `script`.
fn delegating(
    stage: &Stage,
    children: Arc<Script>,
    limits: DelegationLimits,
) -> hermes_agent::Setup {
    let mut setup = stage.setup();
    let tool = DelegateTool::new(setup.clone(), Some(children), limits);
    setup.tools.add(tool);
    setup
}

fn result(stage: &Stage) -> Value {
    let sent = stage.script.last();
    serde_json::from_str(&sent.messages.last().unwrap().content.text()).unwrap()
}

#[tokio::test]
async fn one_task_comes_back_as_a_report() {
    let stage = Stage::new(vec![
        call(
            "delegate_task",
            json!({"goal": "Say heron.", "context": "birds", "toolsets": ["file"]}),
        ),
        say("done"),
    ])
    .tool(Fake::text("read_file", "x"))
    .tool(Fake::terminal(0))
    .tool(Fake::text("memory", "x"));
    let children = Script::new(vec![say_using("heron", 50)]);
    let setup = delegating(&stage, children.clone(), DelegationLimits::default());
    let mut agent = Agent::new(setup, stage.control.clone(), Events::nowhere());
    let outcome = agent.turn("go").await;
    let value = result(&stage);
    assert_eq!(value["results"][0]["summary"], "heron");
    assert_eq!(value["results"][0]["status"], "completed");
    assert_eq!(value["results"][0]["exit_reason"], "completed");
    assert_eq!(
        value["results"][0]["tokens"],
        json!({"input": 50, "output": 10})
    );
    assert_eq!(value["results"][0]["tool_trace"], json!([]));
    assert!(value["total_duration_seconds"].is_number());

    let seen = children.last();
    let tools: Vec<&str> = seen.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["read_file"]);
    assert_eq!(seen.messages.len(), 1);
    assert_eq!(seen.messages[0].content.text(), "Say heron.");
    assert!(seen.system.contains("birds"));
    // What children consume is on the parent's bill, and their rows hang below it.
    assert!(outcome.usage.input >= 50);
    let parent = agent.session_id().clone();
    let rows = stage
        .state
        .run(move |database| {
            let ids = database.export_ids(None)?;
            let mut parents = Vec::new();
            for id in ids {
                parents.extend(database.session(&id)?.and_then(|row| row.parent_session_id));
            }
            Ok(parents)
        })
        .await
        .unwrap();
    assert_eq!(rows, [parent]);
}

#[tokio::test]
async fn tasks_run_at_the_same_time_and_too_many_are_refused() {
    let three = json!({"tasks": [{"goal": "a"}, {"goal": "b"}, {"goal": "c"}]});
    let four = json!({"tasks": [{"goal": "a"}, {"goal": "b"}, {"goal": "c"}, {"goal": "d"}]});
    let stage = Stage::new(vec![
        call("delegate_task", three),
        call("delegate_task", four),
        say("done"),
    ]);
    // Every child must be inside its call before one may leave.
    let barrier = Arc::new(Barrier::new(3));
    let stage = stage.tool(Fake::new("terminal", move |_| {
        let barrier = barrier.clone();
        async move {
            barrier.wait().await;
            ToolOutput::text("met")
        }
    }));
    let children = Script::new(vec![
        call("terminal", json!({"command": "1"})),
        call("terminal", json!({"command": "2"})),
        call("terminal", json!({"command": "3"})),
        say("r"),
        say("r"),
        say("r"),
    ]);
    let setup = delegating(&stage, children.clone(), DelegationLimits::default());
    let mut agent = Agent::new(setup, stage.control.clone(), Events::nowhere());
    agent.turn("go").await;
    let sent = stage.script.request(1);
    let first: Value = serde_json::from_str(&sent.messages.last().unwrap().content.text()).unwrap();
    let order: Vec<&Value> = first["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["task_index"])
        .collect();
    assert_eq!(order, [0, 1, 2]);
    assert!(
        result(&stage)["error"]
            .as_str()
            .unwrap()
            .contains("at most 3")
    );
    assert_eq!(children.asked(), 6);
}

#[tokio::test]
async fn depth_is_limited_and_orchestrators_may_delegate_within_it() {
    let stage = Stage::new(vec![
        call(
            "delegate_task",
            json!({"goal": "lead", "role": "orchestrator"}),
        ),
        say("done"),
    ]);
    let children = Script::new(vec![
        call(
            "delegate_task",
            json!({"goal": "work", "role": "orchestrator"}),
        ),
        say("worked"),
        say("led"),
    ]);
    let limits = DelegationLimits {
        max_depth: 2,
        ..DelegationLimits::default()
    };
    let setup = delegating(&stage, children.clone(), limits);
    let mut agent = Agent::new(setup, stage.control.clone(), Events::nowhere());
    agent.turn("go").await;
    assert_eq!(result(&stage)["results"][0]["summary"], "led");
    let has_tool = |index: usize| {
        children
            .request(index)
            .tools
            .iter()
            .any(|tool| tool.name == "delegate_task")
    };
    assert!(has_tool(0));
    assert!(!has_tool(1), "the grandchild must be a leaf");
}

#[tokio::test]
async fn an_interrupt_ends_children_within_a_second() {
    let stage = Stage::new(vec![call(
        "delegate_task",
        json!({"tasks": [{"goal": "a"}, {"goal": "b"}]}),
    )]);
    let control = stage.control.clone();
    let stage = stage.tool(Fake::new("terminal", move |_| {
        control.interrupt(Interrupt::User);
        async {
            std::future::pending::<()>().await;
            ToolOutput::text("never")
        }
    }));
    let children = Script::new(vec![
        call("terminal", json!({"command": "1"})),
        call("terminal", json!({"command": "2"})),
    ]);
    let mut setup = delegating(&stage, children, DelegationLimits::default());
    setup.options.cancel_grace = Duration::from_millis(900);
    let mut agent = Agent::new(setup, stage.control.clone(), Events::nowhere());
    let started = Instant::now();
    let outcome = agent.turn("go").await;
    assert!(
        started.elapsed() < Duration::from_secs(1),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(outcome.reason, StopReason::Interrupted);
    let stored = lines(&stage.stored(agent.session_id()).await);
    assert!(
        stored[2].contains("\"status\":\"interrupted\""),
        "{stored:?}"
    );
}

#[tokio::test]
async fn a_child_that_takes_too_long_is_stopped() {
    let stage = Stage::new(vec![
        call("delegate_task", json!({"goal": "slow"})),
        say("ok"),
    ])
    .tool(Fake::new("terminal", |_| async {
        std::future::pending::<()>().await;
        ToolOutput::text("never")
    }));
    let children = Script::new(vec![call("terminal", json!({"command": "1"}))]);
    let limits = DelegationLimits {
        timeout: Duration::from_millis(200),
        ..DelegationLimits::default()
    };
    let setup = delegating(&stage, children, limits);
    let mut agent = Agent::new(setup, stage.control.clone(), Events::nowhere());
    agent.turn("go").await;
    let value = result(&stage);
    assert_eq!(value["results"][0]["status"], "timeout");
    assert!(
        value["results"][0]["error"]
            .as_str()
            .unwrap()
            .contains("child_timeout_seconds")
    );
}

#[tokio::test]
async fn events_of_children_are_passed_on_with_their_place() {
    let stage = Stage::new(vec![
        call("delegate_task", json!({"goal": "talk"})),
        say("done"),
    ]);
    let children = Script::new(vec![say("hello from below")]);
    let setup = delegating(&stage, children, DelegationLimits::default());
    let (events, mut receiver) = Events::channel();
    let mut agent = Agent::new(setup, stage.control.clone(), events);
    agent.turn("go").await;
    let mut heard = false;
    while let Ok(event) = receiver.try_recv() {
        if let TurnEvent::Child { index, event, .. } = event
            && let TurnEvent::Text { delta } = *event
        {
            assert_eq!((index, delta.as_str()), (0, "hello from below"));
            heard = true;
        }
    }
    assert!(heard);
}

#[tokio::test]
async fn changed_files_are_named_to_the_parent() {
    let stage = Stage::new(vec![
        call("delegate_task", json!({"goal": "write"})),
        say("ok"),
    ])
    .tool(Fake::text("write_file", "{\"bytes_written\":3}"));
    let children = Script::new(vec![
        call("write_file", json!({"path": "notes.md"})),
        say("wrote it"),
    ]);
    let setup = delegating(&stage, children, DelegationLimits::default());
    let mut agent = Agent::new(setup, stage.control.clone(), Events::nowhere());
    agent.turn("go").await;
    let value = result(&stage);
    assert_eq!(value["results"][0]["stale_paths"], json!(["notes.md"]));
    assert_eq!(value["results"][0]["tool_trace"][0]["tool"], "write_file");
}
