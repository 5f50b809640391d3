//! One provider over real sockets: retries, forms, faults in the middle, silence.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::StreamExt;
use hermes_llm::wire::ApiMode;
use hermes_llm::{Delta, ErrorClass, FinishReason, Model, Request, RequestLimits, Timeouts};
use hermes_testkit::model::{Gate, ModelServer, Reply, Tokens};
use hermes_types::{Content, Message, Part, ToolCall, ToolSpec, Usage};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::sync::Arc;

use super::support::{ask, endpoint, hello, model, model_of, next, text};

#[tokio::test]
async fn an_answer_arrives_delta_by_delta() {
    let server = ModelServer::start();
    server.push(
        Reply::reasoning("hm")
            .then_text("hello")
            .then_call("t", json!({"a": 1}))
            .in_pieces(3)
            .usage(Tokens {
                prompt: 10,
                completion: 4,
                cached: 6,
                reasoning: 2,
                ..Tokens::default()
            }),
    );
    let answer = ask(&model(&server), &hello()).await.unwrap();
    assert_eq!(
        (answer.reasoning.as_str(), answer.text.as_str()),
        ("hm", "hello")
    );
    assert_eq!(answer.calls[0].arguments, r#"{"a":1}"#);
    assert_eq!(answer.finish, Some(FinishReason::ToolCalls));
    assert_eq!(
        answer.usage,
        Some(Usage {
            input: 4,
            output: 4,
            cache_read: 6,
            cache_write: 0,
            reasoning: 2
        })
    );
    let request = &server.requests()[0];
    assert_eq!(request.header("authorization"), Some("Bearer test-key"));
    assert_eq!(request.body["stream"], true);
}

#[tokio::test]
async fn every_format_carries_a_whole_conversation_streamed_and_not() {
    for mode in [
        ApiMode::ChatCompletions,
        ApiMode::AnthropicMessages,
        ApiMode::Responses,
        ApiMode::Gemini,
    ] {
        for no_stream in [false, true] {
            let server = ModelServer::start();
            let tokens = Tokens {
                prompt: 10,
                completion: 4,
                cached: 6,
                ..Tokens::default()
            };
            server
                .push(
                    Reply::reasoning("hm")
                        .then_text("Looking.")
                        .then_call("look", json!({"at": "a"}))
                        .usage(tokens),
                )
                .push(Reply::text("It is a."));
            let mut endpoint = endpoint(&server, mode);
            endpoint.form.mend.no_stream = no_stream;
            let model = model_of(endpoint);
            let mut request = rich_request();
            request.messages.truncate(1);
            let answer = ask(&model, &request).await.unwrap();
            assert_eq!(
                (answer.reasoning.as_str(), answer.text.as_str()),
                ("hm", "Looking."),
                "{mode:?}"
            );
            assert_eq!(answer.finish, Some(FinishReason::ToolCalls), "{mode:?}");
            assert_eq!(
                answer.usage,
                Some(Usage {
                    input: 4,
                    output: 4,
                    cache_read: 6,
                    ..Usage::default()
                }),
                "{mode:?}"
            );
            let message = answer.into_message();
            let call = message.tool_calls[0].clone();
            assert_eq!(
                (call.name.as_str(), call.arguments.as_str()),
                ("look", r#"{"at":"a"}"#),
                "{mode:?}"
            );
            request.messages.push(Arc::new(message));
            request
                .messages
                .push(Arc::new(Message::tool_result(&call, "a")));
            let answer = ask(&model, &request).await.unwrap();
            assert_eq!(
                (answer.text.as_str(), answer.finish),
                ("It is a.", Some(FinishReason::Stop)),
                "{mode:?}"
            );
            let sent = server.requests();
            assert_eq!(sent[0].streamed(), !no_stream, "{mode:?}");
            assert_eq!(sent[1].tool_names(), ["look"], "{mode:?}");
        }
    }
}

#[tokio::test]
async fn one_byte_at_a_time_is_the_same_answer() {
    let server = ModelServer::start();
    server.push(
        Reply::text("grüße")
            .then_call("t", json!({"ü": "ß"}))
            .bytes_per_write(1),
    );
    let answer = ask(&model(&server), &hello()).await.unwrap();
    assert_eq!(
        (answer.text.as_str(), answer.calls[0].arguments.as_str()),
        ("grüße", r#"{"ü":"ß"}"#)
    );
}

#[tokio::test]
async fn two_answers_use_one_connection() {
    let server = ModelServer::start();
    server.push(Reply::text("one")).push(Reply::text("two"));
    let model = model(&server);
    text(&model).await.unwrap();
    // What follows the last event is read in the background; let it.
    tokio::time::sleep(Duration::from_millis(50)).await;
    text(&model).await.unwrap();
    let ports: Vec<u16> = server.requests().iter().map(|r| r.client_port).collect();
    assert_eq!(ports[0], ports[1]);
}

#[tokio::test]
async fn a_429_with_retry_after_is_tried_again() {
    let server = ModelServer::start();
    server
        .push(Reply::error(429, "rate limit").header("Retry-After", 1))
        .push(Reply::text("ok"));
    assert_eq!(text(&model(&server)).await.unwrap(), "ok");
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn three_500s_are_the_end_and_say_what_was_tried() {
    let server = ModelServer::start();
    server.fallback(|_| Reply::error(500, "boom"));
    let error = text(&model(&server)).await.unwrap_err();
    assert_eq!((error.class, error.status), (ErrorClass::Server, Some(500)));
    assert_eq!(error.message, "HTTP 500: boom");
    assert_eq!(error.tried.len(), 2);
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn errors_that_time_does_not_heal_are_not_repeated() {
    for (status, message, class) in [
        (401, "bad key", ErrorClass::Authentication),
        (402, "pay", ErrorClass::Billing),
        (403, "no", ErrorClass::Authentication),
        (404, "model x does not exist", ErrorClass::ModelNotFound),
        (
            400,
            "a field that nobody knows is wrong",
            ErrorClass::BadRequest,
        ),
        (
            400,
            "this violates our usage policy",
            ErrorClass::ContentPolicy,
        ),
        (413, "too big", ErrorClass::PayloadTooLarge),
        (
            400,
            "maximum context length is 70000 tokens",
            ErrorClass::ContextOverflow,
        ),
    ] {
        let server = ModelServer::start();
        server.fallback(move |_| Reply::error(status, message));
        let error = text(&model(&server)).await.unwrap_err();
        assert_eq!(error.class, class, "{status} {message}");
        assert_eq!(server.requests().len(), 1, "{status} {message}");
        if class == ErrorClass::ContextOverflow {
            assert_eq!(error.context_limit, Some(70_000));
        }
    }
}

#[tokio::test]
async fn an_answer_without_content_is_a_failed_attempt() {
    let server = ModelServer::start();
    server
        .push(Reply::recorded("data: [DONE]\n\n"))
        .push(Reply::text("ok"));
    assert_eq!(text(&model(&server)).await.unwrap(), "ok");
    server.fallback(|_| Reply::recorded("data: [DONE]\n\n"));
    let error = text(&model(&server)).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Invalid);
    assert_eq!(server.requests().len(), 2 + 3);
}

/// A history with everything that an endpoint may refuse.
fn rich_request() -> Request {
    let mut request = hello();
    let call = ToolCall {
        id: "c".to_owned(),
        name: "look".to_owned(),
        arguments: "{}".to_owned(),
        extra: None,
    };
    let mut answer = Message::assistant("");
    answer.tool_calls = vec![call.clone()];
    answer.reasoning_details = Some(json!([
        {"type": "thinking", "thinking": "x", "signature": "s"},
        {"type": "reasoning", "summary": [], "encrypted_content": "e", "_issuer": "me"},
    ]));
    let picture = Content::Parts(vec![Part::Image {
        url: "data:image/png;base64,AAAA".to_owned(),
    }]);
    request.messages.push(Arc::new(answer));
    request
        .messages
        .push(Arc::new(Message::tool_result(&call, picture)));
    request.tools = Arc::from([ToolSpec {
        name: "look".to_owned(),
        description: String::new(),
        parameters: json!({"type": "object", "properties": {"p": {"type": "string", "pattern": "^a"}}}),
    }]);
    request.limits = RequestLimits {
        temperature: Some(0.5),
        max_output_tokens: Some(10),
        effort: None,
    };
    request
}

#[tokio::test]
async fn a_refused_form_is_given_up_once_and_remembered() {
    type Check = fn(&Value) -> bool;
    let cases: [(ApiMode, &str, Check); 8] = [
        (ApiMode::ChatCompletions, "failed to parse grammar", |b| {
            b.to_string().contains("pattern")
        }),
        (
            ApiMode::ChatCompletions,
            "tool message content must be a string",
            |b| b.to_string().contains("image_url"),
        ),
        (
            ApiMode::ChatCompletions,
            "image input is not supported by this model",
            |b| b.to_string().contains("AAAA"),
        ),
        (ApiMode::ChatCompletions, "stream is not supported", |b| {
            b["stream"] == true
        }),
        (
            ApiMode::ChatCompletions,
            "Unsupported value: 'temperature' is not supported",
            |b| !b["temperature"].is_null(),
        ),
        (
            ApiMode::ChatCompletions,
            "Unsupported parameter: 'max_tokens'",
            |b| !b["max_tokens"].is_null(),
        ),
        (
            ApiMode::AnthropicMessages,
            "Invalid `signature` in `thinking` block",
            |b| b.to_string().contains("signature"),
        ),
        (ApiMode::Responses, "invalid_encrypted_content", |b| {
            b.to_string().contains("encrypted_content\":\"e\"")
        }),
    ];
    for (mode, refusal, refused) in cases {
        let server = ModelServer::start();
        server.fallback(move |request| match refused(&request.body) {
            true => Reply::error(400, refusal),
            false => Reply::text("ok"),
        });
        let mut endpoint = endpoint(&server, mode);
        endpoint.form.first_party = true;
        let model = model_of(endpoint);
        let answer = ask(&model, &rich_request()).await;
        assert_eq!(answer.unwrap().text, "ok", "{refusal}");
        assert_eq!(server.requests().len(), 2, "{refusal}");
        ask(&model, &rich_request()).await.unwrap();
        assert_eq!(server.requests().len(), 3, "{refusal}: remembered");
    }
}

#[tokio::test]
async fn a_picture_that_is_too_large_is_left_out_of_this_request_only() {
    let server = ModelServer::start();
    server
        .push(Reply::error(400, "image exceeds 5 MB"))
        .push(Reply::text("ok"))
        .push(Reply::text("ok"));
    let model = model(&server);
    let answer = ask(&model, &rich_request()).await.unwrap();
    assert!(
        answer.notices[0].contains("picture"),
        "{:?}",
        answer.notices
    );
    ask(&model, &rich_request()).await.unwrap();
    let has_picture: Vec<bool> = server
        .requests()
        .iter()
        .map(|r| r.body.to_string().contains("AAAA"))
        .collect();
    assert_eq!(has_picture, [true, false, true]);
}

/// A picture of this size as a data URL.
fn picture_of(width: u32, height: u32) -> String {
    let mut bytes = std::io::Cursor::new(Vec::new());
    image::RgbImage::new(width, height)
        .write_to(&mut bytes, image::ImageFormat::Png)
        .unwrap();
    format!(
        "data:image/png;base64,{}",
        STANDARD.encode(bytes.into_inner())
    )
}

#[tokio::test]
async fn a_picture_that_is_too_large_is_scaled_and_the_next_one_before_it_is_sent() {
    let server = ModelServer::start();
    server
        .push(Reply::error(
            400,
            "image dimensions exceed max allowed size: 8000 pixels",
        ))
        .push(Reply::text("ok"))
        .push(Reply::text("ok"))
        .push(Reply::error(
            400,
            "image dimensions exceed max allowed size for many-image requests: 2000 pixels",
        ))
        .push(Reply::text("ok"))
        .push(Reply::error(400, "image exceeds 5 MB"))
        .push(Reply::text("ok"));
    let model = model(&server);
    let request = Request::new(
        "system",
        vec![Arc::new(Message::user(Content::Parts(vec![Part::Image {
            url: picture_of(8100, 3),
        }])))],
    );
    let first = ask(&model, &request).await.unwrap();
    assert!(
        first.notices[0].contains("scaled down"),
        "{:?}",
        first.notices
    );
    assert!(ask(&model, &request).await.unwrap().notices.is_empty());
    // Narrower still, and then there is nothing left but to leave it out.
    ask(&model, &request).await.unwrap();
    let last = ask(&model, &request).await.unwrap();
    assert!(last.notices[0].contains("left out"), "{:?}", last.notices);
    let sides: Vec<Option<u32>> = server
        .requests()
        .iter()
        .map(|request| {
            let url = request.messages()[1]["content"][0]["image_url"]["url"].as_str()?;
            let bytes = STANDARD.decode(url.split_once(',')?.1).unwrap();
            Some(image::load_from_memory(&bytes).unwrap().width())
        })
        .collect();
    assert_eq!(
        sides,
        [
            Some(8100),
            Some(8000),
            Some(8000),
            Some(8000),
            Some(2000),
            Some(2000),
            None
        ]
    );
}

#[tokio::test]
async fn a_form_that_is_refused_again_is_an_error() {
    let server = ModelServer::start();
    server.fallback(|_| Reply::error(400, "failed to parse grammar"));
    let error = text(&model(&server)).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::GrammarPattern);
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn the_room_that_a_provider_states_becomes_the_cap() {
    let server = ModelServer::start();
    server
        .push(Reply::error(
            400,
            "input length and `max_tokens` exceed context limit: 199000 + 32000 > 200000",
        ))
        .push(Reply::text("ok"));
    assert_eq!(text(&model(&server)).await.unwrap(), "ok");
    assert_eq!(server.requests()[1].body["max_tokens"], 1000 - 64);
}

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
async fn a_server_that_is_not_there_is_named() {
    let server = ModelServer::start();
    let mut endpoint = endpoint(&server, ApiMode::ChatCompletions);
    endpoint.base_url.set_port(Some(9)).unwrap();
    let error = text(&model_of(endpoint)).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Connection);
    assert_eq!(
        error.message,
        "cannot connect to http://127.0.0.1:9: Connection refused"
    );
}

#[tokio::test]
async fn a_redirect_says_where_the_endpoint_went() {
    let server = ModelServer::start();
    server.push(Reply::error(308, "").header("Location", "https://elsewhere.example/v1"));
    let error = text(&model(&server)).await.unwrap_err();
    assert!(
        error.message.contains("https://elsewhere.example/v1"),
        "{}",
        error.message
    );
}

#[tokio::test]
async fn json_instead_of_a_stream_is_understood() {
    let server = ModelServer::start();
    server.push(Reply::json(
        200,
        &json!({"choices": [{"message": {"content": "whole"}, "finish_reason": "stop"}]}),
    ));
    assert_eq!(text(&model(&server)).await.unwrap(), "whole");
    // An error that calls itself a success is an error.
    server.push(Reply::json(
        200,
        &json!({"error": {"code": 401, "message": "bad key"}}),
    ));
    let error = text(&model(&server)).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Authentication);
}

#[tokio::test]
async fn limits_of_the_account_are_read_from_the_headers() {
    let server = ModelServer::start();
    server.push(
        Reply::text("ok")
            .header("x-ratelimit-remaining-requests", 41)
            .header("x-openrouter-cache-status", "HIT"),
    );
    let model = model(&server);
    text(&model).await.unwrap();
    let limits = model.rate_limits();
    assert_eq!(limits.requests.remaining, Some(41));
    assert!(limits.served_from_cache);
}

#[tokio::test]
async fn what_the_provider_charges_is_passed_on() {
    let server = ModelServer::start();
    server.push(Reply::text("ok").charged(0.125));
    assert_eq!(
        ask(&model(&server), &hello()).await.unwrap().charged,
        Some(0.125)
    );
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

/// The dumps of a home, oldest first.
fn dumps(home: &hermes_testkit::TestHome) -> Vec<Value> {
    let mut paths: Vec<_> = std::fs::read_dir(home.path().join("sessions"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths
        .iter()
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            assert!(name.starts_with("request_dump_s1_"), "{name}");
            serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
        })
        .collect()
}

#[tokio::test]
async fn a_request_that_failed_for_good_is_written_down_without_its_key() {
    let server = ModelServer::start();
    let home = hermes_testkit::TestHome::new();
    let key = "sk-test-0123456789abcdefghij";
    let made = |variables: &[(&str, &str)]| {
        let mut endpoint = endpoint(&server, ApiMode::ChatCompletions);
        endpoint.key = Some(hermes_llm::Secret::new(key));
        let mut environment = hermes_home::Environment::default();
        for (name, value) in variables {
            environment.set(*name, *value);
        }
        let mut setup = super::support::setup(endpoint, hermes_llm::Keys::Fixed);
        setup.dumps = Some(hermes_llm::RequestDumps::of(
            &home.home(),
            &environment,
            hermes_home::Clock::System,
        ));
        hermes_llm::ProviderModel::new(setup)
    };
    let mut request = hello();
    request.session = Some("s1".into());
    let model = made(&[]);
    server.push(Reply::text("fine"));
    ask(&model, &request).await.unwrap();
    assert_eq!(dumps(&home).len(), 0, "nothing failed");
    // What compression will mend is no failure yet.
    server.push(Reply::error(413, "too large"));
    ask(&model, &request).await.unwrap_err();
    assert_eq!(dumps(&home).len(), 0);
    server.push(Reply::error(400, "no such thing"));
    ask(&model, &request).await.unwrap_err();
    let dump = &dumps(&home)[0];
    assert_eq!(dump["request"]["body"]["messages"][1]["content"], "hello");
    assert_eq!(dump["error"]["status"], 400);
    assert_eq!(
        dump["request"]["headers"]["authorization"],
        "Bearer sk-tes...ghij"
    );
    assert!(!dump.to_string().contains(key));
    server.push(Reply::text("fine"));
    ask(&made(&[("HERMES_DUMP_REQUESTS", "1")]), &request)
        .await
        .unwrap();
    assert_eq!(dumps(&home)[1]["reason"], "requested");
}

#[tokio::test]
async fn a_web_page_is_told_apart_from_an_answer_at_once() {
    let server = ModelServer::start();
    server.push(Reply::body(
        200,
        "text/html; charset=utf-8",
        "<html>hi</html>",
    ));
    let error = text(&model(&server)).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::BadRequest);
    assert!(error.message.contains("model.base_url"), "{error}");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn numbers_and_characters_that_cannot_be_do_no_harm() {
    let server = ModelServer::start();
    let most = u64::MAX;
    server.push(Reply::recorded(format!(
        "data: {{\"choices\": [{{\"delta\": {{\"content\": \"a\\ud800b\"}}, \"finish_reason\": \"stop\"}}]}}\n\n\
         data: {{\"choices\": [], \"usage\": {{\"prompt_tokens\": {most}, \"completion_tokens\": {most}}}}}\n\n\
         data: [DONE]\n\n"
    )));
    let answer = ask(&model(&server), &hello()).await.unwrap();
    assert_eq!(answer.text, "a\u{fffd}b");
    let mut usage = answer.usage.unwrap();
    usage += usage;
    assert!(usage.total() < 1 << 50, "{usage:?}");
}

#[tokio::test]
async fn a_portal_that_will_not_answer_for_long_is_left_alone_by_everybody() {
    let server = ModelServer::start();
    let home = hermes_testkit::TestHome::new();
    let made = || {
        let mut setup = super::support::setup(
            endpoint(&server, ApiMode::ChatCompletions),
            hermes_llm::Keys::Fixed,
        );
        setup.guard = Some(hermes_llm::RateGuard::of(
            &home.home(),
            hermes_home::Clock::System,
        ));
        hermes_llm::ProviderModel::new(setup)
    };
    // A short wait is waited for.
    server.push(Reply::error(429, "slow down").header("retry-after", 1));
    server.push(Reply::text("ok"));
    assert_eq!(text(&made()).await.unwrap(), "ok");
    assert!(!home.exists("rate_limits/nous.json"));
    // A long one ends it here, and for whoever comes next.
    server.push(Reply::error(429, "used up").header("retry-after", 3600));
    let error = text(&made()).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::RateLimited);
    assert_eq!(server.requests().len(), 3);
    let error = text(&made()).await.unwrap_err();
    assert!(error.message.contains("will not answer"), "{error}");
    assert_eq!(server.requests().len(), 3, "nothing more was sent");
    let noted: Value = serde_json::from_str(&home.read("rate_limits/nous.json")).unwrap();
    assert_eq!(noted["reset_seconds"], 3600.0);
    // When the time is over, or the file is nonsense, it is asked again.
    for text_of_file in [r#"{"reset_at": 5.0}"#, "nonsense"] {
        home.write("rate_limits/nous.json", text_of_file);
        server.push(Reply::text("back"));
        assert_eq!(text(&made()).await.unwrap(), "back");
    }
}
