//! A command that is started and left to itself.

use std::sync::Arc;

use hermes_sandbox::background::{Owner, Processes, StartRequest};
use hermes_sandbox::command::inspect::needs_pipe;
use hermes_sandbox::command::rewrite::background_tail;
use hermes_sandbox::target::PtySize;
use hermes_types::ToolOutput;
use serde_json::json;

use super::tool::{TerminalTool, Wanted, failure};
use crate::tool::ToolContext;

/// What programs expect when nobody says otherwise.
const TERMINAL: PtySize = PtySize {
    rows: 30,
    columns: 120,
};

impl TerminalTool {
    pub(super) async fn start(&self, context: &ToolContext, wanted: Wanted) -> ToolOutput {
        let sandbox = match self.sandboxes.get(&context.task) {
            Ok(sandbox) => sandbox,
            Err(error) => return failure(format!("Failed to execute command: {error}")),
        };
        let session = sandbox.session(&context.task);
        let both = wanted.notify_on_complete && !wanted.watch_patterns.is_empty();
        let watch_patterns = if both {
            Vec::new()
        } else {
            wanted.watch_patterns.clone()
        };
        let piped = wanted.pty && needs_pipe(&wanted.command);
        let terminal = wanted.pty && !piped && Processes::can_use_terminal(&session);
        let request = StartRequest {
            session: Arc::clone(&session),
            command: background_tail(&wanted.command),
            workdir: wanted.workdir.clone(),
            terminal: terminal.then_some(TERMINAL),
            notify_on_complete: wanted.notify_on_complete,
            watch_patterns: watch_patterns.clone(),
            owner: Owner {
                task: context.task.clone(),
                session_key: context.session.to_string(),
                ..Owner::default()
            },
        };
        let started = match self.sandboxes.processes().start(request).await {
            Ok(started) => started,
            Err(error) => return failure(format!("Failed to start background process: {error}")),
        };
        let mut value = json!({
            "output": "Background process started",
            "session_id": started.id,
            "pid": started.pid,
            "exit_code": 0,
            "error": null,
        });
        if wanted.notify_on_complete {
            value["notify_on_complete"] = true.into();
        }
        if !watch_patterns.is_empty() {
            value["watch_patterns"] = json!(watch_patterns);
        }
        if both {
            value["watch_patterns_ignored"] =
                "notify_on_complete was set as well and takes their place".into();
        }
        if !wanted.notify_on_complete && watch_patterns.is_empty() {
            value["hint"] = "Nobody will tell when this ends. Look at it with process(action=\"poll\"), or start such work with notify_on_complete=true.".into();
        }
        if piped {
            value["pty_note"] =
                "Started without a terminal: it reads a token from its input until the end, which a terminal does not have."
                    .into();
        }
        if let Some(note) = wanted.approval {
            value["approval"] = note.into();
        }
        ToolOutput::json(&value)
    }
}
