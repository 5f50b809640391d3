//! The table of answers, row by row, over a real socket: the turn loop with a
//! provider model in front of the scripted server. Most rows have a closer look in
//! `answers.rs`; here they are whole.

use std::sync::Arc;

use hermes_agent::Agent;
use hermes_http::Http;
use hermes_llm::resolve::Selection;
use hermes_llm::{Models, RetryPolicy};
use hermes_testkit::model::{ModelServer, Reply, Tokens};
use hermes_types::{StopReason, TurnOutcome};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::support::*;

/// A conversation with the scripted server; `model` and `mode` decide the quirks.
pub struct Wired {
    pub stage: Stage,
    pub server: ModelServer,
}

impl Wired {
    pub fn new() -> Self {
        Self {
            stage: Stage::new(vec![])
                .tool(Fake::terminal(0))
                .tool(Fake::text("read_file", "content"))
                .tool(Fake::text("memory", "noted")),
            server: ModelServer::start(),
        }
    }

    pub async fn agent(&self, model: &str, mode: &str) -> Agent {
        let yaml = format!(
            "model: {{default: {model}, provider: custom, base_url: \"{}\", api_mode: {mode}, context_length: 200000}}\n",
            self.server.url()
        );
        self.agent_of(&yaml).await
    }

    pub async fn agent_of(&self, yaml: &str) -> Agent {
        let models = Models::new(
            hermes_config::Config::from_yaml(yaml).unwrap(),
            self.stage.home.home(),
            Http::default(),
            self.stage.clock.clone(),
        )
        .with_policy(RetryPolicy::immediate());
        let opened = models.open(&Selection::default()).await.unwrap();
        let mut setup = self.stage.setup();
        setup.model = opened.model;
        Agent::new(
            setup,
            Arc::clone(&self.stage.control),
            hermes_agent::Events::nowhere(),
        )
    }

    pub async fn turn(&self, replies: impl IntoIterator<Item = Reply>) -> TurnOutcome {
        self.turn_of("m", "chat_completions", replies).await
    }

    pub async fn turn_of(
        &self,
        model: &str,
        mode: &str,
        replies: impl IntoIterator<Item = Reply>,
    ) -> TurnOutcome {
        for reply in replies {
            self.server.push(reply);
        }
        let outcome = self.agent(model, mode).await.turn("go").await;
        assert_eq!(self.server.replies_left(), 0, "{outcome:?}");
        outcome
    }

    pub fn caps(&self) -> Vec<Option<u64>> {
        self.server
            .requests()
            .iter()
            .map(|request| request.body["max_tokens"].as_u64())
            .collect()
    }
}

fn no_choices() -> Reply {
    Reply::json(200, &json!({"id": "x", "choices": []}))
}

#[tokio::test]
async fn an_answer_without_structure_is_asked_for_again_or_elsewhere() {
    let wired = Wired::new();
    let outcome = wired.turn([no_choices(), Reply::text("fine")]).await;
    assert_eq!(outcome.answer, "fine");
    let wired = Wired::new();
    let outcome = wired.turn([no_choices(), no_choices(), no_choices()]).await;
    assert_eq!(outcome.reason, StopReason::Failed);

    // With somebody else to ask, that one is asked at once.
    let (wired, other) = (Wired::new(), ModelServer::start());
    wired.server.push(no_choices());
    other.push(Reply::text("from elsewhere"));
    let yaml = format!(
        "model: {{default: m, provider: custom, base_url: \"{}\", context_length: 200000}}\n\
         fallback_providers: [{{provider: custom, model: n, base_url: \"{}\"}}]\n",
        wired.server.url(),
        other.url()
    );
    let outcome = wired.agent_of(&yaml).await.turn("go").await;
    assert_eq!(outcome.answer, "from elsewhere");
    assert_eq!(wired.server.requests().len(), 1);
}

#[tokio::test]
async fn a_cut_text_is_continued_with_more_room() {
    let wired = Wired::new();
    let cut = |text: &str| Reply::text(text).finish("length");
    let outcome = wired
        .turn([cut("one"), cut(" two "), Reply::text("three")])
        .await;
    assert_eq!(outcome.answer, "one two three");
    assert_eq!(wired.caps(), [None, Some(8192), Some(12_288)]);
    let wired = Wired::new();
    let outcome = wired.turn([cut("a"), cut("b"), cut("c")]).await;
    assert_eq!(outcome.reason, StopReason::Partial);
    assert!(outcome.answer.starts_with("abc"), "{outcome:?}");
}

#[tokio::test]
async fn thinking_that_ate_the_room_is_explained() {
    let wired = Wired::new();
    let reply = Reply::text("<think>hm, hm, hm").finish("length");
    let outcome = wired.turn([reply]).await;
    assert_eq!(outcome.reason, StopReason::Partial);
    assert!(outcome.error.unwrap().contains("reasoning"));
}

#[tokio::test]
async fn cut_calls_are_sent_again_three_times_and_never_run() {
    let wired = Wired::new();
    let cut = || {
        Reply::empty()
            .then_call_text("terminal", "{\"command\": \"rm -rf imp")
            .finish("length")
    };
    let outcome = wired.turn([cut(), cut(), cut(), cut()]).await;
    assert_eq!(outcome.reason, StopReason::Partial);
    assert_eq!(wired.caps(), [None, Some(8192), Some(12_288), Some(16_384)]);
    let sizes: Vec<usize> = wired
        .server
        .requests()
        .iter()
        .map(|request| request.messages().len())
        .collect();
    assert_eq!(sizes, [2, 2, 2, 2], "nothing is appended");
}

#[tokio::test]
async fn incomplete_responses_go_on_and_the_third_in_a_row_ends() {
    let incomplete = |text: &str| Reply::text(text).finish("incomplete");
    let wired = Wired::new();
    let outcome = wired
        .turn_of(
            "gpt-5",
            "codex_responses",
            [incomplete("looking "), Reply::text("found")],
        )
        .await;
    assert_eq!(outcome.answer, "looking found");
    let input = wired.server.requests()[1].body["input"].to_string();
    assert!(input.contains("looking"), "{input}");
    let wired = Wired::new();
    let outcome = wired
        .turn_of(
            "gpt-5",
            "codex_responses",
            [incomplete("a"), incomplete("b"), incomplete("c")],
        )
        .await;
    assert_eq!(outcome.reason, StopReason::Partial);
}

#[tokio::test]
async fn an_open_scratchpad_is_tried_twice_more() {
    let wired = Wired::new();
    let open = || Reply::text("<REASONING_SCRATCHPAD>thinking aloud");
    let outcome = wired.turn([open(), open(), open()]).await;
    assert_eq!(outcome.reason, StopReason::Partial);
    let wired = Wired::new();
    assert_eq!(wired.turn([open(), Reply::text("ok")]).await.answer, "ok");
}

#[tokio::test]
async fn a_local_glm_that_stops_in_the_middle_is_continued() {
    let wired = Wired::new();
    let outcome = wired
        .turn_of(
            "glm-4.6",
            "chat_completions",
            [
                Reply::tool_call("terminal", json!({"command": "ls"})),
                Reply::text("There are several files and the"),
                Reply::text(" last one is new."),
            ],
        )
        .await;
    assert_eq!(
        outcome.answer,
        "There are several files and the last one is new."
    );
}

#[tokio::test]
async fn names_are_mended_answered_and_in_the_end_a_failure() {
    let wired = Wired::new();
    let call = |name: &str| Reply::tool_call(name, json!({"path": "x"}));
    let outcome = wired
        .turn([call("Read_File_Tool"), Reply::text("read")])
        .await;
    assert_eq!(outcome.answer, "read");
    let result = wired.server.requests()[1].last_message()["content"].to_string();
    assert!(result.contains("content"), "{result}");

    let wired = Wired::new();
    let both = Reply::empty()
        .then_call("frobnicate", json!({}))
        .then_call("read_file", json!({"path": "x"}));
    let outcome = wired.turn([both, Reply::text("sorry")]).await;
    assert_eq!(outcome.answer, "sorry");
    let messages = wired.server.requests()[1].messages().to_vec();
    let results: Vec<String> = messages[messages.len() - 2..]
        .iter()
        .map(|message| message["content"].to_string())
        .collect();
    assert!(results[0].contains("does not exist") && results[0].contains("terminal"));
    assert!(results[1].contains("Not run"), "{results:?}");

    let wired = Wired::new();
    let outcome = wired
        .turn((0..3).map(|_| call("frobnicate")).collect::<Vec<_>>())
        .await;
    assert_eq!(outcome.reason, StopReason::Partial);
    assert!(outcome.error.unwrap().contains("frobnicate"));
}

#[tokio::test]
async fn broken_arguments_are_asked_for_again_and_then_explained() {
    let wired = Wired::new();
    let broken = || Reply::empty().then_call_text("read_file", "{\"path\": ]}");
    let outcome = wired
        .turn([broken(), broken(), broken(), Reply::text("I see")])
        .await;
    assert_eq!(outcome.answer, "I see", "{outcome:?}");
    let last = wired.server.requests().pop().unwrap();
    let result = last.last_message()["content"].to_string();
    assert!(result.contains("one JSON object"), "{result}");
}

#[tokio::test]
async fn silence_is_met_step_by_step() {
    // After a tool: one nudge, then the answer.
    let wired = Wired::new();
    let outcome = wired
        .turn([
            Reply::tool_call("terminal", json!({"command": "ls"})),
            Reply::text(""),
            Reply::text("there"),
        ])
        .await;
    assert_eq!(outcome.answer, "there");
    let stored = wired.stage.stored(&outcome.session).await;
    assert_eq!(stored.len(), 4, "the nudge is not kept");

    // Beside housekeeping the text was the answer.
    let wired = Wired::new();
    let outcome = wired
        .turn([
            Reply::text("I will remember that.").then_call("memory", json!({"action": "add"})),
            Reply::text(""),
        ])
        .await;
    assert_eq!(outcome.answer, "I will remember that.");

    // Thoughts alone are tried twice more, plain silence three times.
    let thought = || Reply::empty().then_reasoning("hm");
    let wired = Wired::new();
    let outcome = wired.turn([thought(), thought(), thought()]).await;
    assert_eq!(outcome.reason, StopReason::Failed);
    let wired = Wired::new();
    let outcome = wired
        .turn((0..4).map(|_| Reply::text("")).collect::<Vec<_>>())
        .await;
    assert_eq!(outcome.reason, StopReason::Failed);
    assert!(outcome.error.unwrap().contains("empty answer"));
}

#[tokio::test]
async fn an_announcement_in_the_responses_dialect_is_held_to_its_word() {
    let wired = Wired::new();
    wired
        .server
        .push(Reply::text("I'll inspect the repository files now."));
    wired.server.push(Reply::text("Done: three files."));
    let yaml = format!(
        "model: {{default: gpt-5, provider: openai-api, base_url: \"{}\", api_key: k, context_length: 200000}}\n",
        wired.server.url()
    );
    let outcome = wired.agent_of(&yaml).await.turn("go").await;
    assert_eq!(outcome.answer, "Done: three files.");
    assert_eq!(wired.server.requests().len(), 2);
}

#[tokio::test]
async fn thoughts_and_stray_markup_are_no_part_of_an_answer() {
    let wired = Wired::new();
    let outcome = wired
        .turn([Reply::text(
            "<think>secret plan</think>\nThe answer is 4.\n<tool_call>{\"name\": \"x\"}</tool_call>",
        )
        .in_pieces(3)])
        .await;
    assert_eq!(outcome.answer, "The answer is 4.");
}

#[tokio::test]
async fn twenty_calls_and_an_answer_are_twenty_one_requests() {
    let wired = Wired::new();
    let calls = (0..20).map(|n| Reply::tool_call("terminal", json!({"command": format!("{n}")})));
    let outcome = wired
        .turn(calls.chain([Reply::text("done")]).collect::<Vec<_>>())
        .await;
    assert_eq!(wired.server.requests().len(), 21);
    assert_eq!(wired.stage.stored(&outcome.session).await.len(), 42);
    let row = wired.stage.session(&outcome.session).await;
    assert_eq!((row.tool_call_count, row.api_call_count), (20, 21));
    // Every request begins with the bytes of the one before.
    let requests = wired.server.requests();
    for pair in requests.windows(2) {
        let shorter = pair[0].messages();
        assert_eq!(pair[1].messages()[..shorter.len()], shorter[..]);
    }
}

#[tokio::test]
async fn identical_calls_of_one_answer_run_once() {
    let wired = Wired::new();
    let twice = Reply::empty()
        .then_call("terminal", json!({"command": "ls"}))
        .then_call("terminal", json!({"command": "ls"}));
    let outcome = wired.turn([twice, Reply::text("ok")]).await;
    assert_eq!(outcome.answer, "ok");
    let messages = wired.server.requests()[1].messages().to_vec();
    assert_eq!(messages[2]["tool_calls"].as_array().unwrap().len(), 1);
    assert_eq!(messages.len(), 4);
}

#[tokio::test]
async fn a_named_limit_is_kept_and_a_long_context_tier_is_respected() {
    for (reply, window) in [
        (
            Reply::error(400, "prompt is too long: 90000 tokens > 70000 maximum"),
            Some(70_000),
        ),
        (
            Reply::error(429, "Extra usage is required for long context requests"),
            None,
        ),
    ] {
        let wired = Wired::new();
        for n in 0..8 {
            wired.server.push(
                Reply::tool_call("terminal", json!({"command": format!("{n}")})).usage(Tokens {
                    prompt: 1000,
                    ..Default::default()
                }),
            );
        }
        wired.server.push(reply);
        wired.server.push(Reply::text("Goal: list."));
        wired.server.push(Reply::text("listed"));
        let yaml = format!(
            "model: {{default: m, provider: custom, base_url: \"{}\"}}\n",
            wired.server.url()
        );
        let outcome = wired.agent_of(&yaml).await.turn("go").await;
        assert_eq!(outcome.answer, "listed", "{outcome:?}");
        let cache = wired.stage.home.path().join("context_length_cache.yaml");
        let kept = std::fs::read_to_string(cache).unwrap_or_default();
        assert_eq!(kept.contains("70000"), window.is_some(), "{kept}");
    }
}
