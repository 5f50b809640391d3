//! What the parent reads about a finished child.

use std::collections::BTreeSet;
use std::time::Duration;

use hermes_types::{Role, StopReason, TurnOutcome};
use serde_json::{Value, json};

use super::tool::rounded;
use crate::agent::Agent;
use crate::guardrails::is_failure;

/// Why the child stopped, as far as it was not its own doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    OfItself,
    Interrupted,
    TimedOut,
}

pub(super) fn report(
    index: usize,
    agent: &Agent,
    outcome: &TurnOutcome,
    ending: Ending,
    elapsed: Duration,
    timeout: Duration,
) -> Value {
    let (status, exit_reason) = match (ending, outcome.reason) {
        (Ending::TimedOut, _) => ("timeout", "timeout"),
        (Ending::Interrupted, _) | (_, StopReason::Interrupted) => ("interrupted", "interrupted"),
        (_, StopReason::Answered) => ("completed", "completed"),
        (_, StopReason::IterationLimit) => ("completed", "max_iterations"),
        (_, StopReason::Budget) => ("failed", "budget"),
        (_, StopReason::Guardrail) => ("failed", "guardrail"),
        (_, StopReason::Partial) => ("failed", "partial"),
        (_, StopReason::RateLimited) => ("error", "rate_limited"),
        (_, StopReason::KeyRefused | StopReason::Failed) => ("error", "error"),
    };
    let mut value = json!({
        "task_index": index,
        "status": status,
        "summary": outcome.answer,
        "api_calls": outcome.api_calls,
        "duration_seconds": rounded(elapsed),
        "model": agent.setup().model.name(),
        "exit_reason": exit_reason,
        "tokens": {"input": outcome.usage.prompt(), "output": outcome.usage.output},
        "tool_trace": trace(agent),
    });
    let error = match ending {
        Ending::TimedOut => Some(format!(
            "stopped after {} seconds (delegation.child_timeout_seconds)",
            timeout.as_secs()
        )),
        _ => outcome.error.clone(),
    };
    if let Some(error) = error {
        value["error"] = json!(error);
    }
    let changed = changed_paths(agent);
    if !changed.is_empty() {
        value["stale_paths"] = json!(changed);
        let note = format!(
            "\n\n[Files changed here; read them again before you rely on them: {}]",
            changed.join(", ")
        );
        value["summary"] = json!(format!("{}{note}", outcome.answer));
    }
    value
}

fn trace(agent: &Agent) -> Vec<Value> {
    let messages: Vec<_> = agent.history.messages().collect();
    messages
        .iter()
        .flat_map(|message| &message.tool_calls)
        .map(|call| {
            let result = messages
                .iter()
                .find(|message| message.tool_call_id.as_ref() == Some(&call.id))
                .map(|message| message.content.text())
                .unwrap_or_default();
            json!({
                "tool": call.name,
                "args_bytes": call.arguments.len(),
                "result_bytes": result.len(),
                "status": if is_failure(&call.name, &result) { "error" } else { "ok" },
            })
        })
        .collect()
}

/// Files that the child wrote or patched.
fn changed_paths(agent: &Agent) -> Vec<String> {
    let mut paths = BTreeSet::new();
    for message in agent
        .history
        .messages()
        .filter(|message| message.role == Role::Assistant)
    {
        for call in &message.tool_calls {
            if matches!(call.name.as_str(), "write_file" | "patch")
                && let Ok(arguments) = serde_json::from_str::<Value>(&call.arguments)
                && let Some(path) = arguments.get("path").and_then(Value::as_str)
            {
                paths.insert(path.to_owned());
            }
        }
    }
    paths.into_iter().collect()
}
