//! What is on disk at every moment, and what a resume makes of it.

use std::sync::{Arc, Mutex};

use hermes_types::{Message, Role, StopReason, ToolCall, ToolOutput};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::support::*;

#[tokio::test]
async fn every_step_is_on_disk_before_the_next_starts() {
    let stage = Stage::new(vec![
        calls(
            "working",
            &[
                ("terminal", json!({"command": "1"})),
                ("terminal", json!({"command": "22"})),
            ],
        ),
        say("done"),
    ]);
    let seen: Arc<Mutex<Vec<Vec<String>>>> = Arc::default();
    let (state, log) = (stage.state.clone(), seen.clone());
    let stage = stage.tool(Fake::new("terminal", move |arguments| {
        let (state, log) = (state.clone(), log.clone());
        async move {
            let rows = state
                .run(|database| {
                    let ids = database.export_ids(None)?;
                    database.messages(&ids[0])
                })
                .await
                .unwrap();
            log.lock().unwrap().push(lines(&rows));
            ToolOutput::text(format!("result {}", arguments["command"]))
        }
    }));
    stage.agent().turn("go").await;
    assert_eq!(
        *seen.lock().unwrap(),
        [
            vec!["user go", "assistant working"],
            vec!["user go", "assistant working", "tool result \"1\""],
        ]
    );
}

#[tokio::test]
async fn a_resumed_session_sends_the_same_bytes() {
    let stage = Stage::new(vec![
        calls(
            " looking \n",
            &[("terminal", json!({"command": "b", "count": 1}))],
        ),
        say("first answer "),
        say("second"),
    ])
    .tool(Fake::terminal(0));
    let mut agent = stage.agent();
    agent.turn("  hello \n").await;
    agent.turn("more").await;
    let before = stage.script.last();
    let mut resumed = stage.resumed(agent.session_id()).await;
    stage.script.push(say("third"));
    resumed.turn("again").await;
    let after = stage.script.last();
    assert_eq!(after.system, before.system);
    assert_eq!(after.tools, before.tools);
    assert_eq!(after.messages[..before.messages.len()], before.messages[..]);
    insta::assert_snapshot!("resumed", rendered(&after));
}

#[tokio::test]
async fn the_stored_prompt_is_sent_even_when_the_world_changed() {
    let stage = Stage::new(vec![say("one"), say("two")]);
    let mut agent = stage.agent();
    agent.turn("a").await;
    let id = agent.session_id().clone();
    let stored = id.clone();
    stage
        .state
        .run(move |database| database.set_system_prompt(&stored, "kept from before"))
        .await
        .unwrap();
    stage.resumed(&id).await.turn("b").await;
    assert_eq!(&*stage.script.last().system, "kept from before");
}

#[tokio::test]
async fn a_session_without_a_prompt_gets_one() {
    let stage = Stage::new(vec![say("one"), say("two")]);
    let mut agent = stage.agent();
    agent.turn("a").await;
    let id = agent.session_id().clone();
    let stored = id.clone();
    stage
        .state
        .run(move |database| database.set_system_prompt(&stored, ""))
        .await
        .unwrap();
    stage.resumed(&id).await.turn("b").await;
    assert!(stage.script.last().system.contains("Hermes"));
    assert!(
        stage
            .session(&id)
            .await
            .system_prompt
            .unwrap()
            .contains("Hermes")
    );
}

#[tokio::test]
async fn a_batch_that_was_killed_gets_placeholders_on_disk_and_completes() {
    let stage = Stage::new(vec![say("begun"), say("finished")]).tool(Fake::terminal(0));
    let mut agent = stage.agent();
    agent.turn("start").await;
    let id = agent.session_id().clone();
    drop(agent);
    let call = |id: &str| ToolCall {
        id: id.into(),
        name: "terminal".into(),
        arguments: "{}".into(),
        extra: None,
    };
    let session = id.clone();
    stage
        .state
        .run(move |database| {
            database.append(&session, Message::user("do three things"))?;
            database.append(
                &session,
                Message {
                    tool_calls: vec![call("a"), call("b"), call("c")],
                    ..Message::assistant("")
                },
            )?;
            database.append(&session, Message::tool_result(&call("b"), "second"))
        })
        .await
        .unwrap();
    let mut resumed = stage.resumed(&id).await;
    let outcome = resumed.turn("go on").await;
    assert_eq!(outcome.reason, StopReason::Answered);
    insta::assert_snapshot!("killed_batch", rendered(&stage.script.last()));
    let stored = stage.stored(&id).await;
    let results: Vec<&str> = stored
        .iter()
        .filter(|row| row.message.role == Role::Tool)
        .filter_map(|row| row.message.tool_call_id.as_deref())
        .collect();
    assert_eq!(results, ["b", "a", "c"]);
    // Resuming again adds nothing.
    stage.resumed(&id).await;
    assert_eq!(stage.stored(&id).await.len(), stored.len());
}

#[tokio::test]
async fn a_question_without_an_answer_is_merged_with_the_next() {
    let stage = Stage::new(vec![fail(hermes_llm::ErrorClass::Server), say("ok")]);
    let mut agent = stage.agent();
    agent.turn("first").await;
    agent.turn("second").await;
    assert_eq!(
        stage.script.last().messages[0].content.text(),
        "first\n\nsecond"
    );
    assert_eq!(
        lines(&stage.stored(agent.session_id()).await),
        ["user first", "user second", "assistant ok"]
    );
}

#[tokio::test]
async fn an_agent_that_said_nothing_leaves_no_row() {
    let stage = Stage::new(vec![]);
    let agent = stage.agent();
    agent.end("cli_close").await.unwrap();
    let count = stage
        .state
        .run(|database| Ok(database.export_ids(None)?.len()))
        .await
        .unwrap();
    assert_eq!(count, 0);
}

#[tokio::test]
async fn two_agents_in_one_process_keep_their_own_prompts() {
    let (one, other) = (
        Stage::new(vec![say("a"), say("b")]),
        Stage::new(vec![say("a"), say("b")]),
    );
    let (mut first, mut second) = (one.agent(), other.agent());
    for _ in 0..2 {
        let (left, right) = tokio::join!(first.turn("hi"), second.turn("hi"));
        assert_eq!(
            (left.reason, right.reason),
            (StopReason::Answered, StopReason::Answered)
        );
    }
    for (stage, foreign) in [(&one, &other), (&other, &one)] {
        for request in 0..2 {
            let system = stage.script.request(request).system;
            assert!(system.contains(&stage.home.project().display().to_string()));
            assert!(!system.contains(&foreign.home.project().display().to_string()));
        }
    }
}
