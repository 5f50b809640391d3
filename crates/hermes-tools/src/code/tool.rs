//! The tool, and the calls that a script may make.

use std::fmt::Write as _;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use hermes_sandbox::Sandboxes;
use hermes_types::{ToolOutput, ToolSpec};
use serde_json::{Value, json};

use super::run::{CodeLimits, Script};
use crate::approval::{Admission, Gate};
use crate::registry::Registry;
use crate::tool::{Reader, Tool, ToolContext};

/// What a script may call, where the conversation has it, and how it is written.
const CALLABLE: &[(&str, &str)] = &[
    ("web_search", "web_search(query, limit=5)"),
    ("web_extract", "web_extract(urls)"),
    ("read_file", "read_file(path, offset=1, limit=500)"),
    ("write_file", "write_file(path, content)"),
    (
        "search_files",
        "search_files(pattern, target=\"content\", path=\".\", file_glob=None, limit=50)",
    ),
    (
        "patch",
        "patch(path=None, old_string=None, new_string=None, replace_all=False, mode=\"replace\", patch=None)",
    ),
    ("terminal", "terminal(command, timeout=None, workdir=None)"),
];

/// Arguments of `terminal` that make no sense in a script.
const FOREGROUND_ONLY: &[&str] = &["background", "pty", "notify_on_complete", "watch_patterns"];

pub struct ExecuteCodeTool {
    sandboxes: Arc<Sandboxes>,
    gate: Arc<dyn Gate>,
    limits: CodeLimits,
    tools: Registry,
}

impl ExecuteCodeTool {
    /// `tools` are those of the conversation; a script gets the ones it may call.
    pub fn new(
        sandboxes: Arc<Sandboxes>,
        gate: Arc<dyn Gate>,
        limits: CodeLimits,
        tools: &Registry,
    ) -> Self {
        let names = CALLABLE
            .iter()
            .map(|(name, _)| (*name).to_owned())
            .collect();
        Self {
            sandboxes,
            gate,
            limits,
            tools: tools.only(&names),
        }
    }
}

impl Tool for ExecuteCodeTool {
    fn name(&self) -> &str {
        "execute_code"
    }

    fn spec(&self) -> ToolSpec {
        let mut description = format!(
            "Run a Python script in the sandbox that may call tools itself. For work of three calls or more with logic in between: loops, filtering, joining results; only what the script prints comes back. At most {} s and {} tool calls; output beyond 50 000 characters loses its middle. Standard library plus `from hermes_tools import …`:",
            self.limits.timeout.as_secs(),
            self.limits.tool_calls
        );
        for (name, signature) in CALLABLE {
            if self.tools.get(name).is_some() {
                let _ = write!(description, "\n{signature}");
            }
        }
        description.push_str(
            "\nEach returns the tool's result as a dict (text when it is none). Helpers: json_parse(text), shell_quote(text), retry(function, max_attempts=3, delay=2).",
        );
        ToolSpec {
            name: "execute_code".to_owned(),
            description,
            parameters: json!({
                "type": "object",
                "properties": {"code": {"type": "string", "description": "The Python script; print what you want to read"}},
                "required": ["code"]
            }),
        }
    }

    fn call<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let code = match arguments.get("code") {
                Some(Value::String(code)) if !code.trim().is_empty() => code,
                _ => return ToolOutput::error("code must be the text of a Python script"),
            };
            let sandbox = match self.sandboxes.get(&context.task) {
                Ok(sandbox) => sandbox,
                Err(error) => return ToolOutput::error(error.to_string()),
            };
            let note = match self.gate.admit_script(context, &sandbox, code).await {
                Admission::Allowed { note } => note,
                Admission::Blocked { message, outcome } => {
                    return Admission::refusal(&message, outcome);
                }
            };
            let script = Script {
                sandbox: &sandbox,
                context,
                limits: &self.limits,
                calls: Calls {
                    tools: &self.tools,
                    context,
                    most: self.limits.tool_calls,
                    made: 0,
                },
            };
            let mut value = script.run(code).await;
            if let Some(note) = note {
                value["approval"] = note.into();
            }
            ToolOutput {
                failed: value["status"] != "success",
                ..ToolOutput::json(&value)
            }
        })
    }

    fn preview(&self, arguments: &Value) -> String {
        let code = arguments.get("code").and_then(Value::as_str).unwrap_or("");
        let line = code.lines().find(|line| !line.trim().is_empty());
        line.unwrap_or("").chars().take(120).collect()
    }
}

/// The tool calls of one script.
pub(super) struct Calls<'a> {
    tools: &'a Registry,
    context: &'a ToolContext,
    most: u32,
    made: u32,
}

impl Calls<'_> {
    pub(super) fn names(&self) -> Vec<&str> {
        self.tools.names().collect()
    }

    pub(super) fn made(&self) -> u32 {
        self.made
    }

    /// The text of the result; whatever is wrong with a request is a result too.
    pub(super) async fn answer(&mut self, request: &[u8]) -> String {
        let Ok(request) = serde_json::from_slice::<Value>(request) else {
            return refused("the request is not JSON");
        };
        let name = request["tool"].as_str().unwrap_or("");
        let Some(tool) = self.tools.get(name) else {
            return refused(&format!("there is no tool `{name}` for scripts"));
        };
        if self.made >= self.most {
            return refused(&format!(
                "the limit of {} tool calls for one script is reached",
                self.most
            ));
        }
        self.made += 1;
        let mut arguments = request["args"].clone();
        if let (true, Some(map)) = (name == "terminal", arguments.as_object_mut()) {
            map.retain(|name, _| !FOREGROUND_ONLY.contains(&name.as_str()));
        }
        let context = ToolContext {
            session: self.context.session.clone(),
            task: self.context.task.clone(),
            call_id: format!("{}-{}", self.context.call_id, self.made),
            round: self.context.round,
            reader: Reader::Script,
            cancel: self.context.cancel.clone(),
            asker: Arc::clone(&self.context.asker),
            events: Arc::clone(&self.context.events),
        };
        tool.call(&context, arguments).await.text
    }
}

fn refused(why: &str) -> String {
    json!({ "error": why }).to_string()
}
