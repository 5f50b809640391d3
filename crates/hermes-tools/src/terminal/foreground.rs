//! A command that is waited for.

use std::time::Duration;

use hermes_sandbox::command::inspect::code_meaning;
use hermes_sandbox::command::rewrite::background_tail;
use hermes_sandbox::session::{Ending, RunError, RunOutcome, RunRequest, Tee};
use hermes_types::{ToolOutput, TurnEvent};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::ansi::strip_ansi;
use super::tool::{TerminalTool, Wanted, failure};
use crate::tool::ToolContext;

/// A line of progress at most this often.
const PROGRESS: Duration = Duration::from_millis(300);
/// A sign of life for whoever watches for silence.
const ACTIVITY: Duration = Duration::from_secs(10);
/// Of one line of progress.
const PROGRESS_CHARS: usize = 200;
/// Chunks of output waiting to be shown; more are left out.
const PROGRESS_QUEUE: usize = 8;

impl TerminalTool {
    pub(super) async fn run(&self, context: &ToolContext, wanted: Wanted) -> ToolOutput {
        let settings = match self.settings() {
            Ok(settings) => settings,
            Err(refusal) => return *refusal,
        };
        let sandbox = match self.sandboxes.get(&context.task) {
            Ok(sandbox) => sandbox,
            Err(error) => return failure(format!("Failed to execute command: {error}")),
        };
        let prepared = self
            .passwords
            .prepare(
                context,
                &sandbox,
                &settings,
                background_tail(&wanted.command),
            )
            .await;
        let session = sandbox.session(&context.task);
        let (sender, receiver) = mpsc::channel(PROGRESS_QUEUE);
        let request = RunRequest {
            workdir: wanted.workdir.clone(),
            timeout: wanted.timeout,
            stdin: prepared.stdin,
            exports: vec![("HERMES_SESSION_ID".to_owned(), context.session.to_string())],
            cancel: context.cancel.clone(),
            tee: Some(Tee::Sample(sender)),
            output_limit: settings.max_output_chars,
            ..RunRequest::new(prepared.command)
        };
        let outcome = with_progress(context, session.run(request), receiver).await;
        match outcome {
            Ok(outcome) => self.report(&wanted, &outcome),
            Err(RunError::Interrupted) => ToolOutput::json(&json!({
                "output": "[Command interrupted]", "exit_code": 130, "error": null
            })),
            Err(error) => failure(format!("Failed to execute command: {error}")),
        }
    }

    fn report(&self, wanted: &Wanted, outcome: &RunOutcome) -> ToolOutput {
        let mut text = outcome.output.joined();
        if let Some(file) = &self.password_file
            && sudo_wanted_password(&text)
        {
            text.push_str(&format!(
                "\n[sudo needs a password, and nobody can type one here. Setting SUDO_PASSWORD in {} would supply it.]",
                file.display()
            ));
        }
        let text = strip_ansi(&text);
        let code = outcome.ending.code();
        let lost = match &outcome.ending {
            Ending::Lost(reason) => Some(reason.clone()),
            _ => None,
        };
        let mut value = json!({
            "output": text.trim(),
            "exit_code": code,
            "error": lost,
        });
        if lost.is_some() {
            value["status"] = "error".into();
        }
        if let Some(note) = &wanted.approval {
            value["approval"] = note.clone().into();
        }
        if matches!(outcome.ending, Ending::Exited(_))
            && let Some(meaning) = code_meaning(&wanted.command, code)
        {
            value["exit_code_meaning"] = meaning.into();
        }
        ToolOutput {
            failed: lost.is_some(),
            ..ToolOutput::json(&Value::Object(
                value.as_object().cloned().unwrap_or_default(),
            ))
        }
    }
}

/// Tells what a running command prints, line by line but not too often, and that it
/// is alive when it prints nothing.
async fn with_progress<T>(
    context: &ToolContext,
    work: impl Future<Output = T>,
    mut chunks: mpsc::Receiver<bytes::Bytes>,
) -> T {
    tokio::pin!(work);
    let began = Instant::now();
    let mut latest: Option<String> = None;
    let mut next = began + PROGRESS;
    let mut sign = began + ACTIVITY;
    let mut open = true;
    loop {
        let wake = if latest.is_some() {
            next.min(sign)
        } else {
            sign
        };
        tokio::select! {
            outcome = &mut work => return outcome,
            chunk = chunks.recv(), if open => match chunk {
                Some(chunk) => {
                    if let Some(line) = last_line(&chunk) {
                        latest = Some(line);
                    }
                }
                None => open = false,
            },
            () = tokio::time::sleep_until(wake) => {
                let now = Instant::now();
                let text = latest.take().unwrap_or_else(|| {
                    format!("still running after {} s", began.elapsed().as_secs())
                });
                context
                    .events
                    .emit(TurnEvent::ToolProgress { id: context.call_id.clone(), text })
                    .await;
                next = now + PROGRESS;
                sign = now + ACTIVITY;
            }
        }
    }
}

fn last_line(chunk: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(chunk);
    let text = strip_ansi(&text);
    let line = text
        .split(['\n', '\r'])
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty())?;
    Some(line.chars().take(PROGRESS_CHARS).collect())
}

fn sudo_wanted_password(output: &str) -> bool {
    output.contains("sudo: a password is required")
        || output.contains("sudo: a terminal is required")
        || output.contains("sudo: no tty present")
}
