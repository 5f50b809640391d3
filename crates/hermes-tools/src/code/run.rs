//! One script: started, served, ended.

use std::time::Duration;

use hermes_config::{Config, ConfigError};
use hermes_sandbox::Sandbox;
use hermes_sandbox::session::{Window, quote};
use hermes_sandbox::target::{Exit, Launch, LaunchError, Running, Shell, Stdin};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::frames::{Frames, Piece};
use super::{environment, tool::Calls};
use crate::tool::ToolContext;

const BOOTSTRAP: &str = include_str!("bootstrap.py");
const OUTPUT_LIMIT: usize = 50_000;
const ERRORS_LIMIT: usize = 10_000;
/// Of the last line of the errors, which says what went wrong.
const SUMMARY_LIMIT: usize = 500;
const GRACE: Duration = Duration::from_secs(2);
/// Output of descendants that outlive the script is waited for this long.
const LINGER: Duration = Duration::from_millis(200);
/// What the shell answers where there is no interpreter.
const NO_PYTHON: i32 = 127;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeLimits {
    pub timeout: Duration,
    pub tool_calls: u32,
    /// `code_execution.mode: strict`: no environment of the project, and an empty
    /// directory of its own.
    pub strict: bool,
    /// Variables that the user lets through.
    pub passthrough: Vec<String>,
}

impl CodeLimits {
    pub fn read(config: &Config) -> Result<Self, ConfigError> {
        let timeout = config.integer("code_execution.timeout")?;
        let calls = config.integer("code_execution.max_tool_calls")?;
        Ok(Self {
            timeout: Duration::from_secs(u64::try_from(timeout).unwrap_or(1).max(1)),
            tool_calls: u32::try_from(calls).unwrap_or(0),
            strict: config.string("code_execution.mode")? == "strict",
            passthrough: config.strings("terminal.env_passthrough")?,
        })
    }
}

pub(super) struct Script<'a> {
    pub(super) sandbox: &'a Sandbox,
    pub(super) context: &'a ToolContext,
    pub(super) limits: &'a CodeLimits,
    pub(super) calls: Calls<'a>,
}

enum End {
    Exited(i32),
    TimedOut,
    Interrupted,
    Lost(String),
}

impl Script<'_> {
    /// What the model reads.
    pub(super) async fn run(mut self, code: &str) -> Value {
        let started = Instant::now();
        let directory = self.own_directory();
        let mut output = Window::new(OUTPUT_LIMIT);
        let mut errors = Window::new(ERRORS_LIMIT);
        let end = match self.launch(directory.as_deref()).await {
            Ok(running) => self.serve(running, code, &mut output, &mut errors).await,
            Err(error) => End::Lost(error.to_string()),
        };
        if let (Some(directory), false) = (&directory, matches!(end, End::Exited(_))) {
            self.remove(directory).await;
        }
        let output = output.finish().joined();
        let errors = errors.finish().joined();
        let mut result = self.report(end, output, &errors);
        result["tool_calls_made"] = self.calls.made().into();
        let seconds = (started.elapsed().as_secs_f64() * 100.0).round() / 100.0;
        result["duration_seconds"] = seconds.into();
        result
    }

    fn own_directory(&self) -> Option<String> {
        self.limits.strict.then(|| {
            let name = uuid::Uuid::new_v4().simple().to_string();
            format!(
                "{}/hermes_sandbox_{}",
                self.sandbox.target().temp_dir(),
                &name[..12]
            )
        })
    }

    async fn launch(&self, directory: Option<&str>) -> Result<Running, LaunchError> {
        let variables = &self.sandbox.session_options().environment;
        let mut given = if self.sandbox.backend().is_container() {
            // Chosen for the container, name by name.
            variables.clone()
        } else {
            environment::allowed(variables, &self.limits.passthrough)
        };
        let session = self.sandbox.session(&self.context.task);
        given.extend(session.script_variables());
        given.extend(environment::always());
        let mut launch = Launch::new(self.shell_script(directory), Shell::Sh);
        launch.environment = given;
        launch.stdin = Stdin::Pipe;
        self.sandbox.target().launch(launch).await
    }

    fn shell_script(&self, directory: Option<&str>) -> String {
        let boot = quote(BOOTSTRAP);
        let (place, interpreter, end) = match directory {
            Some(directory) => {
                let directory = quote(directory);
                (
                    format!("mkdir -m 700 {directory} && cd {directory} || exit 1"),
                    "",
                    format!("\nr=$?; cd /; rm -rf {directory}; exit $r"),
                )
            }
            None => {
                let cwd = self.sandbox.session(&self.context.task).cwd();
                // Before the first command it may still be `~`.
                let cwd = match cwd.strip_prefix('~') {
                    Some("") => "\"$HOME\"".to_owned(),
                    Some(rest) if rest.starts_with('/') => format!("\"$HOME\"{}", quote(rest)),
                    _ => quote(&cwd),
                };
                (
                    format!("cd {cwd} 2>/dev/null || cd /"),
                    "for d in \"$VIRTUAL_ENV\" \"$CONDA_PREFIX\"; do [ -n \"$d\" ] && [ -x \"$d/bin/python\" ] && \"$d/bin/python\" -c 'import sys; sys.exit(sys.version_info < (3, 8))' && p=$d/bin/python && break; done\n",
                    String::new(),
                )
            }
        };
        let exec = if directory.is_some() { "" } else { "exec " };
        format!(
            "{place}\np=python3\n{interpreter}command -v \"$p\" >/dev/null 2>&1 || exit {NO_PYTHON}\n{exec}\"$p\" -c {boot}{end}"
        )
    }

    async fn serve(
        &mut self,
        mut running: Running,
        code: &str,
        output: &mut Window,
        errors: &mut Window,
    ) -> End {
        let mark = uuid::Uuid::new_v4().simple().to_string();
        let mut frames = Frames::new(&mark);
        let start = json!({
            "mark": mark, "code": code, "tools": self.calls.names(), "path": !self.limits.strict,
        });
        let deadline = tokio::time::sleep(self.limits.timeout);
        tokio::pin!(deadline);
        let cancel = self.context.cancel.clone();
        // An interpreter that is not there does not read; its exit says why.
        let _ = running.control.write(format!("{start}\n").into()).await;
        let mut exit: Option<Exit> = None;
        let linger = tokio::time::sleep(Duration::MAX / 4);
        tokio::pin!(linger);
        let stopped = loop {
            tokio::select! {
                biased;
                () = cancel.cancelled() => break Some(End::Interrupted),
                () = &mut deadline => break Some(End::TimedOut),
                chunk = running.output.recv() => {
                    let Some(chunk) = chunk else { break None };
                    let work = async {
                        for piece in frames.push(&chunk) {
                            match piece {
                                Piece::Output(bytes) => output.push(&bytes),
                                Piece::Errors(bytes) => errors.push(&bytes),
                                Piece::Request(request) => {
                                    let answer = self.calls.answer(&request).await;
                                    let line = format!("{}\n", Value::String(answer));
                                    let _ = running.control.write(line.into()).await;
                                }
                            }
                        }
                    };
                    tokio::select! {
                        () = work => {}
                        () = cancel.cancelled() => break Some(End::Interrupted),
                        () = &mut deadline => break Some(End::TimedOut),
                    }
                }
                ended = &mut running.exit, if exit.is_none() => {
                    exit = Some(ended);
                    linger.as_mut().reset(Instant::now() + LINGER);
                }
                () = &mut linger, if exit.is_some() => break None,
            }
        };
        output.push(&frames.finish());
        if let Some(end) = stopped {
            if let Err(error) = running.control.terminate(GRACE).await {
                tracing::warn!(%error, "a script may still run");
            }
            return end;
        }
        let exit = match exit {
            Some(exit) => exit,
            None => running.exit.await,
        };
        match exit {
            Exit::Code(code) => End::Exited(code),
            Exit::Signal(signal) => End::Exited(128 + signal),
            Exit::Lost(reason) => End::Lost(reason),
        }
    }

    async fn remove(&self, directory: &str) {
        let script = format!("rm -rf {}", quote(directory));
        let target = &**self.sandbox.target();
        let _ = hermes_sandbox::run_script(target, script, Stdin::Null, 0, GRACE).await;
    }

    fn report(&self, end: End, mut output: String, errors: &str) -> Value {
        let (status, error) = match end {
            End::Exited(0) => ("success", None),
            End::Exited(NO_PYTHON) if output.is_empty() && errors.is_empty() => (
                "error",
                Some("there is no python3 in the sandbox: install it there, or use the terminal tool".to_owned()),
            ),
            End::Exited(code) => {
                if !errors.is_empty() {
                    output.push_str("\n--- stderr ---\n");
                    output.push_str(errors);
                }
                let last = errors.lines().rev().find(|line| !line.trim().is_empty());
                let text = match last {
                    // All of it stands in the output already.
                    Some(line) => line.trim().chars().take(SUMMARY_LIMIT).collect(),
                    None => format!("the script ended with code {code}"),
                };
                ("error", Some(text))
            }
            End::TimedOut => {
                let text = format!(
                    "the script was ended after {} s (code_execution.timeout)",
                    self.limits.timeout.as_secs()
                );
                append(&mut output, &text);
                ("timeout", Some(text))
            }
            End::Interrupted => {
                append(&mut output, "the script was interrupted");
                ("interrupted", Some("interrupted".to_owned()))
            }
            End::Lost(reason) => ("error", Some(reason)),
        };
        let mut value = json!({"status": status, "output": output});
        if let Some(error) = error {
            value["error"] = error.into();
        }
        value
    }
}

fn append(output: &mut String, text: &str) {
    if !output.is_empty() && !output.ends_with('\n') {
        output.push('\n');
    }
    output.push('[');
    output.push_str(text);
    output.push(']');
}
