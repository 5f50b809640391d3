//! How answers end other than well, over a real socket and in every format: cut,
//! broken off, refused, too long.

use hermes_testkit::model::{ModelServer, Reply};
use hermes_types::StopReason;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::support::*;
use super::wire::Wired;

/// The formats with a model that speaks each, and how the refusal is called there.
const FORMATS: [(&str, &str, &str); 2] = [
    ("chat_completions", "m", "content_filter"),
    ("anthropic_messages", "claude-sonnet-4-5", "refusal"),
];

#[tokio::test]
async fn an_incomplete_response_is_continued_without_losing_a_word() {
    let incomplete = |text: &str| Reply::text(text).finish("max_output_tokens");
    let wired = Wired::new();
    for reply in [incomplete("par0 "), incomplete("par1 "), Reply::text("end")] {
        wired.server.push(reply);
    }
    let mut agent = wired.agent("gpt-5.2", "codex_responses").await;
    let outcome = agent.turn("go").await;
    assert_eq!(outcome.answer, "par0 par1 end");
    assert_eq!(
        lines(&wired.stage.stored(&outcome.session).await),
        ["user go", "assistant par0 par1 end"]
    );
    // Later requests carry all of it.
    wired.server.push(Reply::text("more"));
    agent.turn("and?").await;
    let input = wired.server.requests().pop().unwrap().body["input"].to_string();
    for piece in ["par0", "par1", "end"] {
        assert!(input.contains(piece), "{piece}: {input}");
    }
}

#[tokio::test]
async fn a_preliminary_message_stands_before_the_answer() {
    let message = json!({"type": "message", "id": "msg_a", "status": "completed", "phase": "commentary",
        "role": "assistant", "content": [{"type": "output_text", "text": "Looking."}]});
    let wired = Wired::new();
    let outcome = wired
        .turn_of(
            "gpt-5.2",
            "codex_responses",
            [
                Reply::empty().then_reasoning_block(message),
                Reply::text("Found."),
            ],
        )
        .await;
    assert_eq!(outcome.answer, "Looking.\n\nFound.");
}

#[tokio::test]
async fn messages_of_the_responses_format_go_back_with_id_and_status() {
    let wired = Wired::new();
    let mut agent = wired.agent("gpt-5.2", "codex_responses").await;
    wired.server.push(Reply::text("one"));
    wired.server.push(Reply::text("two"));
    agent.turn("first").await;
    agent.turn("second").await;
    let input = wired.server.requests()[1].body["input"].clone();
    let said: Vec<&Value> = input
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["role"] == "assistant")
        .collect();
    assert_eq!(
        said,
        [&json!({
            "type": "message", "role": "assistant", "id": "msg_0", "status": "completed",
            "content": [{"type": "output_text", "text": "one"}],
        })]
    );
}

#[tokio::test]
async fn a_body_that_stops_in_the_middle_is_continued_and_called_by_its_name() {
    for (mode, model) in [
        ("anthropic_messages", "claude-sonnet-4-5"),
        ("codex_responses", "gpt-5.2"),
    ] {
        let wired = Wired::new();
        let outcome = wired
            .turn_of(
                model,
                mode,
                [
                    Reply::text("first, ").without_finish(),
                    Reply::text("second"),
                ],
            )
            .await;
        assert_eq!(outcome.answer, "first, second", "{mode}");
        let asked = wired.server.requests()[1].last_message().to_string();
        assert!(asked.contains("connection broke"), "{asked}");
        assert!(!asked.contains("output limit"), "{asked}");
    }
}

#[tokio::test]
async fn a_connection_that_breaks_is_not_called_an_output_limit() {
    let wired = Wired::new();
    let outcome = wired
        .turn([Reply::text("first, ").then_cut(), Reply::text("second")])
        .await;
    assert_eq!(outcome.answer, "first, second");
    let asked = wired.server.requests()[1].last_message().to_string();
    assert!(asked.contains("connection broke"), "{asked}");
    assert_eq!(wired.caps(), [None, None]);
}

#[tokio::test]
async fn a_call_without_its_arguments_is_never_run() {
    for (mode, model) in [
        ("chat_completions", "m"),
        ("anthropic_messages", "claude-sonnet-4-5"),
        ("codex_responses", "gpt-5.2"),
    ] {
        let tool = Fake::terminal(0);
        let log = tool.log.clone();
        let mut wired = Wired::new();
        wired.stage = Stage::new(vec![]).tool(tool);
        let outcome = wired
            .turn_of(
                model,
                mode,
                [
                    Reply::empty()
                        .then_call_text("terminal", "")
                        .without_finish(),
                    Reply::tool_call("terminal", json!({"command": "ls"})),
                    Reply::text("done"),
                ],
            )
            .await;
        assert_eq!(outcome.answer, "done", "{mode}");
        assert_eq!(*log.lock().unwrap(), [json!({"command": "ls"})], "{mode}");
    }
}

#[tokio::test]
async fn a_refusal_is_told_after_one_request_or_asked_elsewhere() {
    for (mode, model, word) in FORMATS {
        let refusal = || Reply::empty().finish(word);
        let wired = Wired::new();
        let outcome = wired.turn_of(model, mode, [refusal()]).await;
        assert_eq!(outcome.reason, StopReason::Failed);
        let error = outcome.error.unwrap();
        assert!(error.contains("refused"), "{mode}: {error}");

        let (wired, other) = (Wired::new(), ModelServer::start());
        wired.server.push(refusal());
        other.push(Reply::text("from elsewhere"));
        let yaml = format!(
            "model: {{default: {model}, provider: custom, base_url: \"{}\", api_mode: {mode}, context_length: 200000}}\n\
             fallback_providers: [{{provider: custom, model: n, base_url: \"{}\"}}]\n",
            wired.server.url(),
            other.url()
        );
        let outcome = wired.agent_of(&yaml).await.turn("go").await;
        assert_eq!(outcome.answer, "from elsewhere");
        assert_eq!(wired.server.requests().len(), 1);
    }
}

#[tokio::test]
async fn room_for_a_continuation_is_never_less_than_before() {
    let cut = |text: &str| Reply::text(text).finish("max_tokens");
    let wired = Wired::new();
    let outcome = wired
        .turn_of(
            "claude-sonnet-4-5",
            "anthropic_messages",
            [cut("one "), cut("two "), Reply::text("three")],
        )
        .await;
    assert_eq!(outcome.answer, "one two three");
    assert_eq!(wired.caps(), [Some(64_000), Some(64_000), Some(64_000)]);
}

#[tokio::test]
async fn a_window_that_is_named_is_kept_even_with_nothing_to_compress() {
    let wired = Wired::new();
    wired.server.push(Reply::error(
        400,
        "This model's maximum context length is 70000 tokens. Please reduce the length of the messages.",
    ));
    wired.server.push(Reply::text("fits"));
    let yaml = format!(
        "model: {{default: m, provider: custom, base_url: \"{}\"}}\n",
        wired.server.url()
    );
    let outcome = wired.agent_of(&yaml).await.turn("go").await;
    assert_eq!(outcome.answer, "fits", "{outcome:?}");
    assert_eq!(wired.server.requests().len(), 2);
    let cache = wired.stage.home.path().join("context_length_cache.yaml");
    let kept = std::fs::read_to_string(cache).unwrap();
    assert!(kept.contains("70000"), "{kept}");

    // A provider that says so again is believed.
    let refusal = || Reply::error(400, "maximum context length is 60000 tokens");
    wired.server.push(refusal());
    wired.server.push(refusal());
    let outcome = wired.agent_of(&yaml).await.turn("go").await;
    assert_eq!(outcome.reason, StopReason::Failed);
    assert_eq!(wired.server.requests().len(), 4);
}
