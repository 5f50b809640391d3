//! One provider over real sockets: retries, limits, and what it says.

use std::sync::Arc;
use std::time::Duration;

use hermes_llm::wire::ApiMode;
use hermes_llm::{ErrorClass, FinishReason};
use hermes_testkit::model::{ModelServer, Reply, Tokens};
use hermes_types::{Message, Usage};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::support::{ask, endpoint, hello, model, model_of, rich_request, text};

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
