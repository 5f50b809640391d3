//! Short helpers run to their end: `docker version`, `git rev-parse`, `ssh -O check`.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::command::{Command, Input, Output};
use crate::error::OutputError;
use crate::exit::Exit;
use crate::process::spawn;
use crate::stream::{Reader, Writer};

/// How long after the helper's end its output may still come, if a descendant
/// holds the pipe.
const DRAIN: Duration = Duration::from_millis(300);

/// Between SIGTERM and SIGKILL when a helper exceeds its time.
const GRACE: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub timeout: Duration,
    /// Kept of each stream, from its beginning; the rest is read and dropped.
    pub max_bytes: usize,
}

impl Limits {
    pub fn seconds(seconds: u64) -> Self {
        Self {
            timeout: Duration::from_secs(seconds),
            max_bytes: 4 << 20,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    pub exit: Exit,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// One of the streams was longer than the limit.
    pub truncated: bool,
}

impl Captured {
    pub fn success(&self) -> bool {
        self.exit.success()
    }

    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    pub fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

/// Runs the command with both outputs captured. Ends its tree when the time is up
/// or the future is dropped.
pub async fn output(mut command: Command, limits: Limits) -> Result<Captured, OutputError> {
    let program = command.program.clone();
    let bytes = command.input_bytes.take();
    if matches!(command.output, Output::Null) {
        command.output = Output::Pipe;
    }
    if matches!(command.error, Output::Null) {
        command.error = Output::Pipe;
    }
    if bytes.is_some() {
        command.input = Input::Pipe;
    }
    let process = spawn(command).await?;
    let mut stdout = Capture::new(process.take_stdout(), limits.max_bytes);
    let mut stderr = Capture::new(process.take_stderr(), limits.max_bytes);
    let finished = {
        let feeding = feed(process.take_stdin(), bytes);
        let run = async {
            let streams = async { tokio::join!(stdout.finish(), stderr.finish(), feeding) };
            tokio::pin!(streams);
            tokio::select! {
                exit = process.wait() => {
                    let _ = tokio::time::timeout(DRAIN, &mut streams).await;
                    exit
                }
                _ = &mut streams => process.wait().await,
            }
        };
        tokio::time::timeout(limits.timeout, run).await
    };
    let mut captured = |exit| Captured {
        exit,
        truncated: stdout.truncated || stderr.truncated,
        stdout: std::mem::take(&mut stdout.kept),
        stderr: std::mem::take(&mut stderr.kept),
    };
    match finished {
        Ok(Ok(exit)) => Ok(captured(exit)),
        Ok(Err(source)) => Err(OutputError::Read { program, source }),
        Err(_elapsed) => {
            let _ = process.terminate(GRACE).await;
            Err(OutputError::Timeout {
                program,
                limit: limits.timeout,
                partial: Box::new(captured(Exit::Signal(15))),
            })
        }
    }
}

/// [`output`] for verbs that have no runtime.
pub fn output_blocking(command: Command, limits: Limits) -> Result<Captured, OutputError> {
    if tokio::runtime::Handle::try_current().is_ok() {
        return Err(OutputError::InsideRuntime);
    }
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(OutputError::Runtime)?
        .block_on(output(command, limits))
}

async fn feed(writer: Option<Writer>, bytes: Option<Vec<u8>>) {
    if let (Some(mut writer), Some(bytes)) = (writer, bytes) {
        // A helper that does not read all of it is its own business.
        let _ = writer.write_all(&bytes).await;
    }
}

struct Capture {
    reader: Option<Reader>,
    kept: Vec<u8>,
    limit: usize,
    truncated: bool,
}

impl Capture {
    fn new(reader: Option<Reader>, limit: usize) -> Self {
        Self {
            reader,
            kept: Vec::new(),
            limit,
            truncated: false,
        }
    }

    /// Reads to the end, keeping the first `limit` bytes.
    async fn finish(&mut self) {
        let Some(reader) = &mut self.reader else {
            return;
        };
        let mut chunk = vec![0; 16 << 10];
        while let Ok(count) = reader.read(&mut chunk).await {
            if count == 0 {
                break;
            }
            let room = self.limit - self.kept.len();
            self.kept.extend_from_slice(&chunk[..count.min(room)]);
            self.truncated |= count > room;
        }
        self.reader = None;
    }
}
