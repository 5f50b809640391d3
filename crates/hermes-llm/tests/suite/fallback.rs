use std::sync::Arc;
use std::time::Duration;

use hermes_llm::wire::ApiMode;
use hermes_llm::{ErrorClass, FallbackChain, Keys, Model, ProviderModel};
use hermes_testkit::model::{ModelServer, Reply};
use pretty_assertions::assert_eq;

use super::support::{ask, endpoint, hello, setup, text};

fn named(server: &ModelServer, provider: &str, has_fallback: bool) -> ProviderModel {
    let mut endpoint = endpoint(server, ApiMode::ChatCompletions);
    endpoint.provider = provider.to_owned();
    let mut setup = setup(endpoint, Keys::Fixed);
    setup.has_fallback = has_fallback;
    ProviderModel::new(setup)
}

fn chain(first: &ModelServer, second: &ModelServer) -> FallbackChain {
    FallbackChain::new(
        Arc::new(named(first, "first", true)),
        vec![Arc::new(named(second, "second", false))],
    )
}

#[tokio::test]
async fn a_failing_provider_is_left_and_the_next_turn_returns_to_it() {
    let (first, second) = (ModelServer::start(), ModelServer::start());
    let chain = chain(&first, &second);
    for _ in 0..3 {
        first.push(Reply::error(503, "overloaded"));
    }
    second
        .push(Reply::text("from second"))
        .push(Reply::text("still second"));
    let answer = ask(&chain, &hello()).await.unwrap();
    assert_eq!(answer.text, "from second");
    assert!(answer.notices[0].contains("first") && answer.notices[0].contains("second"));
    assert_eq!(chain.provider(), "second");
    assert_eq!(first.requests().len(), 3);
    // The same turn stays where it was answered.
    assert_eq!(text(&chain).await.unwrap(), "still second");
    chain.begin_turn();
    first.push(Reply::text("from first"));
    assert_eq!(text(&chain).await.unwrap(), "from first");
}

#[tokio::test]
async fn a_rate_limit_switches_at_once_and_rests_the_provider() {
    let (first, second) = (ModelServer::start(), ModelServer::start());
    first.push(Reply::error(429, "slow down"));
    second.fallback(|_| Reply::text("from second"));
    let resting = chain(&first, &second);
    assert_eq!(text(&resting).await.unwrap(), "from second");
    assert_eq!(first.requests().len(), 1);
    resting.begin_turn();
    assert_eq!(text(&resting).await.unwrap(), "from second");

    let rested = chain(&first, &second).with_rest(Duration::ZERO);
    first
        .push(Reply::error(429, "slow down"))
        .push(Reply::text("from first"));
    assert_eq!(text(&rested).await.unwrap(), "from second");
    rested.begin_turn();
    assert_eq!(text(&rested).await.unwrap(), "from first");
}

#[tokio::test]
async fn what_another_provider_cannot_mend_is_not_passed_on() {
    for (status, message, class) in [
        (
            400,
            "maximum context length is 8192 tokens",
            ErrorClass::ContextOverflow,
        ),
        (
            404,
            "no endpoints match your data policy",
            ErrorClass::ProviderPolicy,
        ),
        (413, "big", ErrorClass::PayloadTooLarge),
    ] {
        let (first, second) = (ModelServer::start(), ModelServer::start());
        first.fallback(move |_| Reply::error(status, message));
        let error = text(&chain(&first, &second)).await.unwrap_err();
        assert_eq!(error.class, class);
        assert!(second.requests().is_empty(), "{message}");
    }
}

#[tokio::test]
async fn when_all_fail_the_last_error_tells_the_whole_story() {
    let (first, second) = (ModelServer::start(), ModelServer::start());
    first.fallback(|_| Reply::error(401, "bad key"));
    second.fallback(|_| Reply::error(500, "boom"));
    let error = text(&chain(&first, &second)).await.unwrap_err();
    assert_eq!(error.message, "HTTP 500: boom");
    assert!(
        error
            .tried
            .iter()
            .any(|line| line.contains("first: HTTP 401: bad key")),
        "{:?}",
        error.tried
    );
    assert_eq!((first.requests().len(), second.requests().len()), (1, 3));
}

#[tokio::test]
async fn a_model_whose_answers_are_worthless_is_left_on_request() {
    let (first, second) = (ModelServer::start(), ModelServer::start());
    second.push(Reply::text("from second"));
    let chain = chain(&first, &second);
    assert!(chain.fall_back());
    assert_eq!(text(&chain).await.unwrap(), "from second");
    assert!(!chain.fall_back(), "there is no third");
    chain.begin_turn();
    assert_eq!(chain.provider(), "first");
}
