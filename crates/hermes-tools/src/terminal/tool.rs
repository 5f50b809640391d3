//! `terminal`: what the model may ask for, and the checks before anything happens.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use hermes_sandbox::Sandboxes;
use hermes_sandbox::command::inspect::{Endless, endless};
use hermes_sandbox::settings::TerminalSettings;
use hermes_types::{ToolOutput, ToolSpec};
use serde_json::{Value, json};

use super::sudo::SudoPasswords;
use crate::approval::{Admission, Gate};
use crate::tool::{Tool, ToolContext};

pub struct TerminalTool {
    pub(super) sandboxes: Arc<Sandboxes>,
    pub(super) gate: Arc<dyn Gate>,
    pub(super) passwords: SudoPasswords,
    /// In a chat nobody can type a password; this file is where one belongs.
    pub(super) password_file: Option<PathBuf>,
}

impl TerminalTool {
    pub fn new(sandboxes: Arc<Sandboxes>, gate: Arc<dyn Gate>) -> Self {
        Self {
            sandboxes,
            gate,
            passwords: SudoPasswords::default(),
            password_file: None,
        }
    }

    /// For chats: tell where a password for sudo could be set.
    pub fn with_password_file(mut self, file: PathBuf) -> Self {
        self.password_file = Some(file);
        self
    }
}

/// Arguments that passed their own checks.
pub(super) struct Wanted {
    pub(super) command: String,
    pub(super) workdir: Option<String>,
    pub(super) timeout: Duration,
    pub(super) pty: bool,
    pub(super) notify_on_complete: bool,
    pub(super) watch_patterns: Vec<String>,
    /// Who allowed it, when somebody did.
    pub(super) approval: Option<String>,
}

/// Something of ours failed; the command did not run.
pub(super) fn failure(error: impl Into<String>) -> ToolOutput {
    result(-1, error.into(), "error")
}

fn result(code: i32, error: String, status: &str) -> ToolOutput {
    let value = json!({"output": "", "exit_code": code, "error": error, "status": status});
    ToolOutput {
        failed: true,
        ..ToolOutput::json(&value)
    }
}

impl Tool for TerminalTool {
    fn name(&self) -> &str {
        "terminal"
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "terminal".to_owned(),
            description: "Run a shell command in the sandbox. Working directory, exported variables, functions and aliases last from one call to the next. For reading, writing, editing and searching files use the file tools; use this for builds, tests, git, packages, processes and the network. A failing command is not an error: read exit_code and output. Long output keeps its beginning and its end.".to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "command": {"type": "string", "description": "What the shell shall run"},
                    "background": {
                        "type": "boolean",
                        "default": false,
                        "description": "Start it and return at once with a session_id for the process tool. For servers, watchers and anything that does not end by itself or takes minutes. Do not use nohup, setsid or a trailing & instead. To be told when a long task ends, set notify_on_complete; to be told when a server is up, set watch_patterns."
                    },
                    "timeout": {
                        "type": "integer",
                        "minimum": 1,
                        "description": "Most seconds the command may take (default: terminal.timeout, usually 180; at most 600 in the foreground). A quick command returns at once, whatever this says."
                    },
                    "workdir": {"type": "string", "description": "Directory for this command only; later commands start where they would have"},
                    "pty": {"type": "boolean", "default": false, "description": "Background only: give it a terminal, for programs that insist on one. Local sandboxes only."},
                    "notify_on_complete": {
                        "type": "boolean",
                        "default": false,
                        "description": "Background only: send one message when it ends, with exit code and last output. The right choice for builds, test runs, deployments and downloads: start it, do something else, and be told. No polling is needed then."
                    },
                    "watch_patterns": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": "Background only: send a message when a line of its output contains one of these texts (plain text, case matters). For a rare line that matters while the process goes on, such as `listening on` or `Traceback`. At most one message in 15 seconds; patterns that match all the time are switched off. Not together with notify_on_complete, which wins."
                    }
                },
                "required": ["command"]
            }),
        }
    }

    fn call<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match self.prepare(context, &arguments).await {
                Ok((wanted, true)) => self.start(context, wanted).await,
                Ok((wanted, false)) => self.run(context, wanted).await,
                Err(refusal) => *refusal,
            }
        })
    }

    fn preview(&self, arguments: &Value) -> String {
        let command = arguments
            .get("command")
            .and_then(Value::as_str)
            .unwrap_or("");
        command
            .lines()
            .next()
            .unwrap_or("")
            .chars()
            .take(120)
            .collect()
    }
}

impl TerminalTool {
    /// Everything that is decided before something is started.
    async fn prepare(
        &self,
        context: &ToolContext,
        arguments: &Value,
    ) -> Result<(Wanted, bool), Box<ToolOutput>> {
        let command = match arguments.get("command") {
            Some(Value::String(command)) => command.clone(),
            other => {
                return Err(Box::new(failure(format!(
                    "Invalid command: expected string, got {}",
                    type_name(other)
                ))));
            }
        };
        let settings = self.settings()?;
        let flag = |name: &str| {
            arguments
                .get(name)
                .and_then(Value::as_bool)
                .unwrap_or(false)
        };
        let background = flag("background");
        let timeout = arguments
            .get("timeout")
            .and_then(Value::as_u64)
            .map(|seconds| Duration::from_secs(seconds.max(1)));
        if let Some(asked) = timeout
            && !background
            && asked > settings.max_foreground_timeout
        {
            return Err(Box::new(ToolOutput::error(format!(
                "Foreground timeout {}s is above the maximum of {}s. Use background=true with notify_on_complete=true for what takes longer.",
                asked.as_secs(),
                settings.max_foreground_timeout.as_secs()
            ))));
        }
        let workdir = arguments
            .get("workdir")
            .and_then(Value::as_str)
            .map(str::to_owned)
            .filter(|text| !text.is_empty());
        if let Some(workdir) = &workdir
            && let Some(bad) = workdir.chars().find(|c| !may_stand_in_path(*c))
        {
            return Err(Box::new(result(
                -1,
                format!(
                    "Blocked: workdir contains the character {bad:?}, which no directory here needs. Use a plain path."
                ),
                "blocked",
            )));
        }
        if !background && let Some(reason) = endless(&command) {
            return Err(Box::new(failure(advice(&reason))));
        }
        let sandbox = self
            .sandboxes
            .get(&context.task)
            .map_err(|error| failure(format!("Failed to execute command: {error}")))?;
        let cwd = match &workdir {
            Some(workdir) => sandbox
                .resolve(&context.task, workdir, None)
                .map_or_else(|| workdir.clone(), |path| path.as_str().to_owned()),
            None => sandbox.session(&context.task).cwd(),
        };
        let approval = match self.gate.admit(context, &sandbox, &cwd, &command).await {
            Admission::Allowed { note } => note,
            Admission::Blocked { message, outcome } => {
                return Err(Box::new(Admission::refusal(&message, outcome)));
            }
        };
        let patterns = arguments.get("watch_patterns").and_then(Value::as_array);
        Ok((
            Wanted {
                command,
                workdir,
                timeout: timeout.unwrap_or(settings.timeout),
                pty: flag("pty"),
                notify_on_complete: flag("notify_on_complete"),
                watch_patterns: patterns
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
                    .map(str::to_owned)
                    .collect(),
                approval,
            },
            background,
        ))
    }

    pub(super) fn settings(&self) -> Result<TerminalSettings, Box<ToolOutput>> {
        self.sandboxes
            .settings()
            .map_err(|error| Box::new(failure(format!("Failed to execute command: {error}"))))
    }
}

fn type_name(value: Option<&Value>) -> &'static str {
    match value {
        None | Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "boolean",
        Some(Value::Number(_)) => "number",
        Some(Value::String(_)) => "string",
        Some(Value::Array(_)) => "array",
        Some(Value::Object(_)) => "object",
    }
}

fn may_stand_in_path(c: char) -> bool {
    c.is_alphanumeric() || "/\\:_-.~ +@=,".contains(c)
}

fn advice(reason: &Endless) -> String {
    match reason {
        Endless::Detaches(word) => format!(
            "`{word}` would leave a process that nobody can watch or end. Use background=true instead, with notify_on_complete or watch_patterns."
        ),
        Endless::BackgroundOperator => "`&` would leave a process that nobody can watch or end. Use background=true for it, and a call of its own for the rest.".to_owned(),
        Endless::Server(what) => format!(
            "`{what}` does not end by itself. Start it with background=true, and watch_patterns for the line that says it is ready."
        ),
    }
}
