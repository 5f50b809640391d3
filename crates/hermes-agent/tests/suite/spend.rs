//! Limits on tokens and money.

use std::sync::Arc;

use hermes_agent::spend::{Limit, Spend, SpendLimits};
use hermes_tools::StateHandle;
use hermes_types::{StopReason, Usage};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::support::*;

fn tokens(limit: u64) -> Limit {
    Limit {
        usd: None,
        tokens: Some(limit),
    }
}

fn usage(input: u64) -> Step {
    Step::Delta(hermes_llm::Delta::Usage(Usage {
        input,
        output: 0,
        ..Usage::default()
    }))
}

fn costing(mut answer: Answer, input: u64) -> Answer {
    answer.push(usage(input));
    answer
}

#[tokio::test]
async fn a_turn_stops_at_its_limit_and_goes_on_when_it_is_raised() {
    let again = |n: usize| costing(call("terminal", json!({"count": n})), 30_000);
    let mut stage = Stage::new(vec![
        again(1),
        again(2),
        again(3),
        costing(say("done"), 100),
    ])
    .tool(Fake::terminal(0));
    let limits = |turn: Limit| SpendLimits {
        per_turn: turn,
        ..SpendLimits::default()
    };
    stage.spend = Spend::new(limits(tokens(50_000)), None, stage.clock.clone());
    let mut agent = stage.agent();
    let outcome = agent.turn("go").await;
    assert_eq!(outcome.reason, StopReason::Budget);
    assert!(
        outcome
            .error
            .as_ref()
            .unwrap()
            .contains("60000 of 50000 tokens; raise budget.per_turn"),
        "{outcome:?}"
    );
    assert_eq!(stage.script.asked(), 2);
    // Everything so far is kept; a higher limit lets it finish.
    let id = agent.session_id().clone();
    stage.spend = Spend::new(limits(tokens(500_000)), None, stage.clock.clone());
    let outcome = stage.resumed(&id).await.turn("go on").await;
    assert_eq!(outcome.answer, "done");
}

#[tokio::test]
async fn the_day_is_shared_by_conversations_and_processes() {
    let stage = Stage::new(vec![costing(say("one"), 4_000), costing(say("two"), 4_000)]);
    let limits = SpendLimits {
        per_day: tokens(9_000),
        ..SpendLimits::default()
    };
    // Two handles on one file stand for two processes.
    let other = StateHandle::open(stage.state.path().clone(), stage.clock.clone()).unwrap();
    let ledgers = [stage.state.clone(), other, stage.state.clone()];
    let mut reasons = Vec::new();
    for ledger in ledgers {
        let mut setup = stage.setup();
        setup.spend = Spend::new(limits, Some(ledger), stage.clock.clone());
        let mut agent =
            hermes_agent::Agent::new(setup, Arc::default(), hermes_agent::Events::nowhere());
        reasons.push(agent.turn("hi").await.reason);
    }
    assert_eq!(
        reasons,
        [
            StopReason::Answered,
            StopReason::Answered,
            StopReason::Budget
        ]
    );
}

#[tokio::test]
async fn parallel_calls_cannot_pass_the_limit_together() {
    let stage = Stage::new(vec![]);
    let limits = SpendLimits {
        per_day: tokens(1_000),
        ..SpendLimits::default()
    };
    let spend = Spend::new(limits, Some(stage.state.clone()), stage.clock.clone());
    let one = hermes_agent::spend::Amount {
        usd: 0.0,
        tokens: 400.0,
    };
    let first = spend.reserve(one).await.unwrap();
    let second = spend.reserve(one).await.unwrap();
    assert!(spend.reserve(one).await.is_err());
    first
        .settle(hermes_agent::spend::Amount::default())
        .await
        .unwrap();
    let third = spend.reserve(one).await.unwrap();
    second.settle(one).await.unwrap();
    third.settle(one).await.unwrap();
    assert!(spend.reserve(one).await.is_err());
}

#[tokio::test]
async fn a_session_keeps_its_counter_when_it_is_resumed() {
    let mut stage = Stage::new(vec![costing(say("one"), 6_000)]);
    let limits = SpendLimits {
        per_session: tokens(7_000),
        ..SpendLimits::default()
    };
    stage.spend = Spend::new(limits, Some(stage.state.clone()), stage.clock.clone());
    let mut agent = stage.agent();
    assert_eq!(agent.turn("hi").await.reason, StopReason::Answered);
    let id = agent.session_id().clone();
    stage.spend = Spend::new(limits, Some(stage.state.clone()), stage.clock.clone());
    let outcome = stage.resumed(&id).await.turn("more").await;
    assert_eq!(outcome.reason, StopReason::Budget);
    assert!(outcome.error.unwrap().contains("budget.per_session"));
}

#[tokio::test]
async fn an_unknown_price_is_said_once_and_only_tokens_bind() {
    let mut stage = Stage::new(vec![costing(say("one"), 5_000), costing(say("two"), 5_000)]);
    let limits = SpendLimits {
        per_turn: Limit {
            usd: Some(0.01),
            tokens: None,
        },
        ..SpendLimits::default()
    };
    stage.spend = Spend::new(limits, None, stage.clock.clone());
    let (mut agent, mut events) = stage.agent_with_events();
    assert_eq!(agent.turn("a").await.reason, StopReason::Answered);
    assert_eq!(agent.turn("b").await.reason, StopReason::Answered);
    let mut notices = 0;
    while let Ok(event) = events.try_recv() {
        if let hermes_types::TurnEvent::Warning { text } = event {
            assert!(text.contains("no price is known"), "{text}");
            notices += 1;
        }
    }
    assert_eq!(notices, 1);
    let standing = stage.spend.nearest().await.unwrap().unwrap();
    assert!(standing.contains("dollars do not bind"), "{standing}");
}

/// A subagent must not start the turn's count anew.
#[tokio::test]
async fn what_subagents_spend_counts_to_the_turn() {
    let mut stage = Stage::new(vec![
        costing(
            call(
                "delegate_task",
                json!({"goal": "one", "toolsets": ["file"]}),
            ),
            20_000,
        ),
        costing(
            call(
                "delegate_task",
                json!({"goal": "two", "toolsets": ["file"]}),
            ),
            20_000,
        ),
        costing(say("done"), 20_000),
    ])
    .tool(Fake::text("read_file", "x"));
    let limits = SpendLimits {
        per_turn: tokens(70_000),
        ..SpendLimits::default()
    };
    stage.spend = Spend::new(limits, None, stage.clock.clone());
    let children = Script::new(vec![
        costing(say("first"), 20_000),
        costing(say("second"), 20_000),
    ]);
    let mut setup = stage.setup();
    let tool = hermes_agent::DelegateTool::new(
        setup.clone(),
        Some(children.clone()),
        hermes_agent::DelegationLimits::default(),
    );
    setup.tools.add(tool);
    let mut agent = hermes_agent::Agent::new(
        setup,
        stage.control.clone(),
        hermes_agent::Events::nowhere(),
    );
    let outcome = agent.turn("go").await;
    assert_eq!(outcome.reason, StopReason::Budget, "{outcome:?}");
    assert!(
        outcome.error.as_ref().unwrap().contains("budget.per_turn"),
        "{outcome:?}"
    );
    // 20,000 four times are 80,000; the fifth request is never sent.
    assert_eq!((stage.script.asked(), children.asked()), (2, 2));
}
