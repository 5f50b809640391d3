//! `process`: looking after what runs in the background.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, Local};
use futures_util::future::BoxFuture;
use hermes_sandbox::Sandboxes;
use hermes_sandbox::background::{ProcessError, ProcessStatus, ProcessView, WaitOutcome};
use hermes_types::{ToolOutput, ToolSpec};
use serde_json::{Value, json};

use super::ansi::strip_ansi;
use crate::tool::{Tool, ToolContext};

const LIST_PREVIEW: usize = 200;
const POLL_PREVIEW: usize = 1_000;
const WAIT_OUTPUT: usize = 2_000;
const DEFAULT_LINES: usize = 200;
const ACTIONS: &str = "list, poll, log, wait, kill, write, submit, close";

pub struct ProcessTool {
    sandboxes: Arc<Sandboxes>,
}

impl ProcessTool {
    pub fn new(sandboxes: Arc<Sandboxes>) -> Self {
        Self { sandboxes }
    }
}

impl Tool for ProcessTool {
    fn name(&self) -> &str {
        "process"
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "process".to_owned(),
            description: "Look after background processes that terminal(background=true) started: list them; poll for state and last output; log for more output; wait for the end; kill the whole tree; write text to its input, submit the same with a line break, close the input.".to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "action": {
                        "type": "string",
                        "enum": ["list", "poll", "log", "wait", "kill", "write", "submit", "close"],
                        "description": "What to do"
                    },
                    "session_id": {"type": "string", "description": "Which process: the session_id that terminal returned. For every action but list."},
                    "data": {"type": "string", "description": "For write and submit: the text"},
                    "timeout": {"type": "integer", "minimum": 1, "description": "For wait: most seconds to wait"},
                    "offset": {"type": "integer", "description": "For log: first line; 0 means the last lines"},
                    "limit": {"type": "integer", "minimum": 1, "description": "For log: how many lines (200)"}
                },
                "required": ["action"]
            }),
        }
    }

    fn call<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let value = self.act(context, &arguments).await;
            let failed = value.get("error").is_some_and(|error| !error.is_null());
            ToolOutput {
                failed,
                ..ToolOutput::json(&value)
            }
        })
    }
}

impl ProcessTool {
    async fn act(&self, context: &ToolContext, arguments: &Value) -> Value {
        let task = context.task.as_str();
        self.sandboxes.take_up(task).await;
        let processes = self.sandboxes.processes();
        let action = arguments
            .get("action")
            .and_then(Value::as_str)
            .unwrap_or("");
        if action == "list" {
            let rows: Vec<Value> = processes.list(task).iter().map(list_row).collect();
            return json!({ "processes": rows });
        }
        if !["poll", "log", "wait", "kill", "write", "submit", "close"].contains(&action) {
            return json!({ "error": format!("Unknown action {action:?}: use one of {ACTIONS}") });
        }
        let id = match arguments.get("session_id") {
            Some(Value::String(id)) if !id.trim().is_empty() => id.trim().to_owned(),
            Some(Value::Number(number)) => number.to_string(),
            _ => return json!({ "error": format!("session_id is needed for {action}") }),
        };
        let outcome = match action {
            "poll" => processes.poll(&id, task).await.map(|view| poll_row(&view)),
            "log" => processes
                .log(&id, task)
                .await
                .map(|view| log_row(&view, arguments)),
            "wait" => self.wait(context, &id, arguments).await,
            "kill" => self.kill(task, &id).await,
            "close" => processes
                .close_input(&id, task)
                .await
                .map(|()| json!({"status": "ok", "message": "The input is closed."})),
            _ => self.write(task, &id, arguments, action == "submit").await,
        };
        outcome.unwrap_or_else(|error| failure(&error))
    }

    async fn wait(
        &self,
        context: &ToolContext,
        id: &str,
        arguments: &Value,
    ) -> Result<Value, ProcessError> {
        let longest = match self.sandboxes.settings() {
            Ok(settings) => settings.timeout,
            Err(error) => return Err(ProcessError::Failed(error.to_string())),
        };
        let asked = arguments
            .get("timeout")
            .and_then(Value::as_u64)
            .map(|seconds| Duration::from_secs(seconds.max(1)));
        let limit = asked.unwrap_or(longest).min(longest);
        let outcome = self
            .sandboxes
            .processes()
            .wait(id, &context.task, limit, &context.cancel)
            .await?;
        let mut value = match outcome {
            WaitOutcome::Exited(view) => {
                let mut value = json!({
                    "status": "exited",
                    "exit_code": exit_code(&view),
                    "output": clean_tail(&view, WAIT_OUTPUT),
                });
                if view.detached {
                    value["detached"] = true.into();
                }
                value
            }
            WaitOutcome::TimedOut(view) => json!({
                "status": "timeout",
                "output": clean_tail(&view, POLL_PREVIEW),
                "note": format!("It still runs after {} s of waiting.", limit.as_secs()),
            }),
            WaitOutcome::Interrupted(view) => json!({
                "status": "interrupted",
                "output": clean_tail(&view, POLL_PREVIEW),
                "note": "The waiting was interrupted; the process still runs.",
            }),
        };
        if asked.is_some_and(|asked| asked > longest) {
            value["timeout_note"] = format!(
                "At most {} s (terminal.timeout) are waited for at once.",
                longest.as_secs()
            )
            .into();
        }
        Ok(value)
    }

    async fn kill(&self, task: &str, id: &str) -> Result<Value, ProcessError> {
        let processes = self.sandboxes.processes();
        match processes.kill(id, task).await {
            Ok(()) => Ok(json!({"status": "killed", "session_id": id})),
            Err(ProcessError::Finished) => {
                let view = processes.poll(id, task).await?;
                Ok(json!({"status": "already_exited", "exit_code": exit_code(&view)}))
            }
            Err(error) => Err(error),
        }
    }

    async fn write(
        &self,
        task: &str,
        id: &str,
        arguments: &Value,
        with_line_break: bool,
    ) -> Result<Value, ProcessError> {
        let mut text = match arguments.get("data") {
            Some(Value::String(text)) => text.clone(),
            None | Some(Value::Null) => String::new(),
            Some(other) => other.to_string(),
        };
        if with_line_break {
            text.push('\n');
        }
        let count = text.len();
        self.sandboxes
            .processes()
            .write(id, task, Bytes::from(text))
            .await?;
        Ok(json!({"status": "ok", "bytes_written": count}))
    }
}

fn failure(error: &ProcessError) -> Value {
    match error {
        ProcessError::NotFound(_) => json!({"status": "not_found", "error": error.to_string()}),
        ProcessError::Finished => {
            json!({"status": "already_exited", "error": "Process has already finished"})
        }
        other => json!({"status": "error", "error": other.to_string()}),
    }
}

fn exit_code(view: &ProcessView) -> Option<i32> {
    match view.status {
        ProcessStatus::Running => None,
        ProcessStatus::Exited(code) => code,
    }
}

fn status(view: &ProcessView) -> &'static str {
    match view.status {
        ProcessStatus::Running => "running",
        ProcessStatus::Exited(_) => "exited",
    }
}

fn clean_tail(view: &ProcessView, count: usize) -> String {
    strip_ansi(view.tail(count)).into_owned()
}

fn list_row(view: &ProcessView) -> Value {
    let started: DateTime<Local> = view.started_at.into();
    let command: String = view.command.chars().take(200).collect();
    let mut row = json!({
        "session_id": view.id,
        "command": command,
        "cwd": view.cwd,
        "pid": view.pid,
        "started_at": started.format("%Y-%m-%dT%H:%M:%S").to_string(),
        "uptime_seconds": view.uptime.as_secs(),
        "status": status(view),
        "output_preview": clean_tail(view, LIST_PREVIEW),
    });
    add_end(&mut row, view);
    row
}

fn poll_row(view: &ProcessView) -> Value {
    let mut row = json!({
        "session_id": view.id,
        "command": view.command,
        "status": status(view),
        "pid": view.pid,
        "uptime_seconds": view.uptime.as_secs(),
        "output_preview": clean_tail(view, POLL_PREVIEW),
    });
    add_end(&mut row, view);
    if view.detached {
        row["note"] =
            "Started by an earlier Hermes. It can be read and ended; how it ends may stay unknown."
                .into();
    }
    row
}

fn add_end(row: &mut Value, view: &ProcessView) {
    if let ProcessStatus::Exited(code) = view.status {
        row["exit_code"] = json!(code);
    }
    if view.detached {
        row["detached"] = true.into();
    }
}

fn log_row(view: &ProcessView, arguments: &Value) -> Value {
    let number = |name: &str| {
        arguments
            .get(name)
            .and_then(Value::as_u64)
            .and_then(|number| usize::try_from(number).ok())
    };
    let offset = number("offset").unwrap_or(0);
    let limit = number("limit").unwrap_or(DEFAULT_LINES).max(1);
    let text = strip_ansi(&view.output);
    let lines: Vec<&str> = text.lines().collect();
    let start = if offset == 0 {
        lines.len().saturating_sub(limit)
    } else {
        offset.min(lines.len())
    };
    let shown = &lines[start..(start + limit).min(lines.len())];
    let mut row = json!({
        "session_id": view.id,
        "status": status(view),
        "output": shown.join("\n"),
        "total_lines": lines.len(),
        "showing": format!("{} lines", shown.len()),
    });
    if let ProcessStatus::Exited(code) = view.status {
        row["exit_code"] = json!(code);
    }
    row
}
