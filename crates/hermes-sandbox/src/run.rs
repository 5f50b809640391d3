//! A short script of ours in a target: one launch, bounded output, no state.

use std::time::Duration;

use crate::target::{Exit, Launch, LaunchError, Shell, Stdin, Target};

/// What a script said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptOutcome {
    /// As a shell counts: 128 and more for signals.
    pub code: i32,
    /// Standard output and error, merged, up to the limit.
    pub output: Vec<u8>,
    /// There was more than the limit.
    pub truncated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    #[error(transparent)]
    Launch(#[from] LaunchError),
    #[error("no answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The target went away; the script may have run.
    #[error("{0}")]
    Lost(String),
}

pub async fn run_script(
    target: &dyn Target,
    script: impl Into<Vec<u8>>,
    stdin: Stdin,
    max_bytes: usize,
    patience: Duration,
) -> Result<ScriptOutcome, ScriptError> {
    let mut launch = Launch::new(script, Shell::Sh);
    launch.stdin = stdin;
    let work = async {
        let mut running = target.launch(launch).await?;
        let mut output = Vec::new();
        let mut truncated = false;
        while let Some(chunk) = running.output.recv().await {
            let room = max_bytes - output.len();
            output.extend_from_slice(&chunk[..chunk.len().min(room)]);
            truncated |= chunk.len() > room;
        }
        let code = match running.exit.await {
            Exit::Code(code) => code,
            Exit::Signal(signal) => 128 + signal,
            Exit::Lost(reason) => return Err(ScriptError::Lost(reason)),
        };
        Ok(ScriptOutcome {
            code,
            output,
            truncated,
        })
    };
    tokio::time::timeout(patience, work)
        .await
        .unwrap_or(Err(ScriptError::TimedOut(patience)))
}
