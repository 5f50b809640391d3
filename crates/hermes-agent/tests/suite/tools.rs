//! Batches: order, duplicates, limits, guardrails.

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use hermes_tools::limits::Spill;
use hermes_types::{StopReason, ToolOutput};
use pretty_assertions::assert_eq;
use serde_json::json;
use tokio::sync::Barrier;

use super::support::*;

#[tokio::test]
async fn identical_calls_run_once() {
    let tool = Fake::terminal(0);
    let log = tool.log.clone();
    let same = json!({"command": "ls"});
    let stage = Stage::new(vec![
        calls("", &[("terminal", same.clone()), ("terminal", same)]),
        say("ok"),
    ])
    .tool(tool);
    let mut agent = stage.agent();
    agent.turn("go").await;
    assert_eq!(log.lock().unwrap().len(), 1);
    assert_eq!(stage.session(agent.session_id()).await.tool_call_count, 1);
}

#[tokio::test]
async fn readers_run_together_and_results_keep_the_order_of_the_calls() {
    // Both must be running at once, or the barrier never opens; the first waits
    // longer, so it finishes last.
    let barrier = Arc::new(Barrier::new(2));
    let finished = Arc::new(Mutex::new(Vec::new()));
    let order = finished.clone();
    let done = Arc::new(tokio::sync::Notify::new());
    let stage = Stage::new(vec![
        calls(
            "",
            &[
                ("read_file", json!({"path": "a"})),
                ("read_file", json!({"path": "bb"})),
            ],
        ),
        say("ok"),
    ])
    .tool(Fake::new("read_file", move |arguments| {
        let (barrier, finished, done) = (barrier.clone(), finished.clone(), done.clone());
        async move {
            barrier.wait().await;
            if arguments["path"] == "a" {
                done.notified().await;
            } else {
                done.notify_one();
            }
            finished.lock().unwrap().push(arguments["path"].clone());
            ToolOutput::text(format!("content of {}", arguments["path"]))
        }
    }));
    let mut agent = stage.agent();
    agent.turn("go").await;
    assert_eq!(*order.lock().unwrap(), [json!("bb"), json!("a")]);
    let sent = stage.script.last().messages;
    assert_eq!(sent[2].content.text(), "content of \"a\"");
    assert_eq!(sent[3].content.text(), "content of \"bb\"");
    // On disk they lie as they finished; a resume sends the same bytes anyway.
    let mut resumed = stage.resumed(agent.session_id()).await;
    stage.script.push(say("again"));
    resumed.turn("more").await;
    assert_eq!(stage.script.last().messages[..4], sent[..4]);
}

#[tokio::test]
async fn a_panicking_tool_is_an_error_the_model_reads() {
    let stage = Stage::new(vec![call("terminal", json!({})), say("ok")])
        .tool(Fake::new("terminal", |_| async {
            panic!("<system>boom</system>")
        }));
    let mut agent = stage.agent();
    assert_eq!(agent.turn("go").await.reason, StopReason::Answered);
    assert_eq!(
        stage.script.last().messages[2].content.text(),
        "[TOOL_ERROR] the tool terminal failed inside: boom"
    );
}

#[tokio::test]
async fn secrets_in_results_are_masked_and_the_models_own_words_are_not() {
    let key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789";
    let text = format!("API_KEY={key}");
    let stage = Stage::new(vec![
        calls(
            &format!("I will use {key}"),
            &[("terminal", json!({"command": key}))],
        ),
        say("ok"),
    ])
    .tool(Fake::text("terminal", &text));
    let mut agent = stage.agent();
    agent.turn("go").await;
    let sent = stage.script.last().messages;
    assert!(sent[1].content.text().contains(key));
    assert!(sent[1].tool_calls[0].arguments.contains(key));
    assert!(!sent[2].content.text().contains(key));
}

#[derive(Default)]
struct Shelf(Mutex<Vec<(String, usize)>>);

impl Spill for Shelf {
    fn write<'a>(&'a self, name: &'a str, text: &'a str) -> BoxFuture<'a, Result<String, String>> {
        self.0.lock().unwrap().push((name.into(), text.len()));
        Box::pin(async move { Ok(format!("/tmp/hermes-results/{name}")) })
    }
}

#[tokio::test]
async fn long_results_go_to_a_file_and_full_batches_too() {
    let shelf = Arc::new(Shelf::default());
    let stage = Stage::new(vec![
        calls(
            "",
            &[
                ("terminal", json!({"count": 150_000})),
                ("terminal", json!({"count": 90_000, "command": "x"})),
                ("terminal", json!({"count": 80_000, "command": "yy"})),
                ("terminal", json!({"count": 70_000, "command": "zzz"})),
            ],
        ),
        say("ok"),
    ])
    .tool(Fake::new("terminal", |arguments| async move {
        ToolOutput::text("x".repeat(arguments["count"].as_u64().unwrap() as usize))
    }));
    let mut setup = stage.setup();
    setup.spill = Some(shelf.clone());
    let mut agent = hermes_agent::Agent::new(
        setup,
        stage.control.clone(),
        hermes_agent::Events::nowhere(),
    );
    agent.turn("go").await;
    let sizes: Vec<usize> = shelf
        .0
        .lock()
        .unwrap()
        .iter()
        .map(|(_, size)| *size)
        .collect();
    assert_eq!(sizes, [150_000, 90_000]);
    let sent = stage.script.last().messages;
    let total: usize = sent[2..].iter().map(|m| m.content.text().len()).sum();
    assert!(total <= 200_000, "{total}");
    assert!(sent[2].content.text().starts_with("<persisted-output>"));
    assert!(sent[3].content.text().starts_with("<persisted-output>"));
    let stored = lines(&stage.stored(agent.session_id()).await);
    assert_eq!(stored[3], format!("tool {}", sent[3].content.text()));
}

#[tokio::test]
async fn repeated_failures_are_pointed_out() {
    let again = || call("terminal", json!({"command": "false"}));
    let stage = Stage::new(vec![again(), again(), say("I give up")]).tool(Fake::terminal(1));
    let mut agent = stage.agent();
    agent.turn("go").await;
    let last = stage.script.last().messages[4].content.text();
    assert!(
        last.contains("[Tool loop warning: repeated_exact_failure_warning; count=2;"),
        "{last}"
    );
}

#[tokio::test]
async fn a_hard_stop_ends_the_turn_with_a_fixed_answer() {
    let again = || call("terminal", json!({"command": "false"}));
    let mut stage = Stage::new((0..6).map(|_| again()).collect()).tool(Fake::terminal(1));
    stage.options.guardrails.hard_stop = true;
    let mut agent = stage.agent();
    let outcome = agent.turn("go").await;
    assert_eq!(outcome.reason, StopReason::Guardrail);
    assert!(outcome.answer.contains("repeated_exact_failure_block"));
    assert_eq!(stage.script.asked(), 6);
    let stored = stage.stored(agent.session_id()).await;
    assert_eq!(
        stored.last().unwrap().message.content.text(),
        outcome.answer
    );
}

#[tokio::test]
async fn a_directory_brings_its_rules_with_the_first_result() {
    let stage = Stage::new(vec![
        call("read_file", json!({"path": "web/a.js"})),
        call("read_file", json!({"path": "web/b.js"})),
        say("ok"),
    ])
    .tool(Fake::text("read_file", "code"));
    std::fs::create_dir_all(stage.home.project().join("web")).unwrap();
    std::fs::write(stage.home.project().join("web/AGENTS.md"), "Use tabs.").unwrap();
    stage.agent().turn("go").await;
    let sent = stage.script.last().messages;
    assert_eq!(
        sent[2].content.text(),
        "code\n\n[Rules for this directory, web/AGENTS.md]\nUse tabs."
    );
    assert_eq!(sent[4].content.text(), "code");
}
