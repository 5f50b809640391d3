//! Every row of the response table, from the outside.

use hermes_llm::{Delta, ErrorClass, FinishReason};
use hermes_types::{StopReason, ToolOutput, TurnEvent};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::support::*;

#[tokio::test]
async fn a_plain_answer_is_stored_and_told_in_order() {
    let stage = Stage::new(vec![say_using("hello", 100)]);
    let (mut agent, mut events) = stage.agent_with_events();
    let outcome = agent.turn("hi").await;
    assert_eq!(outcome.reason, StopReason::Answered);
    assert_eq!(outcome.answer, "hello");
    assert_eq!(outcome.api_calls, 1);
    assert_eq!(
        lines(&stage.stored(agent.session_id()).await),
        ["user hi", "assistant hello"]
    );
    let session = stage.session(agent.session_id()).await;
    assert_eq!(session.input_tokens, 100);
    assert_eq!(session.api_call_count, 1);
    assert_eq!(session.model.as_deref(), Some("scripted"));
    assert!(session.system_prompt.unwrap().contains("Hermes"));
    let mut kinds = Vec::new();
    while let Ok(event) = events.try_recv() {
        kinds.push(match event {
            TurnEvent::Started { .. } => "started",
            TurnEvent::Requesting { .. } => "requesting",
            TurnEvent::Text { .. } => "text",
            TurnEvent::Usage { .. } => "usage",
            TurnEvent::AssistantStored => "stored",
            TurnEvent::Finished { .. } => "finished",
            other => panic!("{other:?}"),
        });
    }
    assert_eq!(
        kinds,
        [
            "started",
            "requesting",
            "text",
            "usage",
            "stored",
            "finished"
        ]
    );
}

#[tokio::test]
async fn twenty_calls_make_twenty_one_requests_and_forty_two_messages() {
    let mut answers: Vec<Answer> = (0..20)
        .map(|number| call("terminal", json!({"command": format!("echo {number}")})))
        .collect();
    answers.push(say("done"));
    let stage = Stage::new(answers).tool(Fake::terminal(0));
    let mut agent = stage.agent();
    let outcome = agent.turn("go").await;
    assert_eq!(outcome.answer, "done");
    assert_eq!(stage.script.asked(), 21);
    let session = stage.session(agent.session_id()).await;
    assert_eq!(session.message_count, 42);
    assert_eq!(session.tool_call_count, 20);
}

#[tokio::test]
async fn an_answer_cut_twice_is_continued_and_joined() {
    let stage = Stage::new(vec![cut("one "), cut("two "), say("three")]);
    let mut agent = stage.agent();
    let outcome = agent.turn("tell").await;
    assert_eq!(outcome.answer, "one two three");
    assert_eq!(
        lines(&stage.stored(agent.session_id()).await),
        ["user tell", "assistant one two three"]
    );
    let room: Vec<Option<u32>> = (0..3)
        .map(|n| stage.script.request(n).limits.max_output_tokens)
        .collect();
    assert_eq!(room, [None, Some(8192), Some(12288)]);
    insta::assert_snapshot!("cut_answer", stage.script.seen());
    // Nothing of the repair is left in the next request.
    stage.script.push(say("fine"));
    agent.turn("next").await;
    assert_eq!(stage.script.last().messages.len(), 3);
}

#[tokio::test]
async fn an_answer_cut_three_times_is_partial() {
    let stage = Stage::new(vec![cut("a"), cut("b"), cut("c")]);
    let mut agent = stage.agent();
    let outcome = agent.turn("tell").await;
    assert_eq!(outcome.reason, StopReason::Partial);
    assert!(
        outcome.answer.starts_with("abc\n\n[Incomplete:"),
        "{}",
        outcome.answer
    );
    assert!(!outcome.is_success());
    assert_eq!(
        lines(&stage.stored(agent.session_id()).await)[1],
        "assistant abc"
    );
}

#[tokio::test]
async fn reasoning_that_ate_the_output_is_explained() {
    let stage = Stage::new(vec![vec![
        Step::Delta(Delta::Text("<think>long".into())),
        Step::Delta(Delta::Finish(FinishReason::Length)),
    ]]);
    let outcome = stage.agent().turn("think").await;
    assert_eq!(outcome.reason, StopReason::Partial);
    assert!(outcome.error.unwrap().contains("reasoning"));
}

#[tokio::test]
async fn cut_calls_are_sent_again_and_never_run() {
    let truncated = || {
        let mut answer = call("terminal", json!("{\"command\": \"rm -rf x"));
        answer.pop();
        answer.push(Step::Delta(Delta::Finish(FinishReason::Length)));
        answer
    };
    let tool = Fake::terminal(0);
    let log = tool.log.clone();
    let stage = Stage::new(vec![truncated(), truncated(), truncated(), truncated()]).tool(tool);
    let mut agent = stage.agent();
    let outcome = agent.turn("go").await;
    assert_eq!(outcome.reason, StopReason::Partial);
    assert!(log.lock().unwrap().is_empty());
    let room: Vec<Option<u32>> = (0..4)
        .map(|n| stage.script.request(n).limits.max_output_tokens)
        .collect();
    assert_eq!(room, [None, Some(8192), Some(12288), Some(16384)]);
    assert_eq!(stage.stored(agent.session_id()).await.len(), 1);
}

#[tokio::test]
async fn incomplete_answers_go_on() {
    let incomplete = |text: &str| {
        vec![
            Step::Delta(Delta::Text(text.into())),
            Step::Delta(Delta::Finish(FinishReason::Incomplete)),
        ]
    };
    let stage = Stage::new(vec![incomplete("half "), say("done")]);
    assert_eq!(stage.agent().turn("go").await.answer, "half done");
    let stage = Stage::new(vec![incomplete("a"), incomplete("b"), incomplete("c")]);
    assert_eq!(stage.agent().turn("go").await.reason, StopReason::Partial);
}

#[tokio::test]
async fn an_open_scratchpad_is_tried_again() {
    let open = || say("<REASONING_SCRATCHPAD>hm");
    let stage = Stage::new(vec![open(), open(), say("done")]);
    assert_eq!(stage.agent().turn("go").await.answer, "done");
    let stage = Stage::new(vec![open(), open(), open()]);
    assert_eq!(stage.agent().turn("go").await.reason, StopReason::Partial);
}

#[tokio::test]
async fn a_name_that_is_almost_right_is_run() {
    let tool = Fake::text("read_file", "content");
    let log = tool.log.clone();
    let stage = Stage::new(vec![
        call("Read_File_Tool", json!({"path": "a"})),
        say("ok"),
    ])
    .tool(tool);
    let mut agent = stage.agent();
    agent.turn("go").await;
    assert_eq!(log.lock().unwrap().len(), 1);
    assert_eq!(
        stage.script.last().messages[1].tool_calls[0].name,
        "read_file"
    );
}

#[tokio::test]
async fn unknown_names_are_answered_and_fail_at_the_third() {
    let unknown = || call("no_such_thing_at_all", json!({}));
    let stage = Stage::new(vec![unknown(), unknown(), say("sorry")]).tool(Fake::terminal(0));
    let mut agent = stage.agent();
    assert_eq!(agent.turn("go").await.answer, "sorry");
    insta::assert_snapshot!("unknown_tool", stage.script.seen());

    let stage = Stage::new(vec![unknown(), unknown(), unknown()]).tool(Fake::terminal(0));
    let outcome = stage.agent().turn("go").await;
    assert_eq!(outcome.reason, StopReason::Partial);
    assert!(outcome.error.unwrap().contains("no_such_thing_at_all"));
}

#[tokio::test]
async fn broken_arguments_are_asked_for_again_and_then_explained() {
    let broken = || call("terminal", json!("{command: ls}"));
    let tool = Fake::terminal(0);
    let log = tool.log.clone();
    let stage = Stage::new(vec![
        broken(),
        broken(),
        broken(),
        call("terminal", json!({"command": "ls"})),
        say("done"),
    ])
    .tool(tool);
    let mut agent = stage.agent();
    assert_eq!(agent.turn("go").await.answer, "done");
    assert_eq!(log.lock().unwrap().len(), 1);
    insta::assert_snapshot!("broken_arguments", stage.script.seen());
    // What was stored and what was sent agree after a resume.
    let sent = stage.script.last().messages;
    let mut resumed = stage.resumed(agent.session_id()).await;
    stage.script.push(say("again"));
    resumed.turn("more").await;
    let again = stage.script.last().messages;
    assert_eq!(again[..sent.len()], sent[..]);
}

#[tokio::test]
async fn mended_arguments_are_coerced_and_run() {
    let tool = Fake::text("terminal", "ok");
    let log = tool.log.clone();
    let stage = Stage::new(vec![
        call("terminal", json!("{\"command\": \"ls\", \"count\": \"3\",")),
        say("done"),
    ])
    .tool(tool);
    stage.agent().turn("go").await;
    assert_eq!(*log.lock().unwrap(), [json!({"command": "ls", "count": 3})]);
}

#[tokio::test]
async fn silence_after_a_tool_is_nudged_once() {
    let stage = Stage::new(vec![
        call("terminal", json!({"command": "ls"})),
        nothing(),
        say("there"),
    ])
    .tool(Fake::terminal(0));
    let mut agent = stage.agent();
    assert_eq!(agent.turn("go").await.answer, "there");
    let nudged = stage.script.request(2).messages;
    assert_eq!(nudged[3].content.text(), "(empty)");
    assert!(
        lines(&stage.stored(agent.session_id()).await)
            .iter()
            .all(|line| !line.contains("(empty)"))
    );
}

#[tokio::test]
async fn four_silences_fail_with_a_reason() {
    let stage = Stage::new(vec![nothing(), nothing(), nothing(), nothing()]);
    let outcome = stage.agent().turn("go").await;
    assert_eq!(stage.script.asked(), 4);
    assert_eq!(outcome.reason, StopReason::Failed);
    assert!(outcome.error.unwrap().contains("empty answer"));
}

#[tokio::test]
async fn thoughts_alone_are_tried_three_times() {
    let thought = || {
        vec![
            Step::Delta(Delta::Reasoning("hm".into())),
            Step::Delta(Delta::Finish(FinishReason::Stop)),
        ]
    };
    let stage = Stage::new(vec![thought(), thought(), thought()]);
    let outcome = stage.agent().turn("go").await;
    assert_eq!(stage.script.asked(), 3);
    assert_eq!(outcome.reason, StopReason::Failed);
}

#[tokio::test]
async fn text_beside_housekeeping_stands_in_for_silence() {
    let stage = Stage::new(vec![
        calls("Saved it.", &[("memory", json!({}))]),
        nothing(),
    ])
    .tool(Fake::text("memory", "ok"));
    assert_eq!(stage.agent().turn("go").await.answer, "Saved it.");
}

#[tokio::test]
async fn a_broken_stream_is_continued_when_text_was_shown() {
    let broken = vec![
        Step::Delta(Delta::Text("first half, ".into())),
        Step::Fail(hermes_llm::ModelError::new(ErrorClass::Dropped, "cut")),
    ];
    let stage = Stage::new(vec![broken, say("second half")]);
    assert_eq!(
        stage.agent().turn("go").await.answer,
        "first half, second half"
    );
}

#[tokio::test]
async fn refusals_of_the_provider_end_the_turn_with_their_cause() {
    for (class, reason) in [
        (ErrorClass::Authentication, StopReason::KeyRefused),
        (ErrorClass::RateLimited, StopReason::RateLimited),
        (ErrorClass::Billing, StopReason::RateLimited),
        (ErrorClass::Invalid, StopReason::Failed),
    ] {
        let stage = Stage::new(vec![fail(class)]);
        let mut agent = stage.agent();
        let outcome = agent.turn("go").await;
        assert_eq!(outcome.reason, reason);
        assert_eq!(outcome.error.unwrap(), format!("{class:?}"));
        assert_eq!(lines(&stage.stored(agent.session_id()).await), ["user go"]);
    }
}

#[tokio::test]
async fn out_of_rounds_a_summary_is_asked_for_without_tools() {
    let mut stage = Stage::new(vec![
        call("terminal", json!({"command": "1"})),
        call("terminal", json!({"command": "2"})),
        nothing(),
        say("two commands ran"),
    ])
    .tool(Fake::terminal(0));
    stage.options.max_iterations = 2;
    let mut agent = stage.agent();
    let outcome = agent.turn("go").await;
    assert_eq!(outcome.reason, StopReason::IterationLimit);
    assert_eq!(outcome.answer, "two commands ran");
    assert!(stage.script.last().tools.is_empty());
    let stored = stage.stored(agent.session_id()).await;
    assert_eq!(stored.len(), 6);
    assert_eq!(stored[5].message.content.text(), "two commands ran");
}

#[tokio::test]
async fn code_does_not_use_up_rounds() {
    let mut stage = Stage::new(vec![
        call("execute_code", json!({"command": "1"})),
        call("execute_code", json!({"command": "2"})),
        call("execute_code", json!({"command": "3"})),
        say("done"),
    ])
    .tool(Fake::text("execute_code", "ok"));
    stage.options.max_iterations = 1;
    assert_eq!(stage.agent().turn("go").await.answer, "done");
}

#[tokio::test]
async fn a_local_glm_that_stops_early_is_continued() {
    // The model's name decides; this one is called otherwise and is believed.
    let stage = Stage::new(vec![
        call("terminal", json!({"command": "ls"})),
        say("The files were listed and then the"),
    ])
    .tool(Fake::terminal(0));
    assert_eq!(
        stage.agent().turn("go").await.answer,
        "The files were listed and then the"
    );
}

#[tokio::test]
async fn failed_file_changes_are_named_below_the_answer() {
    let stage = Stage::new(vec![
        call("patch", json!({"path": "a.txt"})),
        say("All done."),
    ])
    .tool(Fake::new("patch", |_| async {
        ToolOutput::error("no match")
    }));
    let mut agent = stage.agent();
    let outcome = agent.turn("go").await;
    assert!(
        outcome.answer.ends_with("were not made:\n- a.txt]"),
        "{}",
        outcome.answer
    );
    assert_eq!(
        lines(&stage.stored(agent.session_id()).await)
            .last()
            .unwrap(),
        "assistant All done."
    );
}
