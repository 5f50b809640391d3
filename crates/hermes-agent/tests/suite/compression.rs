//! Making room without losing anything.

use std::time::Duration;

use hermes_agent::compress::PREFIX;
use hermes_llm::{Delta, ErrorClass};
use hermes_types::{StopReason, TurnEvent, Usage};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::support::*;

fn sized(mut answer: Answer, prompt: u64) -> Answer {
    answer.push(Step::Delta(Delta::Usage(Usage {
        input: prompt,
        output: 5,
        ..Usage::default()
    })));
    answer
}

/// A turn whose thirteenth call reports a full window.
fn long_turn(window: u64, full: u64) -> Stage {
    let mut answers: Vec<Answer> = (1..13)
        .map(|n| {
            sized(
                call("terminal", json!({"command": format!("part {n}")})),
                10_000,
            )
        })
        .collect();
    answers.push(sized(call("terminal", json!({"command": "part 13"})), full));
    answers.push(say("Goal: count the parts. Done: 1 to 11."));
    answers.push(say("All counted."));
    Stage::on(
        hermes_testkit::TestHome::new(),
        Script::with_window(answers, window),
    )
    .tool(Fake::text("terminal", &"counted ".repeat(100)))
}

#[tokio::test]
async fn a_full_window_is_condensed_once_and_the_parent_keeps_everything() {
    let stage = long_turn(64_000, 70_000);
    let (mut agent, mut events) = stage.agent_with_events();
    let first = agent.session_id().clone();
    let outcome = agent.turn("count ALL the parts, exactly").await;
    assert_eq!(outcome.reason, StopReason::Answered);
    assert_eq!(outcome.answer, "All counted.");
    assert_ne!(outcome.session, first);

    // One request without tools asked for the summary.
    let summary = stage.script.request(13);
    assert!(summary.tools.is_empty());
    assert_eq!(summary.messages.len(), 1);

    let next = stage.script.last();
    assert!(next.messages.len() <= 12, "{}", next.messages.len());
    assert_eq!(
        next.messages[0].content.text(),
        "count ALL the parts, exactly"
    );
    assert!(
        next.messages
            .iter()
            .any(|m| m.content.text().starts_with(PREFIX))
    );
    insta::with_settings!({filters => vec![(r"\d{8}_\d{6}_[0-9a-f]{6}", "[session]")]}, {
        insta::assert_snapshot!("condensed", rendered(&next));
    });

    let parent = stage.session(&first).await;
    assert_eq!(parent.end_reason.as_deref(), Some("compression"));
    assert_eq!(parent.message_count, 27);
    assert_eq!(stage.stored(&first).await.len(), 27);
    let child = stage.session(&outcome.session).await;
    assert_eq!(child.parent_session_id, Some(first.clone()));
    assert_eq!(
        stage.stored(&outcome.session).await.len(),
        next.messages.len() + 1
    );
    let mut told = false;
    while let Ok(event) = events.try_recv() {
        if let TurnEvent::Compressed {
            previous, session, ..
        } = event
        {
            assert_eq!(
                (previous, session),
                (first.clone(), outcome.session.clone())
            );
            told = true;
        }
    }
    assert!(told);
    // Nobody holds the lock any more.
    let locked = first.clone();
    assert!(
        stage
            .state
            .run(move |database| database.lock_compression(
                &locked,
                "other",
                Duration::from_secs(1)
            ))
            .await
            .unwrap()
    );
    // A resume of the parent finds the child, with the same bytes.
    stage.script.push(say("thanks"));
    let mut resumed = stage.resumed(&first).await;
    assert_eq!(resumed.session_id(), &outcome.session);
    resumed.turn("ok").await;
    assert_eq!(
        stage.script.last().messages[..next.messages.len()],
        next.messages[..]
    );
}

#[tokio::test]
async fn the_request_stays_word_for_word_when_it_is_condensed_away() {
    let task = "Rename every `foo` to `bar`,\n  but keep   the spacing.";
    let mut answers = vec![say("ready")];
    answers.extend(
        (0..30).map(|n| sized(call("terminal", json!({"command": format!("{n}")})), 1_000)),
    );
    answers.push(sized(call("terminal", json!({"command": "last"})), 150_000));
    answers.push(say("summary text"));
    answers.push(say("done"));
    let mut stage = Stage::new(answers).tool(Fake::text("terminal", &"x".repeat(4_000)));
    stage.options.compression.protect_first = 1;
    let mut agent = stage.agent();
    agent.turn("hello").await;
    agent.turn(task).await;
    let sent = stage.script.last();
    let summary = sent
        .messages
        .iter()
        .map(|m| m.content.text())
        .find(|text| text.contains(PREFIX))
        .unwrap();
    assert!(
        summary.contains(&format!("<request>\n{task}\n</request>")),
        "{summary}"
    );
    assert!(summary.contains("summary text"));
}

#[tokio::test]
async fn a_second_time_the_summary_is_updated_not_nested() {
    let mut stage = long_turn(64_000, 70_000);
    stage.options.compression.protect_first = 1;
    let mut agent = stage.agent();
    agent.turn("first part").await;
    for n in 0..20 {
        stage.script.push(sized(
            call("terminal", json!({"command": format!("more {n}")})),
            9_000,
        ));
    }
    stage.script.push(sized(
        call("terminal", json!({"command": "full again"})),
        70_000,
    ));
    stage.script.push(say("Goal: both parts."));
    stage.script.push(say("both done"));
    agent.turn("second part").await;
    let asked = stage.script.request(stage.script.asked() - 2).messages[0]
        .content
        .text();
    assert!(asked.contains("<previous>\n"), "{asked}");
    assert!(asked.contains("Done: 1 to 11."));
    let sent = stage.script.last();
    let summaries = sent
        .messages
        .iter()
        .filter(|m| m.content.text().contains(PREFIX))
        .count();
    assert_eq!(summaries, 1, "{}", rendered(&sent));
}

#[tokio::test]
async fn an_overflow_is_condensed_and_asked_again() {
    let mut answers: Vec<Answer> = (0..10)
        .map(|n| call("terminal", json!({"command": format!("{n}")})))
        .collect();
    answers.push(fail(ErrorClass::ContextOverflow));
    answers.push(say("summary"));
    answers.push(say("done"));
    let stage = Stage::new(answers).tool(Fake::text("terminal", &"x".repeat(3_000)));
    let mut agent = stage.agent();
    assert_eq!(agent.turn("go").await.answer, "done");
}

#[tokio::test]
async fn without_compression_an_overflow_is_explained() {
    let mut stage = Stage::new(vec![fail(ErrorClass::ContextOverflow)]);
    stage.options.compression.enabled = false;
    let outcome = stage.agent().turn("go").await;
    assert_eq!(outcome.reason, StopReason::Failed);
    assert!(outcome.error.unwrap().contains("/compress"));
    assert_eq!(stage.script.asked(), 1);
}

#[tokio::test]
async fn when_no_summary_can_be_had_rules_write_one() {
    let mut answers: Vec<Answer> = (1..13)
        .map(|n| {
            sized(
                call("terminal", json!({"command": format!("part {n}")})),
                10_000,
            )
        })
        .collect();
    answers.push(sized(
        call("terminal", json!({"command": "part 13"})),
        70_000,
    ));
    answers.push(fail(ErrorClass::Server));
    answers.push(say("done"));
    let stage = Stage::on(
        hermes_testkit::TestHome::new(),
        Script::with_window(answers, 64_000),
    )
    .tool(Fake::text("terminal", &"counted ".repeat(100)));
    let mut agent = stage.agent();
    assert_eq!(agent.turn("count").await.answer, "done");
    let text = rendered(&stage.script.last());
    assert!(text.contains("Written without a model"), "{text}");
}

#[tokio::test]
async fn when_told_to_abort_nothing_is_changed() {
    let mut answers: Vec<Answer> = (1..13)
        .map(|n| {
            sized(
                call("terminal", json!({"command": format!("part {n}")})),
                10_000,
            )
        })
        .collect();
    answers.push(sized(
        call("terminal", json!({"command": "part 13"})),
        70_000,
    ));
    answers.push(fail(ErrorClass::Server));
    answers.push(say("done"));
    let mut stage = Stage::on(
        hermes_testkit::TestHome::new(),
        Script::with_window(answers, 64_000),
    )
    .tool(Fake::text("terminal", "ok"));
    stage.options.compression.abort_on_failure = true;
    let mut agent = stage.agent();
    let id = agent.session_id().clone();
    assert_eq!(agent.turn("count").await.session, id);
    assert_eq!(stage.script.last().messages.len(), 27);
}

#[tokio::test]
async fn a_session_that_somebody_else_condenses_is_left_to_them() {
    let stage = long_turn(64_000, 70_000);
    let mut agent = stage.agent();
    let id = agent.session_id().clone();
    // The row must exist before it can be locked by another process.
    let locked = id.clone();
    stage
        .state
        .run(move |database| {
            database.lock_compression(&locked, "other process", Duration::from_secs(300))
        })
        .await
        .unwrap();
    // Without a summary request the script's next answer is the final one.
    let outcome = agent.turn("count").await;
    assert_eq!(outcome.answer, "Goal: count the parts. Done: 1 to 11.");
    assert_eq!(outcome.session, id);
}

#[tokio::test]
async fn condensing_on_request_gives_a_topic_its_space() {
    let mut answers: Vec<Answer> = (0..8).map(|n| say(&format!("answer {n}"))).collect();
    answers.push(say("about the build"));
    let stage = Stage::new(answers);
    let mut agent = stage.agent();
    for n in 0..8 {
        agent
            .turn(format!("question {n} {}", "x".repeat(4000)))
            .await;
    }
    assert!(
        agent
            .compress_now(&hermes_agent::CompressWish {
                topic: Some("the build".into()),
                keep: None,
            })
            .await
            .unwrap()
    );
    let asked = stage.script.last().messages[0].content.text();
    assert!(asked.contains("everything about: the build"));
}

#[tokio::test]
async fn a_short_conversation_is_condensed_for_who_asks() {
    let stage = Stage::new(vec![say("a"), say("b"), say("about letters")]);
    let mut agent = stage.agent();
    agent.turn("one").await;
    assert!(!agent.compress_now(&Default::default()).await.unwrap());
    agent.turn("two").await;
    let before = agent.session_id().clone();
    assert!(agent.compress_now(&Default::default()).await.unwrap());
    assert_ne!(*agent.session_id(), before);
}

#[tokio::test]
async fn a_summary_of_the_reference_is_brought_up_to_date_not_nested() {
    let stage = Stage::new(vec![say("first"), say("Goal: new and old."), say("on")]);
    let mut agent = stage.agent();
    agent.turn("hello").await;
    let id = agent.session_id().clone();
    let mut rows = vec![
        hermes_types::Message::user(
            "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted.\nold fact 17",
        ),
        hermes_types::Message::assistant("understood"),
    ];
    for n in 0..8 {
        rows.push(hermes_types::Message::user(format!("step {n}")));
        rows.push(hermes_types::Message::assistant("x".repeat(8_000)));
    }
    let target = id.clone();
    stage
        .state
        .run(move |database| {
            let rows: Vec<_> = rows.into_iter().map(Into::into).collect();
            database.append_batch(&target, &rows)
        })
        .await
        .unwrap();
    let mut resumed = stage.resumed(&id).await;
    assert!(resumed.compress_now(&Default::default()).await.unwrap());
    let asked = stage.script.last().messages[0].content.text().to_owned();
    let previous = asked.split_once("<previous>").unwrap().1;
    assert!(
        previous
            .split_once("</previous>")
            .unwrap()
            .0
            .contains("old fact 17")
    );
    resumed.turn("go on").await;
    let sent = stage.script.last();
    let summaries = sent
        .messages
        .iter()
        .filter(|message| hermes_agent::compress::is_summary(message))
        .count();
    assert_eq!(summaries, 1);
    assert!(!rendered(&sent).contains("CONTEXT COMPACTION"));
}
