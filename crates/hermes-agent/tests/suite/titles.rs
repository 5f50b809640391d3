//! Names of sessions.

use std::sync::Arc;

use hermes_agent::spend::{Limit, Spend, SpendLimits};
use hermes_agent::{Agent, Conversation};
use hermes_llm::ErrorClass;
use hermes_types::{SessionId, TurnEvent};
use pretty_assertions::assert_eq;
use tokio::sync::Notify;

use super::support::*;

/// Runs these questions one after the other and closes the conversation.
async fn conversation(stage: &Stage, titler: &Arc<Script>, questions: &[&str]) -> SessionId {
    let mut setup = stage.setup();
    setup.titler = Some(titler.clone());
    let (conversation, mut events) =
        Conversation::start(|control, events| Agent::new(setup, control, events));
    for question in questions {
        conversation.send(*question).unwrap();
        while !matches!(events.recv().await, Some(TurnEvent::Finished { .. })) {}
    }
    conversation.close(None).await.unwrap()
}

async fn title(stage: &Stage, id: &SessionId) -> Option<String> {
    stage.session(id).await.title
}

#[tokio::test]
async fn a_session_is_named_after_its_first_exchange_and_the_name_is_paid_for() {
    let stage = Stage::new(vec![say_using("A heron.", 100), say_using("Yes.", 100)]);
    let titler = Script::new(vec![say_using("\"Birds at the lake\"", 40)]);
    let id = conversation(&stage, &titler, &["What bird is that?", "Sure?"]).await;
    assert_eq!(title(&stage, &id).await.unwrap(), "Birds at the lake");
    assert_eq!(titler.asked(), 1, "one name is enough");
    let asked = titler.last().messages[0].content.text();
    assert!(asked.contains("What bird is that?") && asked.contains("A heron."));
    let row = stage.session(&id).await;
    assert_eq!((row.input_tokens, row.api_call_count), (240, 3));
}

#[tokio::test]
async fn a_name_that_is_taken_gets_a_number() {
    let stage = Stage::new(vec![say("a"), say("b")]);
    let titler = Script::new(vec![say("Birds"), say("Birds")]);
    let first = conversation(&stage, &titler, &["x"]).await;
    let second = conversation(&stage, &titler, &["x"]).await;
    assert_eq!(title(&stage, &first).await.unwrap(), "Birds");
    assert_eq!(title(&stage, &second).await.unwrap(), "Birds #2");
}

#[tokio::test]
async fn a_failure_costs_only_the_name_and_is_made_up_for_with_the_second_answer() {
    let stage = Stage::new(vec![say("a"), say("b"), say("c")]);
    let titler = Script::new(vec![fail(ErrorClass::Server), say("Second try"), say("no")]);
    let id = conversation(&stage, &titler, &["x", "y", "z"]).await;
    assert_eq!(title(&stage, &id).await.unwrap(), "Second try");
    assert_eq!(titler.asked(), 2);
}

#[tokio::test]
async fn a_name_given_by_a_person_meanwhile_stays() {
    let stage = Stage::new(vec![say("a")]);
    let go = Arc::new(Notify::new());
    let mut slow = say("Machine name");
    slow.insert(0, Step::Wait(go.clone()));
    let titler = Script::new(vec![slow]);
    let mut setup = stage.setup();
    setup.titler = Some(titler.clone());
    let (conversation, mut events) =
        Conversation::start(|control, events| Agent::new(setup, control, events));
    conversation.send("x").unwrap();
    while !matches!(events.recv().await, Some(TurnEvent::Finished { .. })) {}
    let id = conversation.session().unwrap();
    let mine = id.clone();
    stage
        .state
        .run(move |database| database.set_title(&mine, "Mine"))
        .await
        .unwrap();
    go.notify_one();
    conversation.close(None).await;
    assert_eq!(title(&stage, &id).await.unwrap(), "Mine");
}

#[tokio::test]
async fn an_exhausted_budget_pays_for_no_name() {
    let mut stage = Stage::new(vec![say_using("a", 4_000)]);
    let limits = SpendLimits {
        per_day: Limit {
            usd: None,
            tokens: Some(4_300),
        },
        ..SpendLimits::default()
    };
    stage.spend = Spend::new(limits, Some(stage.state.clone()), stage.clock.clone());
    let titler = Script::new(vec![say("Birds")]);
    let id = conversation(&stage, &titler, &["x"]).await;
    assert_eq!((title(&stage, &id).await, titler.asked()), (None, 0));
}
