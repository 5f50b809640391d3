//! The thread that forks.
//!
//! The parent-death signal of Linux belongs to the *thread* that forked: a child
//! started on a worker of the runtime would be killed when that worker ends. So
//! every child is started by one thread that lives as long as the process.

use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::pty::{grantpt, posix_openpt, ptsname_r, unlockpt};
use nix::unistd::Pid;
use tokio::sync::{mpsc, oneshot};

use crate::command::{Command, Grouping, Input, Output, OwnerDeath, WindowSize};
use crate::error::SpawnError;
use crate::guard;
use crate::identity::Identity;
use crate::mark::Mark;
use crate::proc_fs;
use crate::sys::{self, Preparation};
use crate::tree::Tree;

/// A child just started, with our ends of its streams.
pub(crate) struct Started {
    pub(crate) child: Child,
    pub(crate) tree: Tree,
    pub(crate) owner_death: OwnerDeath,
    pub(crate) stdin: Option<OwnedFd>,
    pub(crate) stdout: Option<OwnedFd>,
    pub(crate) stderr: Option<OwnedFd>,
    pub(crate) terminal: Option<OwnedFd>,
}

struct Order {
    command: Command,
    reply: oneshot::Sender<Result<Started, SpawnError>>,
}

/// Requests waiting for the thread; more wait in their callers.
const QUEUE: usize = 64;

/// Starts the command on the spawning thread.
pub(crate) async fn start(command: Command) -> Result<Started, SpawnError> {
    let (reply, answer) = oneshot::channel();
    let spawner = spawner().ok_or(SpawnError::NoSpawner)?;
    spawner
        .send(Order { command, reply })
        .await
        .map_err(|_| SpawnError::NoSpawner)?;
    answer.await.map_err(|_| SpawnError::NoSpawner)?
}

fn spawner() -> Option<&'static mpsc::Sender<Order>> {
    static SPAWNER: OnceLock<Option<mpsc::Sender<Order>>> = OnceLock::new();
    SPAWNER
        .get_or_init(|| {
            let (sender, mut orders) = mpsc::channel::<Order>(QUEUE);
            std::thread::Builder::new()
                .name("hermes-spawn".to_owned())
                .spawn(move || {
                    while let Some(order) = orders.blocking_recv() {
                        let started = start_here(order.command);
                        // The caller gave up while the child was being started.
                        if let Err(Ok(orphan)) = order.reply.send(started) {
                            abandon(orphan);
                        }
                    }
                })
                .ok()
                .map(|_| sender)
        })
        .as_ref()
}

fn abandon(started: Started) {
    match started.owner_death {
        OwnerDeath::LeaveRunning => crate::undertaker::reap(started.child),
        OwnerDeath::KillChild | OwnerDeath::KillTree => {
            let mark = started.tree.mark;
            crate::undertaker::kill(started.child, started.tree);
            guard::forget(mark);
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this crate is where processes are started"
)]
fn start_here(command: Command) -> Result<Started, SpawnError> {
    let Command {
        program,
        name,
        arguments,
        only_environment,
        environment,
        directory,
        input,
        input_bytes: _,
        output,
        error,
        terminal,
        owner_death,
        grouping,
    } = command;
    let mark = Mark::fresh();
    let mut child = std::process::Command::new(&program);
    if let Some(name) = name {
        std::os::unix::process::CommandExt::arg0(&mut child, name);
    }
    child.args(arguments);
    if only_environment {
        child.env_clear();
    }
    for (name, value) in environment {
        match value {
            Some(value) => child.env(name, value),
            None => child.env_remove(name),
        };
    }
    if let Some(directory) = &directory {
        child.current_dir(directory);
    }

    let streams = match terminal {
        Some(size) => Streams::terminal(&mut child, size),
        None => Streams::pipes(&mut child, input, output, error),
    }
    .map_err(|source| SpawnError::Streams {
        program: program.clone(),
        source,
    })?;

    let die_with = match owner_death {
        OwnerDeath::LeaveRunning => None,
        OwnerDeath::KillChild | OwnerDeath::KillTree => Some(Pid::this()),
    };
    sys::prepare(
        &mut child,
        Preparation {
            grouping,
            controlling_terminal: terminal.is_some(),
            die_with,
            mark,
        },
    );
    if owner_death == OwnerDeath::KillTree {
        guard::watch(mark);
    }
    let child = child.spawn().map_err(|source| {
        if owner_death == OwnerDeath::KillTree {
            guard::forget(mark);
        }
        match directory {
            Some(directory) if !directory.is_dir() => SpawnError::Directory {
                program: program.clone(),
                directory,
                source,
            },
            _ => SpawnError::Start {
                program: program.clone(),
                source,
            },
        }
    })?;
    let pid = i32::try_from(child.id()).unwrap_or(0);
    // The child is ours and not reaped, so it exists, if only as a zombie.
    let root = Identity::of(pid).unwrap_or(Identity {
        pid,
        start_ticks: 0,
        boot_id: crate::identity::boot_id().to_owned(),
    });
    if owner_death == OwnerDeath::KillTree && !marks_work(pid, mark) {
        guard::watch_group(mark, pid);
    }
    // Marked, so that no tree around us claims what a client makes; but not by this mark.
    let mark = match owner_death {
        OwnerDeath::KillChild => Mark::NOBODY,
        OwnerDeath::KillTree | OwnerDeath::LeaveRunning => mark,
    };
    Ok(Started {
        child,
        tree: Tree {
            root,
            mark,
            session: grouping == Grouping::Session,
        },
        owner_death,
        stdin: streams.stdin,
        stdout: streams.stdout,
        stderr: streams.stderr,
        terminal: streams.terminal,
    })
}

/// Looked up once, with the first child: a kernel supports this or does not.
fn marks_work(pid: i32, mark: Mark) -> bool {
    static WORK: AtomicU8 = AtomicU8::new(0);
    match WORK.load(Ordering::Relaxed) {
        0 => {
            let work = proc_fs::mark(pid) == Some(mark);
            WORK.store(if work { 1 } else { 2 }, Ordering::Relaxed);
            work
        }
        state => state == 1,
    }
}

#[derive(Default)]
struct Streams {
    stdin: Option<OwnedFd>,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
    terminal: Option<OwnedFd>,
}

impl Streams {
    fn pipes(
        child: &mut std::process::Command,
        input: Input,
        output: Output,
        error: Output,
    ) -> io::Result<Self> {
        let mut streams = Self::default();
        child.stdin(match input {
            Input::Null => Stdio::null(),
            Input::Inherit => Stdio::inherit(),
            Input::File(file) => file.into(),
            Input::Pipe => {
                let (reading, writing) = nix::unistd::pipe2(OFlag::O_CLOEXEC)?;
                streams.stdin = Some(writing);
                reading.into()
            }
        });
        // A copy for standard error, should it be merged.
        let (stdout, copy): (Stdio, Option<Stdio>) = match output {
            Output::Null | Output::Merge => (Stdio::null(), None),
            Output::Inherit => (Stdio::inherit(), Some(io::stdout().into())),
            Output::File(file) => {
                let copy = file.try_clone()?;
                (file.into(), Some(copy.into()))
            }
            Output::Pipe => {
                let (reading, writing) = nix::unistd::pipe2(OFlag::O_CLOEXEC)?;
                streams.stdout = Some(reading);
                let copy = writing.try_clone()?;
                (writing.into(), Some(copy.into()))
            }
        };
        child.stdout(stdout);
        child.stderr(match error {
            Output::Merge => copy.unwrap_or_else(Stdio::null),
            Output::Null => Stdio::null(),
            Output::Inherit => Stdio::inherit(),
            Output::File(file) => file.into(),
            Output::Pipe => {
                let (reading, writing) = nix::unistd::pipe2(OFlag::O_CLOEXEC)?;
                streams.stderr = Some(reading);
                writing.into()
            }
        });
        Ok(streams)
    }

    fn terminal(child: &mut std::process::Command, size: WindowSize) -> io::Result<Self> {
        let master = posix_openpt(OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let slave = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open_terminal(&ptsname_r(&master)?)?;
        let master = std::os::fd::AsFd::as_fd(&master).try_clone_to_owned()?;
        sys::resize(std::os::fd::AsFd::as_fd(&master), size)?;
        let flags = OFlag::from_bits_truncate(fcntl(&master, FcntlArg::F_GETFL)?);
        fcntl(&master, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
        child.stdin(slave.try_clone()?);
        child.stdout(slave.try_clone()?);
        child.stderr(slave);
        Ok(Self {
            terminal: Some(master),
            ..Self::default()
        })
    }
}

trait OpenTerminal {
    fn open_terminal(&mut self, path: &str) -> io::Result<std::fs::File>;
}

impl OpenTerminal for std::fs::OpenOptions {
    /// Opens without making the terminal our own.
    fn open_terminal(&mut self, path: &str) -> io::Result<std::fs::File> {
        use std::os::unix::fs::OpenOptionsExt;
        self.custom_flags(OFlag::O_NOCTTY.bits()).open(path)
    }
}
