//! The planner behind the model contract.

use futures_util::future::BoxFuture;
use futures_util::{StreamExt as _, stream};
use hermes_llm::{Delta, DeltaStream, FinishReason, Model, ModelError, Request};
use hermes_types::{Cost, CostStatus, Message, Role, Usage};
use serde_json::Value;

use super::answer::{next_call, report};
use super::request::understand;

pub const DEMO_PROVIDER: &str = "demo";
pub const DEMO_MODEL: &str = "demo";

/// Answers by rule. See the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct DemoModel;

/// What the planner does next.
#[derive(Debug, PartialEq)]
enum Step {
    Say(String),
    Call {
        id: String,
        name: &'static str,
        arguments: Value,
    },
}

impl Model for DemoModel {
    fn stream<'a>(
        &'a self,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<DeltaStream, ModelError>> {
        let offered: Vec<&str> = request
            .tools
            .iter()
            .map(|tool| tool.name.as_str())
            .collect();
        let step = plan(&request.messages, &offered);
        let deltas = deltas(step, &request.messages);
        Box::pin(async move { Ok(stream::iter(deltas).map(Ok).boxed()) })
    }

    fn name(&self) -> &str {
        DEMO_MODEL
    }

    fn provider(&self) -> &str {
        DEMO_PROVIDER
    }

    fn context_window(&self) -> u64 {
        200_000
    }

    fn cost(&self, _usage: &Usage) -> Cost {
        Cost {
            usd: 0.0,
            status: CostStatus::Included,
        }
    }
}

fn plan(messages: &[impl AsRef<Message>], offered: &[&str]) -> Step {
    let asked = messages
        .iter()
        .rposition(|message| message.as_ref().role == Role::User);
    let Some(asked) = asked else {
        return Step::Say(String::new());
    };
    let text = messages[asked].as_ref().content.text();
    let mut results: Vec<Value> = messages[asked + 1..]
        .iter()
        .map(AsRef::as_ref)
        .filter(|message| message.role == Role::Tool)
        .map(|message| read_result(&message.content.text()))
        .collect();
    let made = results.len();
    let mut said = String::new();
    'tasks: for task in understand(&text) {
        let mut own = Vec::new();
        while let Some((name, arguments)) = next_call(&task, &own) {
            if !offered.contains(&name) {
                said.push_str(&format!(
                    "For that I would need the tool `{name}`, which is switched off here (`hermes tools list`).\n\n"
                ));
                continue 'tasks;
            }
            if results.is_empty() {
                // Ids are unique within the conversation: position of the request, number of the call.
                let id = format!("call_demo_{asked}_{made}");
                return Step::Call {
                    id,
                    name,
                    arguments,
                };
            }
            own.push(results.remove(0));
        }
        said.push_str(&report(&task, &own));
        said.push('\n');
    }
    Step::Say(said.trim_end().to_owned())
}

/// Results are JSON, sometimes with a hint behind it; anything else is text.
fn read_result(text: &str) -> Value {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    match values.next() {
        Some(Ok(value @ Value::Object(_))) => value,
        _ => serde_json::json!({ "output": text }),
    }
}

fn deltas(step: Step, messages: &[impl AsRef<Message>]) -> Vec<Delta> {
    let sent: usize = messages
        .iter()
        .map(|message| message.as_ref().content.text().len())
        .sum();
    let mut out = Vec::new();
    let written = match step {
        Step::Say(text) => {
            // Word by word, as a model would.
            out.extend(
                text.split_inclusive(' ')
                    .map(|word| Delta::Text(word.to_owned())),
            );
            out.push(Delta::Finish(FinishReason::Stop));
            text.len()
        }
        Step::Call {
            id,
            name,
            arguments,
        } => {
            let text = arguments.to_string();
            let written = text.len();
            out.push(Delta::ToolCall {
                slot: 0,
                id,
                name: name.to_owned(),
                extra: None,
            });
            out.push(Delta::Arguments { slot: 0, text });
            out.push(Delta::Finish(FinishReason::ToolCalls));
            written
        }
    };
    let tokens = |bytes: usize| (bytes / 4) as u64;
    out.push(Delta::Usage(Usage {
        input: tokens(sent),
        output: tokens(written),
        ..Usage::default()
    }));
    out
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hermes_types::ToolCall;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    const TOOLS: &[&str] = &[
        "terminal",
        "process",
        "read_file",
        "write_file",
        "patch",
        "search_files",
        "memory",
    ];

    /// Plays a conversation: each result answers the call before it.
    fn play(request: &str, results: &[Value]) -> (Vec<(String, Value)>, String) {
        let mut messages = vec![Arc::new(Message::user(request))];
        let mut results = results.iter();
        let mut calls = Vec::new();
        loop {
            match plan(&messages, TOOLS) {
                Step::Say(text) => return (calls, text),
                Step::Call {
                    id,
                    name,
                    arguments,
                } => {
                    calls.push((name.to_owned(), arguments.clone()));
                    let call = ToolCall {
                        id,
                        name: name.to_owned(),
                        arguments: arguments.to_string(),
                        extra: None,
                    };
                    let result = results
                        .next()
                        .expect("one more call than results")
                        .to_string();
                    let answer = Message::tool_result(&call, result);
                    let mut said = Message::assistant("");
                    said.tool_calls.push(call);
                    messages.push(Arc::new(said));
                    messages.push(Arc::new(answer));
                }
            }
        }
    }

    #[test]
    fn a_command_is_run_and_told() {
        let (calls, text) = play(
            "run `uname`",
            &[json!({"output": "Linux\n", "exit_code": 0, "error": null})],
        );
        assert_eq!(
            calls,
            [("terminal".to_owned(), json!({"command": "uname"}))]
        );
        assert!(
            text.contains("exit code 0") && text.contains("Linux"),
            "{text}"
        );
    }

    #[test]
    fn a_background_process_is_started_and_watched() {
        let (calls, text) = play(
            "start `sleep 9` in the background",
            &[
                json!({"session_id": "proc_1", "pid": 7}),
                json!({"status": "timeout", "output": "hi"}),
            ],
        );
        assert_eq!(
            calls[1],
            (
                "process".to_owned(),
                json!({"action": "wait", "session_id": "proc_1", "timeout": 1})
            )
        );
        assert!(
            text.contains("still running") && text.contains("proc_1"),
            "{text}"
        );
    }

    #[test]
    fn chained_requests_share_no_results() {
        let (calls, text) = play(
            "create a.txt with one then read a.txt",
            &[
                json!({"bytes_written": 4}),
                json!({"content": "1|one", "total_lines": 1}),
            ],
        );
        assert_eq!(calls.len(), 2);
        assert!(
            text.contains("I wrote `a.txt`") && text.contains("1|one"),
            "{text}"
        );
    }

    #[test]
    fn a_failure_is_told() {
        let (_, text) = play("read nope", &[json!({"error": "File not found: nope"})]);
        assert!(text.contains("File not found: nope"), "{text}");
    }

    #[test]
    fn what_was_denied_is_told_in_its_own_words() {
        let refusal = "BLOCKED: the user denied this (delete). Do not try it again";
        let (_, text) = play(
            "run rm -rf build",
            &[json!({"output": "", "exit_code": -1, "error": refusal, "user_consent": false})],
        );
        assert!(
            text.contains("not allowed") && !text.contains("Do not"),
            "{text}"
        );
    }

    #[test]
    fn every_request_that_it_suggests_works_as_it_stands() {
        let help = super::super::answer::help();
        let suggested: Vec<&str> = help
            .lines()
            .filter_map(|line| line.strip_prefix("- `")?.split_once('`'))
            .map(|(request, _)| request)
            .collect();
        assert!(suggested.len() >= 11, "{help}");
        for request in suggested {
            let tasks = understand(request);
            assert!(
                tasks.len() == 1 && tasks[0] != super::super::request::Task::Help,
                "{request}: {tasks:?}"
            );
        }
        // One request per line: nothing is left out behind the first.
        assert!(!help.contains("`, `"), "{help}");
    }

    #[test]
    fn it_says_what_it_is() {
        let (calls, text) = play("hello", &[]);
        assert_eq!(calls, []);
        assert!(text.contains("not a language model"), "{text}");
    }

    #[test]
    fn a_tool_that_is_off_is_named() {
        let messages = [Arc::new(Message::user("run ls"))];
        let Step::Say(text) = plan(&messages, &["read_file"]) else {
            panic!("a call without a tool")
        };
        assert!(text.contains("`terminal`"), "{text}");
    }
}
