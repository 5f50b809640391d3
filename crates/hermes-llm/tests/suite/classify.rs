//! The error table, row by row.

use std::time::Duration;

use hermes_llm::ErrorClass::{self, *};
use hermes_llm::error::{Broken, Conversation, Fault, classify};
use hermes_testkit::model::{ModelServer, Reply};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::support::{model, text};

const SMALL: Conversation = Conversation {
    tokens: 1_000,
    messages: 4,
    window: 200_000,
    has_images: false,
};
const LARGE: Conversation = Conversation {
    tokens: 130_000,
    messages: 250,
    window: 200_000,
    has_images: false,
};
const WITH_IMAGES: Conversation = Conversation {
    has_images: true,
    ..SMALL
};

fn status(status: u16, message: &str) -> Fault {
    Fault::Status {
        status,
        body: json!({"error": {"message": message}}).to_string(),
        retry_after: None,
    }
}

fn class(fault: &Fault, conversation: &Conversation) -> ErrorClass {
    classify(fault, conversation).class
}

/// Row, status, message, class.
const ROWS: &[(&str, u16, &str, ErrorClass)] = &[
    (
        "1",
        400,
        "This request violates our usage policy",
        ContentPolicy,
    ),
    ("1", 400, "Flagged for possible cyber risk", ContentPolicy),
    ("1", 400, "finish: content_filter", ContentPolicy),
    ("1", 400, "ResponsibleAIPolicyViolation", ContentPolicy),
    (
        "2",
        400,
        "messages.1: Invalid `signature` in `thinking` block",
        ThinkingSignature,
    ),
    (
        "3",
        429,
        "Extra usage is required for long context requests",
        LongContextTier,
    ),
    (
        "4",
        400,
        "The long context beta is not yet available for this subscription",
        LongContextBeta,
    ),
    ("5", 400, "failed to parse grammar", GrammarPattern),
    (
        "5",
        400,
        "Unable to generate parser for this template",
        GrammarPattern,
    ),
    (
        "6",
        403,
        "no active Grok subscription found",
        Authentication,
    ),
    ("6", 400, "out of resources for grok-4", Authentication),
    ("7", 401, "nope", Authentication),
    ("8", 403, "Key limit exceeded", Billing),
    ("8", 403, "insufficient credits", Billing),
    ("8", 403, "forbidden", Authentication),
    (
        "9",
        402,
        "usage limit reached, try again in 5 minutes",
        RateLimited,
    ),
    ("9", 402, "please pay", Billing),
    ("10", 404, "credit balance too low", Billing),
    (
        "10",
        404,
        "No endpoints found matching your data policy",
        ProviderPolicy,
    ),
    ("10", 404, "The model `x` does not exist", ModelNotFound),
    ("10", 404, "not found", Unknown),
    ("11", 413, "whatever", PayloadTooLarge),
    ("12", 429, "slow down", RateLimited),
    (
        "13",
        400,
        "tool message content must be a string",
        ToolContentText,
    ),
    ("13", 400, "image exceeds 5 MB maximum", ImageTooLarge),
    ("13", 400, "invalid_encrypted_content", EncryptedReasoning),
    (
        "13",
        400,
        "This model's maximum context length is 8192 tokens",
        ContextOverflow,
    ),
    (
        "13",
        400,
        "prompt is too long: 210000 tokens > 200000 maximum",
        ContextOverflow,
    ),
    ("13", 400, "输入超过最大长度", ContextOverflow),
    ("13", 400, "not allowed by your data policy", ProviderPolicy),
    ("13", 400, "gpt-9 is not a valid model ID", ModelNotFound),
    ("13", 400, "requests per minute exceeded", RateLimited),
    ("13", 400, "insufficient_quota", Billing),
    (
        "13",
        400,
        "Unsupported parameter: 'max_tokens' is not supported with this model",
        BadRequest,
    ),
    (
        "13",
        400,
        "something about a field that is wrong here",
        BadRequest,
    ),
    ("14", 500, "unknown parameter: 'foo'", BadRequest),
    ("14", 500, "boom", Server),
    ("14", 502, "bad gateway", Server),
    ("14", 503, "try later", Overloaded),
    ("14", 529, "overloaded", Overloaded),
    ("14", 418, "teapot", BadRequest),
    ("14", 504, "gateway", Server),
];

#[test]
fn every_row_of_the_status_table() {
    for (row, code, message, expected) in ROWS {
        assert_eq!(
            class(&status(*code, message), &SMALL),
            *expected,
            "row {row}: {code} {message}"
        );
    }
}

/// How many requests a failure that never goes away is worth: those that time may
/// heal the whole ladder, those about a form of the request one more, others one.
fn requests_for(class: ErrorClass) -> usize {
    match class {
        RateLimited | Overloaded | Server | Unknown => 3,
        ThinkingSignature | EncryptedReasoning | GrammarPattern | ToolContentText
        | LongContextBeta | ImageTooLarge => 2,
        _ => 1,
    }
}

#[tokio::test]
async fn every_row_over_a_socket() {
    for (row, code, message, expected) in ROWS {
        let server = ModelServer::start();
        let reply = Reply::error(*code, message);
        server.fallback(move |_| reply.clone());
        let error = text(&model(&server)).await.unwrap_err();
        assert_eq!(
            (error.class, error.status),
            (*expected, Some(*code)),
            "row {row}: {message}"
        );
        // A refused parameter is left out once.
        let parameter = message.contains("Unsupported parameter");
        let requests = requests_for(*expected) + usize::from(parameter);
        assert_eq!(
            server.requests().len(),
            requests,
            "row {row}: {code} {message}"
        );
    }
}

#[tokio::test]
async fn errors_inside_an_answer_are_judged_like_statuses() {
    for (error, expected, requests) in [
        (
            json!({"code": 401, "message": "bad key"}),
            Authentication,
            1,
        ),
        (
            json!({"code": "insufficient_quota", "message": "x"}),
            Billing,
            1,
        ),
        (json!({"code": 502, "message": "upstream"}), Server, 3),
        (
            json!({"code": "rate_limit_exceeded", "message": "x"}),
            RateLimited,
            3,
        ),
        (json!({"message": "prompt is too long"}), ContextOverflow, 1),
    ] {
        let server = ModelServer::start();
        let event = format!("data: {}\n\n", json!({ "error": error }));
        server.fallback(move |_| Reply::recorded(event.clone()));
        let error = text(&model(&server)).await.unwrap_err();
        assert_eq!(error.class, expected);
        assert_eq!(server.requests().len(), requests, "{expected:?}");
    }
}

#[test]
fn a_bare_400_to_a_huge_conversation_means_that_it_is_too_long() {
    assert_eq!(class(&status(400, "Error"), &SMALL), BadRequest);
    assert_eq!(class(&status(400, "Error"), &LARGE), ContextOverflow);
}

#[test]
fn row_15_codes_without_a_status() {
    for (code, expected) in [
        ("resource_exhausted", RateLimited),
        ("throttled", RateLimited),
        ("rate_limit_exceeded", RateLimited),
        ("insufficient_quota", Billing),
        ("billing_not_active", Billing),
        ("payment_required", Billing),
        ("insufficient_credits", Billing),
        ("no_usable_credits", Billing),
        ("balance_depleted", Billing),
        ("model_not_supported_on_free_tier", Billing),
        ("model_not_found", ModelNotFound),
        ("model_not_available", ModelNotFound),
        ("invalid_model", ModelNotFound),
        ("context_length_exceeded", ContextOverflow),
        ("max_tokens_exceeded", ContextOverflow),
        ("invalid_encrypted_content", EncryptedReasoning),
    ] {
        let fault = Fault::reported(&json!({"code": code, "message": "it failed"}));
        assert_eq!(class(&fault, &SMALL), expected, "{code}");
    }
}

#[test]
fn row_16_words_without_a_status() {
    for (message, expected) in [
        ("Request Entity Too Large", PayloadTooLarge),
        ("the tool content must be a string", ToolContentText),
        ("image dimensions are wrong", ImageTooLarge),
        ("usage limit reached, try again later", RateLimited),
        ("usage limit reached", Billing),
        ("insufficient balance", Billing),
        ("too many requests", RateLimited),
        ("input is too long", ContextOverflow),
        ("invalid api key", Authentication),
        ("data policy forbids it", ProviderPolicy),
        ("unknown model", ModelNotFound),
        ("request timed out", Timeout),
        ("deadline exceeded", Timeout),
        ("who knows", Unknown),
    ] {
        assert_eq!(
            class(&Fault::reported(&json!(message)), &SMALL),
            expected,
            "{message}"
        );
    }
}

#[test]
fn row_17_broken_connections() {
    let broken = |broken: Broken, message: &str| Fault::Transport {
        broken,
        message: message.to_owned(),
    };
    let closed = broken(Broken::Closed, "connection closed before message completed");
    assert_eq!(
        class(&broken(Broken::Connect, "refused"), &LARGE),
        Connection
    );
    assert_eq!(
        class(
            &broken(Broken::Closed, "received fatal alert: BadRecordMac"),
            &SMALL
        ),
        Timeout
    );
    assert_eq!(
        class(&broken(Broken::Silent, "nothing came"), &LARGE),
        Timeout
    );
    assert_eq!(class(&closed, &SMALL), Dropped);
    assert_eq!(class(&closed, &LARGE), ContextOverflow);
    assert_eq!(
        class(&Fault::reported(&json!("server disconnected")), &SMALL),
        Dropped
    );
}

#[test]
fn pictures_that_a_model_cannot_see() {
    let fault = status(404, "No endpoints found that support image input");
    assert_eq!(class(&fault, &WITH_IMAGES), ImagesUnsupported);
    assert_eq!(class(&fault, &SMALL), ModelNotFound);
    let fault = status(400, "image exceeds 5 MB; this size is not supported");
    assert_eq!(class(&fault, &WITH_IMAGES), ImageTooLarge);
}

#[test]
fn an_endpoint_that_does_not_stream() {
    assert_eq!(
        class(
            &status(400, "stream is not supported for this model"),
            &SMALL
        ),
        StreamUnsupported
    );
}

#[test]
fn the_words_of_an_upstream_behind_a_router_count() {
    let body = json!({"error": {"message": "Provider returned error", "code": 400, "metadata": {
        "raw": "{\"error\":{\"message\":\"prompt is too long: 300000 tokens > 200000 maximum\"}}"}}});
    let error = classify(
        &Fault::Status {
            status: 400,
            body: body.to_string(),
            retry_after: None,
        },
        &SMALL,
    );
    assert_eq!(error.class, ContextOverflow);
    assert_eq!(error.context_limit, Some(200_000));
    assert_eq!(
        error.message,
        "HTTP 400: Provider returned error (prompt is too long: 300000 tokens > 200000 maximum)"
    );
}

#[test]
fn waits_come_from_the_header_first_then_from_the_sentence() {
    let mut fault = status(429, "Rate limit reached. Please try again in 20s.");
    assert_eq!(
        classify(&fault, &SMALL).retry_after,
        Some(Duration::from_secs(20))
    );
    if let Fault::Status { retry_after, .. } = &mut fault {
        *retry_after = Some(Duration::from_secs(1));
    }
    assert_eq!(
        classify(&fault, &SMALL).retry_after,
        Some(Duration::from_secs(1))
    );
    assert!(!classify(&fault, &SMALL).wait_in_words);
    // Minutes that only the sentence names are known, and not sat out.
    let error = classify(
        &status(402, "usage limit reached, try again in 5 minutes"),
        &SMALL,
    );
    assert_eq!(error.class, RateLimited);
    assert_eq!(error.retry_after, Some(Duration::from_secs(300)));
    let wait = hermes_llm::RetryPolicy::default().wait(&error, 1);
    assert!(wait <= Duration::from_secs(3), "{wait:?}");
}

#[test]
fn bodies_that_are_no_json_are_quoted_without_their_tags() {
    let error = classify(
        &Fault::Status {
            status: 502,
            body: "<html><head><title>502 Bad\nGateway</title></head></html>".to_owned(),
            retry_after: None,
        },
        &SMALL,
    );
    assert_eq!(error.message, "HTTP 502: 502 Bad Gateway");
}

#[test]
fn the_free_tier_of_gemini_gets_a_hint() {
    let body = json!([{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED",
        "message": "Quota exceeded for metric generate_content_free_tier_requests"}}]);
    let error = classify(
        &Fault::Status {
            status: 429,
            body: body.to_string(),
            retry_after: None,
        },
        &SMALL,
    );
    assert_eq!(error.class, RateLimited);
    assert!(
        error.message.contains("turn on billing"),
        "{}",
        error.message
    );
}
