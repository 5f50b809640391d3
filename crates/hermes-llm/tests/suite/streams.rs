//! Streams that break, fall silent, end oddly or are not wanted any more.

use std::time::Duration;

use futures_util::StreamExt;
use hermes_llm::wire::ApiMode;
use hermes_llm::{Delta, ErrorClass, FinishReason, Model, Timeouts};
use hermes_testkit::model::{Gate, ModelServer, Reply};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::support::{ask, endpoint, hello, model, model_of, next, text};

#[tokio::test]
async fn a_connection_that_breaks_before_anything_was_said_is_made_again() {
    let server = ModelServer::start();
    server
        .push(Reply::hang_up())
        .push(Reply::empty().then_cut())
        .push(Reply::text("ok"));
    assert_eq!(text(&model(&server)).await.unwrap(), "ok");
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn text_that_was_read_is_not_asked_for_again() {
    for reply in [
        Reply::text("half").then_cut(),
        Reply::text("half").then_reset(),
        Reply::text("half").then_raw("data: {\"choices\": [{\"de\n\n"),
        Reply::text("half")
            .then_raw("data: {\"error\": {\"code\": 502, \"message\": \"upstream\"}}\n\n"),
    ] {
        let server = ModelServer::start();
        server.push(reply);
        let model = model(&server);
        let mut stream = model.stream(&hello()).await.unwrap();
        assert_eq!(next(&mut stream).await, Delta::Text("half".to_owned()));
        let error = stream.next().await.unwrap().unwrap_err();
        assert_eq!(error.class, ErrorClass::Dropped);
        assert!(stream.next().await.is_none());
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn half_a_call_is_asked_for_again_and_consumers_are_told() {
    let server = ModelServer::start();
    server
        .push(
            Reply::text("half")
                .then_call_text("write_file", "{\"path\": ")
                .then_cut(),
        )
        .push(Reply::text("whole").then_call("write_file", json!({"path": "a"})));
    let model = model(&server);
    let mut stream = model.stream(&hello()).await.unwrap();
    let mut deltas = Vec::new();
    while let Some(delta) = stream.next().await {
        deltas.push(delta.unwrap());
    }
    let restart = deltas.iter().position(|d| *d == Delta::Restarted).unwrap();
    assert_eq!(deltas[0], Delta::Text("half".to_owned()));
    assert!(matches!(&deltas[restart + 1], Delta::Notice(_)));
    assert_eq!(deltas[restart + 2], Delta::Text("whole".to_owned()));
    assert_eq!(deltas.last(), Some(&Delta::Finish(FinishReason::ToolCalls)));
}

#[tokio::test]
async fn a_call_that_is_lost_again_and_again_is_named() {
    let server = ModelServer::start();
    server.fallback(|_| {
        Reply::empty()
            .then_call_text("write_file", "{\"path\": ")
            .then_cut()
    });
    let error = ask(&model(&server), &hello()).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Dropped);
    assert!(error.message.contains("write_file"), "{}", error.message);
}

#[tokio::test]
async fn a_stream_without_a_last_event_is_complete_when_the_body_ends() {
    let server = ModelServer::start();
    server.push(Reply::text("all of it").without_finish());
    let answer = ask(&model(&server), &hello()).await.unwrap();
    assert_eq!(
        (answer.text.as_str(), answer.finish),
        ("all of it", Some(FinishReason::Stop))
    );
    assert_eq!(answer.notices.len(), 1, "people are told");
}

#[tokio::test]
async fn a_body_that_ends_in_the_middle_of_an_answer_is_a_broken_connection() {
    for mode in [
        ApiMode::ChatCompletions,
        ApiMode::AnthropicMessages,
        ApiMode::Responses,
        ApiMode::Gemini,
    ] {
        if mode != ApiMode::ChatCompletions {
            let server = ModelServer::start();
            server.push(Reply::text("half").without_finish());
            let error = text(&model_of(endpoint(&server, mode))).await.unwrap_err();
            assert_eq!(error.class, ErrorClass::Dropped, "{mode:?}");
            assert_eq!(server.requests().len(), 1, "{mode:?}: read text is kept");
        }
        // A call whose arguments never came is asked for again.
        let server = ModelServer::start();
        server
            .push(
                Reply::empty()
                    .then_call_text("terminal", "")
                    .without_finish(),
            )
            .push(Reply::tool_call("terminal", json!({"command": "ls"})));
        let answer = ask(&model_of(endpoint(&server, mode)), &hello())
            .await
            .unwrap();
        assert_eq!(answer.calls.len(), 1, "{mode:?}");
        assert_eq!(answer.calls[0].arguments, r#"{"command":"ls"}"#);
        assert_eq!(server.requests().len(), 2, "{mode:?}");
    }
}

#[tokio::test]
async fn a_provider_that_says_why_it_stopped_but_never_ends_is_taken_at_its_word() {
    let server = ModelServer::start();
    let gate = Gate::new();
    let finish = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    server.push(
        Reply::text("done")
            .then_raw(format!("data: {finish}\n\n"))
            .then_stall(&gate)
            .without_finish(),
    );
    assert_eq!(text(&model(&server)).await.unwrap(), "done");
}

#[tokio::test]
async fn a_silent_stream_is_cut_and_asked_again() {
    let server = ModelServer::start();
    let (first, second) = (Gate::new(), Gate::new());
    server
        .push(Reply::text("never").held_by(&first))
        .push(
            Reply::empty()
                .then_raw(": keep-alive\n\n")
                .then_stall(&second),
        )
        .push(Reply::text("ok"));
    let mut endpoint = endpoint(&server, ApiMode::ChatCompletions);
    endpoint.timeouts = Timeouts {
        stale: Some(Duration::from_millis(150)),
        ..Timeouts::default()
    };
    assert_eq!(text(&model_of(endpoint)).await.unwrap(), "ok");
    server.abandoned(2).await;
}

#[tokio::test]
async fn keep_alives_do_not_count_as_an_answer() {
    let server = ModelServer::start();
    let gate = Gate::new();
    server.push(
        Reply::text("half")
            .then_raw(": keep-alive\n\n")
            .then_stall(&gate),
    );
    let mut endpoint = endpoint(&server, ApiMode::ChatCompletions);
    endpoint.timeouts = Timeouts {
        stale: Some(Duration::from_millis(150)),
        ..Timeouts::default()
    };
    let error = ask(&model_of(endpoint), &hello()).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Dropped);
    server.abandoned(1).await;
}

#[tokio::test]
async fn the_whole_answer_has_a_limit_too() {
    let server = ModelServer::start();
    let gate = Gate::new();
    server.fallback(move |_| Reply::text("half").then_stall(&gate));
    let mut endpoint = endpoint(&server, ApiMode::ChatCompletions);
    endpoint.timeouts = Timeouts {
        total: Duration::from_millis(200),
        ..Timeouts::default()
    };
    let error = ask(&model_of(endpoint), &hello()).await.unwrap_err();
    assert!(error.message.contains("took longer"), "{}", error.message);
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection_at_once() {
    let server = ModelServer::start();
    let gate = Gate::new();
    server.push(Reply::text("first").then_stall(&gate));
    let model = model(&server);
    let mut stream = model.stream(&hello()).await.unwrap();
    next(&mut stream).await;
    gate.reached().await;
    drop(stream);
    tokio::time::timeout(Duration::from_secs(1), server.abandoned(1))
        .await
        .unwrap();
}

#[tokio::test]
async fn dropping_the_request_before_it_is_answered_closes_the_connection_at_once() {
    let server = ModelServer::start();
    let gate = Gate::new();
    server.push(Reply::text("never").held_by(&gate));
    let model = model(&server);
    let request = hello();
    let asking = model.stream(&request);
    tokio::select! {
        _ = asking => panic!("answered"),
        () = gate.reached() => {}
    }
    tokio::time::timeout(Duration::from_secs(1), server.abandoned(1))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_gap_in_a_responses_stream_has_a_limit_of_its_own() {
    let server = ModelServer::start();
    let gate = Gate::new();
    server
        .push(Reply::empty().then_reasoning("hm").then_stall(&gate))
        .push(Reply::text("ok"));
    let mut endpoint = endpoint(&server, ApiMode::Responses);
    endpoint.timeouts.responses_stale = Some(Duration::from_millis(150));
    assert_eq!(text(&model_of(endpoint)).await.unwrap(), "ok");
    server.abandoned(1).await;
}
