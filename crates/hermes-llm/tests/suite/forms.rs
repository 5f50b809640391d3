//! What a provider refuses in a request is given up, scaled or capped, once.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hermes_llm::wire::ApiMode;
use hermes_llm::{ErrorClass, Request};
use hermes_testkit::model::{ModelServer, Reply};
use hermes_types::{Content, Message, Part};
use pretty_assertions::assert_eq;
use serde_json::Value;

use super::support::{ask, endpoint, model, model_of, rich_request, text};

/// A history with everything that an endpoint may refuse.
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
