//! Background processes of this machine.
//!
//! Output goes to a file that only the user can read, not to a pipe: the process
//! outlives us without being killed by its next line, and is found again with its
//! output. While we live the file is kept small by giving its beginning back to the
//! file system. A process on a terminal has no file and ends with us.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hermes_process::{
    Command, Exit, Identity, Input, Output, OwnerDeath, Process, Reader, Resizer, Tree, Writer,
};
use nix::fcntl::{FallocateFlags, fallocate};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};

use super::entry::Entry;
use super::follow::Follower;
use crate::target::PtySize;

/// A log longer than this loses its beginning.
const KEEP: u64 = 4 << 20;
/// Given back in pieces of this size, a multiple of any block size.
const STEP: u64 = 4 << 20;
const CHUNK: usize = 64 << 10;
/// For the last words of a terminal that a descendant keeps open.
const LAST_WORDS: Duration = Duration::from_millis(300);
const INPUT_QUEUE: usize = 16;

pub(super) struct HostHandle {
    pub(super) tree: Tree,
    /// `None` for a process found again: its input is not ours.
    input: Option<mpsc::Sender<InputOrder>>,
    resizer: Option<Resizer>,
}

enum InputOrder {
    Write(Bytes, oneshot::Sender<io::Result<()>>),
    Close(oneshot::Sender<io::Result<()>>),
}

/// Started, not yet followed.
pub(super) struct HostStart {
    pub(super) handle: HostHandle,
    process: Process,
    source: Source,
}

enum Source {
    Log(PathBuf),
    Terminal(Reader),
}

impl HostStart {
    pub(super) fn identity(&self) -> &Identity {
        self.process.identity()
    }
}

/// `log` is made here and must not exist.
pub(super) async fn start(
    command: Command,
    log: &Path,
    terminal: Option<PtySize>,
) -> Result<HostStart, String> {
    let command = command.owner_death(OwnerDeath::LeaveRunning);
    let command = match terminal {
        Some(size) => command.terminal(size),
        None => {
            let file = OpenOptions::new()
                .create_new(true)
                .append(true)
                .mode(0o600)
                .open(log)
                .map_err(|error| format!("cannot create {}: {error}", log.display()))?;
            command
                .stdin(Input::Pipe)
                .stdout(Output::File(file))
                .stderr(Output::Merge)
        }
    };
    let process = hermes_process::spawn(command).await.map_err(|error| {
        let _ = std::fs::remove_file(log);
        error.to_string()
    })?;
    let input = process.take_stdin().map(|writer| {
        let (sender, orders) = mpsc::channel(INPUT_QUEUE);
        tokio::spawn(feed(writer, orders));
        sender
    });
    let source = match process.take_stdout() {
        Some(reader) => Source::Terminal(reader),
        None => Source::Log(log.to_owned()),
    };
    Ok(HostStart {
        handle: HostHandle {
            tree: process.tree().clone(),
            input,
            resizer: process.resizer(),
        },
        process,
        source,
    })
}

/// A process that another Hermes started.
pub(super) fn found(tree: Tree) -> HostHandle {
    HostHandle {
        tree,
        input: None,
        resizer: None,
    }
}

impl HostStart {
    /// The handle for the entry, and what remains to be followed.
    pub(super) fn split(self) -> (HostHandle, Following) {
        (
            self.handle,
            Following {
                process: self.process,
                source: self.source,
            },
        )
    }
}

pub(super) struct Following {
    process: Process,
    source: Source,
}

impl Following {
    /// Passes the output on until the process ends; then tells how it ended.
    pub(super) async fn run(self, entry: &Arc<Entry>) -> Option<i32> {
        let exit = match self.source {
            Source::Log(log) => {
                let exit = self.process.wait();
                let exit = follow_log(&log, entry, exit).await;
                let _ = std::fs::remove_file(&log);
                exit
            }
            Source::Terminal(reader) => follow_terminal(reader, entry, &self.process).await,
        };
        exit.ok().map(code)
    }
}

/// Follows a process that is not our child: how it ends cannot be known.
pub(super) async fn follow_found(identity: Identity, log: Option<PathBuf>, entry: &Arc<Entry>) {
    match log.filter(|log| log.exists()) {
        Some(log) => {
            follow_log(&log, entry, identity.ended()).await;
            let _ = std::fs::remove_file(&log);
        }
        None => identity.ended().await,
    }
}

/// As a shell's caller counts: a signal is its negative.
fn code(exit: Exit) -> i32 {
    match exit {
        Exit::Code(code) => code,
        Exit::Signal(signal) => -signal,
    }
}

async fn follow_log<T>(log: &Path, entry: &Arc<Entry>, end: impl Future<Output = T>) -> T {
    let follower = Follower::new(log);
    let mut reading = Log::open(log);
    tokio::pin!(end);
    loop {
        reading.catch_up(entry).await;
        tokio::select! {
            outcome = &mut end => {
                reading.catch_up(entry).await;
                return outcome;
            }
            () = follower.grown() => {}
        }
    }
}

struct Log {
    file: Option<Arc<File>>,
    offset: u64,
    released: u64,
}

impl Log {
    fn open(path: &Path) -> Self {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .ok()
            .map(Arc::new);
        // Of a log found again only the end is of interest.
        let length = file
            .as_ref()
            .and_then(|file| file.metadata().ok())
            .map_or(0, |meta| meta.len());
        Self {
            file,
            offset: length.saturating_sub(KEEP),
            released: 0,
        }
    }

    async fn catch_up(&mut self, entry: &Arc<Entry>) {
        let Some(file) = self.file.clone() else {
            return;
        };
        loop {
            let (reading, offset) = (file.clone(), self.offset);
            let read = tokio::task::spawn_blocking(move || {
                let mut chunk = vec![0; CHUNK];
                let count = reading.read_at(&mut chunk, offset)?;
                chunk.truncate(count);
                io::Result::Ok(chunk)
            });
            match read.await {
                Ok(Ok(chunk)) if !chunk.is_empty() => {
                    self.offset += chunk.len() as u64;
                    self.give_back(&file);
                    entry.absorb(&chunk);
                }
                _ => return,
            }
        }
    }

    /// Frees the beginning of the file; offsets stay as they are.
    fn give_back(&mut self, file: &File) {
        while self.offset >= self.released + STEP + KEEP {
            let hole = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
            let from = i64::try_from(self.released).unwrap_or(i64::MAX);
            // Not every file system can; the log is then as long as the output.
            let _ = fallocate(file, hole, from, STEP as i64);
            self.released += STEP;
        }
    }
}

async fn follow_terminal(
    mut reader: Reader,
    entry: &Arc<Entry>,
    process: &Process,
) -> io::Result<Exit> {
    let mut chunk = vec![0; CHUNK];
    let exit = loop {
        tokio::select! {
            read = reader.read(&mut chunk) => match read {
                Ok(count) if count > 0 => entry.absorb(&chunk[..count]),
                _ => break process.wait().await,
            },
            exit = process.wait() => break exit,
        }
    };
    let drain = async {
        while let Ok(count) = reader.read(&mut chunk).await {
            if count == 0 {
                break;
            }
            entry.absorb(&chunk[..count]);
        }
    };
    let _ = tokio::time::timeout(LAST_WORDS, drain).await;
    exit
}

/// Owns standard input until it is closed.
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

impl HostHandle {
    async fn order(
        &self,
        make: impl FnOnce(oneshot::Sender<io::Result<()>>) -> InputOrder,
    ) -> io::Result<()> {
        let closed = || io::Error::new(io::ErrorKind::BrokenPipe, "its standard input is closed");
        let input = self.input.as_ref().ok_or_else(closed)?;
        let (reply, answer) = oneshot::channel();
        input.send(make(reply)).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }

    pub(super) async fn write(&self, bytes: Bytes) -> io::Result<()> {
        self.order(|reply| InputOrder::Write(bytes, reply)).await
    }

    pub(super) async fn close(&self) -> io::Result<()> {
        self.order(InputOrder::Close).await
    }

    pub(super) fn resize(&self, size: PtySize) -> io::Result<()> {
        match &self.resizer {
            Some(resizer) => resizer.resize(size),
            None => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}
