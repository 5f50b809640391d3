//! Interrupts, guidance, questions.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_agent::Conversation;
use hermes_llm::Delta;
use hermes_tools::builtin::ClarifyTool;
use hermes_types::{Answer as Reply, AskKind, Asked, Interrupt, StopReason, ToolOutput, TurnEvent};
use pretty_assertions::assert_eq;
use serde_json::json;
use tokio::sync::Notify;

use super::support::*;

#[tokio::test]
async fn an_interrupt_during_a_slow_answer_is_quick_and_keeps_what_was_shown() {
    let never = Arc::new(Notify::new());
    let stage = Stage::new(vec![vec![
        Step::Delta(Delta::Text("as far as ".into())),
        Step::Wait(never),
    ]]);
    let (mut agent, mut events) = stage.agent_with_events();
    let control = stage.control.clone();
    let watcher = tokio::spawn(async move {
        while let Some(event) = events.recv().await {
            if matches!(event, TurnEvent::Text { .. }) {
                control.interrupt(Interrupt::User);
                break;
            }
        }
    });
    let started = Instant::now();
    let outcome = agent.turn("go").await;
    assert!(started.elapsed() < Duration::from_secs(1));
    watcher.await.unwrap();
    assert_eq!(outcome.reason, StopReason::Interrupted);
    assert_eq!(
        lines(&stage.stored(agent.session_id()).await),
        ["user go", "assistant as far as "]
    );
    // The next turn is not stopped by the old interrupt.
    stage.script.push(say("fresh"));
    assert_eq!(agent.turn("again").await.answer, "fresh");
}

#[tokio::test]
async fn an_interrupt_during_a_batch_leaves_every_call_with_a_result() {
    let stage = Stage::new(vec![calls(
        "",
        &[
            ("terminal", json!({"command": "a"})),
            ("terminal", json!({"command": "bb"})),
            ("terminal", json!({"command": "ccc"})),
        ],
    )]);
    let control = stage.control.clone();
    let stage = stage.tool(Fake::new("terminal", move |arguments| {
        let control = control.clone();
        async move {
            if arguments["command"] == "bb" {
                control.interrupt(Interrupt::User);
                std::future::pending::<()>().await;
            }
            ToolOutput::text("ran")
        }
    }));
    let mut agent = stage.agent();
    let started = Instant::now();
    let outcome = agent.turn("go").await;
    assert!(started.elapsed() < Duration::from_secs(1));
    assert_eq!(outcome.reason, StopReason::Interrupted);
    let stored = lines(&stage.stored(agent.session_id()).await);
    assert_eq!(stored[2], "tool ran");
    assert!(stored[3].starts_with("tool [Not finished"));
    assert!(stored[4].starts_with("tool [Not started"));
}

#[tokio::test]
async fn guidance_reaches_the_newest_result_and_the_disk() {
    let stage = Stage::new(vec![call("terminal", json!({"command": "ls"})), say("ok")]);
    let control = stage.control.clone();
    let stage = stage.tool(Fake::new("terminal", move |_| {
        control.steer("use the other branch");
        control.steer("and be quick");
        async { ToolOutput::text("listing") }
    }));
    let mut agent = stage.agent();
    agent.turn("go").await;
    let expected = "listing\n\nUser guidance: use the other branch\nand be quick";
    assert_eq!(stage.script.last().messages[2].content.text(), expected);
    assert_eq!(
        lines(&stage.stored(agent.session_id()).await)[2],
        format!("tool {expected}")
    );
}

#[tokio::test]
async fn guidance_between_batch_and_request_is_stored_too() {
    let gate = Arc::new(Notify::new());
    let stage = Stage::new(vec![
        call("terminal", json!({"command": "ls"})),
        vec![
            Step::Wait(gate.clone()),
            Step::Delta(Delta::ToolCall {
                slot: 0,
                id: "second".into(),
                name: "terminal".into(),
                extra: None,
            }),
        ],
        say("ok"),
    ])
    .tool(Fake::text("terminal", "out"));
    stage.control.steer("early");
    let control = stage.control.clone();
    let (mut agent, mut events) = stage.agent_with_events();
    let watcher = tokio::spawn(async move {
        let mut requests = 0;
        let mut told = Vec::new();
        while let Some(event) = events.recv().await {
            if let TurnEvent::Steered { text } = &event {
                told.push(text.clone());
            }
            if matches!(event, TurnEvent::Requesting { .. }) {
                requests += 1;
                if requests == 2 {
                    control.steer("late");
                    gate.notify_one();
                }
            }
        }
        told
    });
    agent.turn("go").await;
    let stored = lines(&stage.stored(agent.session_id()).await);
    assert_eq!(stored[2], "tool out\n\nUser guidance: early");
    assert_eq!(stored[4], "tool out\n\nUser guidance: late");
    drop(agent);
    // Whoever watches sees what reached the model, and when.
    assert_eq!(watcher.await.unwrap(), ["early", "late"]);
}

#[tokio::test]
async fn guidance_that_came_too_late_is_handed_back() {
    let stage = Stage::new(vec![say("done")]);
    stage.control.steer("too late");
    let outcome = stage.agent().turn("go").await;
    assert_eq!(outcome.pending_steer.as_deref(), Some("too late"));
}

#[tokio::test]
async fn a_question_waits_for_its_answer() {
    let mut stage = Stage::new(vec![
        call(
            "clarify",
            json!({"question": "Which?", "choices": ["a", "b"]}),
        ),
        say("done"),
    ])
    .tool(ClarifyTool::new(Duration::from_secs(20)));
    stage.options.attended = true;
    let (conversation, mut events) = Conversation::start(|control, events| {
        hermes_agent::Agent::new(stage.setup(), control, events)
    });
    conversation.send("go").unwrap();
    let outcome = loop {
        match events.recv().await.unwrap() {
            TurnEvent::Ask { ask } => {
                assert!(
                    matches!(&ask.kind, AskKind::Clarify { choices, .. } if choices.len() == 2)
                );
                assert!(conversation.answer(Asked {
                    id: ask.id,
                    answer: Reply::Text { text: "b".into() },
                }));
            }
            TurnEvent::Finished { outcome } => break outcome,
            _ => {}
        }
    };
    assert_eq!(outcome.answer, "done");
    let result = stage.script.last().messages[2].content.text();
    assert_eq!(
        result,
        r#"{"question":"Which?","choices_offered":["a","b"],"user_response":"b"}"#
    );
    assert_eq!(conversation.close(None).await, Some(outcome.session));
}

#[tokio::test]
async fn without_a_person_the_model_decides() {
    let stage = Stage::new(vec![
        call("clarify", json!({"question": "Which?"})),
        say("a"),
    ])
    .tool(ClarifyTool::new(Duration::from_secs(20)));
    stage.agent().turn("go").await;
    assert!(
        stage.script.last().messages[2]
            .content
            .text()
            .contains("Nobody is there")
    );
}

#[tokio::test]
async fn an_interrupt_that_comes_too_late_does_not_stop_the_next_turn() {
    let stage = Stage::new(vec![say("one"), say("two")]);
    let (conversation, mut events) = Conversation::start(|control, events| {
        hermes_agent::Agent::new(stage.setup(), control, events)
    });
    for answer in ["one", "two"] {
        conversation.send("go").unwrap();
        let outcome = loop {
            if let Some(TurnEvent::Finished { outcome }) = events.recv().await {
                break outcome;
            }
        };
        assert_eq!(outcome.answer, answer);
        conversation.interrupt(Interrupt::User);
    }
    conversation.close(None).await;
}

#[tokio::test]
async fn messages_wait_their_turn() {
    let stage = Stage::new(vec![say("one"), say("two")]);
    let (conversation, mut events) = Conversation::start(|control, events| {
        hermes_agent::Agent::new(stage.setup(), control, events)
    });
    conversation.send("first").unwrap();
    conversation.send("second").unwrap();
    let mut answers = Vec::new();
    while answers.len() < 2 {
        if let Some(TurnEvent::Finished { outcome }) = events.recv().await {
            answers.push(outcome.answer);
        }
    }
    assert_eq!(answers, ["one", "two"]);
    conversation.close(None).await;
}
