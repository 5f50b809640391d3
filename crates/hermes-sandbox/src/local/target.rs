//! Starts scripts on this machine.

use std::io::Write;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::future::BoxFuture;
use hermes_process::{Command, Input, Output, OwnerDeath, Process, Reader, Resizer, Writer};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};

use crate::target::{
    Control, EndError, Exit, HostShell, Launch, LaunchError, OUTPUT_QUEUE, PtySize, Running, Shell,
    Stdin, Target,
};

/// Longer scripts do not fit into one argument (the kernel allows 128 KiB).
const MAX_ARGUMENT: usize = 120 << 10;

/// Read at once from the pipe, which holds as much at first.
const CHUNK: usize = 64 << 10;

/// The same for a command that filled its pipe: it has more to say.
const WIDE: usize = 256 << 10;

/// Writes to standard input waiting for their turn.
const INPUT_QUEUE: usize = 16;

/// `environment` is all that scripts see besides what each launch adds.
pub struct LocalTarget {
    temp_dir: String,
    environment: Vec<(String, String)>,
    bash: String,
    sh: String,
}

impl LocalTarget {
    pub fn new(temp_dir: impl Into<String>, environment: Vec<(String, String)>) -> Self {
        Self {
            temp_dir: temp_dir.into(),
            environment,
            bash: "bash".to_owned(),
            sh: "sh".to_owned(),
        }
    }

    /// With a bash that is not on the `PATH`.
    pub fn with_bash(mut self, bash: impl Into<String>) -> Self {
        self.bash = bash.into();
        self
    }

    /// The shell with its script, before any stream.
    fn shell(&self, shell: Shell, script: &[u8]) -> std::io::Result<Command> {
        let program = match shell {
            Shell::LoginBash | Shell::Bash => &self.bash,
            Shell::Sh => &self.sh,
        };
        let command = Command::new(program.as_str())
            .args(shell.argv().iter().skip(1).copied())
            .only_env(self.environment.iter().cloned())
            .arg("-c");
        if script.len() <= MAX_ARGUMENT {
            return Ok(command.arg(os_string(script.to_vec())));
        }
        // The shell reads all of it and removes it before it runs any of it.
        let path = script_file(&self.temp_dir, script)?;
        Ok(command
            .arg("__hermes_script=$(cat -- \"$1\" && rm -f -- \"$1\" && echo x) || exit 126; set --; eval \"${__hermes_script%x}\"")
            .arg(program.as_str())
            .arg(path))
    }

    async fn start(&self, launch: Launch) -> Result<Running, LaunchError> {
        let mut command = self
            .shell(launch.shell, &launch.script)
            .map_err(|error| LaunchError::NotStarted(format!("cannot write the script: {error}")))?
            .owner_death(OwnerDeath::KillTree);
        for (name, value) in launch.environment {
            command = command.env(name, value);
        }
        command = match (&launch.stdin, launch.pty) {
            (_, Some(size)) => command.terminal(size),
            (Stdin::Null, None) => command.stdin(Input::Null),
            (Stdin::Bytes(_) | Stdin::Pipe, None) => command.stdin(Input::Pipe),
        };
        if launch.pty.is_none() {
            command = command.stdout(Output::Pipe).stderr(Output::Merge);
        }
        let process = hermes_process::spawn(command).await.map_err(|error| {
            if error.is_not_found() {
                LaunchError::NoShell(launch.shell.argv().first().copied().unwrap_or("sh"))
            } else {
                LaunchError::NotStarted(error.to_string())
            }
        })?;
        let process = Arc::new(process);
        let (sender, output) = mpsc::channel(OUTPUT_QUEUE);
        if let Some(reader) = process.take_stdout() {
            tokio::spawn(pump(reader, sender));
        }
        let (input, orders) = mpsc::channel(INPUT_QUEUE);
        match (launch.stdin, process.take_stdin()) {
            (Stdin::Bytes(bytes), Some(mut pipe)) => {
                tokio::spawn(async move {
                    // A command need not read its input.
                    let _ = pipe.write_all(&bytes).await;
                });
            }
            (_, Some(writer)) => {
                tokio::spawn(feed(writer, orders));
            }
            (_, None) => {}
        }
        let waiting = process.clone();
        let exit = async move {
            match waiting.wait().await {
                Ok(exit) => exit.into(),
                Err(error) => Exit::Lost(format!("cannot learn how the command ended: {error}")),
            }
        };
        Ok(Running {
            output,
            exit: Box::pin(exit),
            control: Box::new(LocalControl {
                resizer: process.resizer(),
                process,
                input,
            }),
        })
    }
}

impl Target for LocalTarget {
    fn describe(&self) -> String {
        "local".to_owned()
    }

    fn temp_dir(&self) -> &str {
        &self.temp_dir
    }

    fn launch(&self, launch: Launch) -> BoxFuture<'_, Result<Running, LaunchError>> {
        Box::pin(self.start(launch))
    }

    fn host_shell(&self) -> Option<&dyn HostShell> {
        Some(self)
    }
}

impl HostShell for LocalTarget {
    fn command(&self, script: &str, shell: Shell) -> std::io::Result<Command> {
        self.shell(shell, script.as_bytes())
    }
}

/// Moves output into the queue until its end or until nobody wants it.
async fn pump(mut reader: Reader, sender: mpsc::Sender<Bytes>) {
    let mut buffer = BytesMut::new();
    let mut chunk = CHUNK;
    loop {
        buffer.reserve(chunk);
        tokio::select! {
            read = reader.read_buf(&mut buffer) => match read {
                Ok(0) | Err(_) => return,
                Ok(count) => {
                    if count >= CHUNK && chunk == CHUNK {
                        chunk = WIDE;
                        reader.widen(WIDE);
                    }
                    if sender.send(buffer.split().freeze()).await.is_err() {
                        return;
                    }
                }
            },
            () = sender.closed() => return,
        }
    }
}

/// Something to do with standard input, and where to say how it went.
enum InputOrder {
    Write(Bytes, oneshot::Sender<std::io::Result<()>>),
    Close(oneshot::Sender<std::io::Result<()>>),
}

/// Owns standard input until it is closed or nobody can ask for it any more.
async fn feed(mut writer: Writer, mut orders: mpsc::Receiver<InputOrder>) {
    while let Some(order) = orders.recv().await {
        match order {
            InputOrder::Write(bytes, reply) => {
                let _ = reply.send(writer.write_all(&bytes).await);
            }
            InputOrder::Close(reply) => match writer.end_of_input_byte() {
                Some(end) => {
                    let _ = reply.send(writer.write_all(&[end]).await);
                }
                None => {
                    drop(writer);
                    let _ = reply.send(Ok(()));
                    return;
                }
            },
        }
    }
}

struct LocalControl {
    process: Arc<Process>,
    input: mpsc::Sender<InputOrder>,
    resizer: Option<Resizer>,
}

impl LocalControl {
    async fn order(
        &self,
        order: InputOrder,
        answer: oneshot::Receiver<std::io::Result<()>>,
    ) -> std::io::Result<()> {
        let closed = || std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        self.input.send(order).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }
}

impl Control for LocalControl {
    fn terminate(&self, grace: Duration) -> BoxFuture<'_, Result<(), EndError>> {
        Box::pin(async move { Ok(self.process.terminate(grace).await?) })
    }

    fn write(&self, bytes: Bytes) -> BoxFuture<'_, std::io::Result<()>> {
        let (reply, answer) = oneshot::channel();
        Box::pin(self.order(InputOrder::Write(bytes, reply), answer))
    }

    fn close_stdin(&self) -> BoxFuture<'_, std::io::Result<()>> {
        let (reply, answer) = oneshot::channel();
        Box::pin(self.order(InputOrder::Close(reply), answer))
    }

    fn resize(&self, size: PtySize) -> std::io::Result<()> {
        match &self.resizer {
            Some(resizer) => resizer.resize(size),
            None => Err(std::io::ErrorKind::Unsupported.into()),
        }
    }

    fn pid(&self) -> Option<i32> {
        Some(self.process.pid())
    }
}

fn os_string(bytes: Vec<u8>) -> std::ffi::OsString {
    use std::os::unix::ffi::OsStringExt;
    std::ffi::OsString::from_vec(bytes)
}

/// A file only its owner can read; the shell that reads it removes it.
fn script_file(directory: &str, script: &[u8]) -> std::io::Result<std::path::PathBuf> {
    let mut file = tempfile::Builder::new()
        .prefix("hermes-script-")
        .tempfile_in(directory)?;
    file.write_all(script)?;
    let (_, path) = file.keep().map_err(|error| error.error)?;
    Ok(path)
}
