//! A running child and the tree below it.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Child;
use std::sync::Mutex;
use std::time::Duration;

use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use tokio::io::unix::AsyncFd;
use tokio::sync::OnceCell;

use crate::command::{Command, OwnerDeath};
use crate::error::{SpawnError, Survivors};
use crate::exit::Exit;
use crate::guard;
use crate::identity::Identity;
use crate::spawner;
use crate::stream::{self, Reader, Resizer, Writer};
use crate::sys::{self, PidFd};
use crate::tree::Tree;
use crate::undertaker;

/// Owns a child: dropped while the child runs, it ends the tree, unless the child
/// was started with [`OwnerDeath::LeaveRunning`]. The child is reaped when the
/// guard is dropped and not before, so its pid cannot come to mean another
/// process meanwhile.
#[derive(Debug)]
pub struct Process {
    tree: Tree,
    owner_death: OwnerDeath,
    child: Option<Child>,
    descriptor: Option<AsyncFd<OwnedFd>>,
    exit: OnceCell<Exit>,
    stdin: Mutex<Option<Writer>>,
    stdout: Mutex<Option<Reader>>,
    stderr: Mutex<Option<Reader>>,
    resizer: Option<Resizer>,
}

/// Starts a command. `Ok` means that the program was executed.
pub async fn spawn(command: Command) -> Result<Process, SpawnError> {
    let program = command.program.clone();
    let started = spawner::start(command).await?;
    // From here on the guard exists: whatever fails below ends the child.
    let mut process = Process {
        descriptor: None,
        exit: OnceCell::new(),
        stdin: Mutex::new(None),
        stdout: Mutex::new(None),
        stderr: Mutex::new(None),
        resizer: None,
        tree: started.tree,
        owner_death: started.owner_death,
        child: Some(started.child),
    };
    let attach = || -> io::Result<_> {
        let mut stdin = started.stdin.map(Writer::pipe).transpose()?;
        let mut stdout = started.stdout.map(Reader::pipe).transpose()?;
        let stderr = started.stderr.map(Reader::pipe).transpose()?;
        let mut resizer = None;
        if let Some(master) = started.terminal {
            let (reader, writer, handle) = stream::terminal(master)?;
            stdin = Some(writer);
            stdout = Some(reader);
            resizer = Some(handle);
        }
        Ok((stdin, stdout, stderr, resizer))
    };
    let (stdin, stdout, stderr, resizer) =
        attach().map_err(|source| SpawnError::Streams { program, source })?;
    process.stdin = Mutex::new(stdin);
    process.stdout = Mutex::new(stdout);
    process.stderr = Mutex::new(stderr);
    process.resizer = resizer;
    process.descriptor = PidFd::open(process.pid())
        .ok()
        .and_then(|descriptor| sys::register(descriptor).ok());
    Ok(process)
}

impl Process {
    pub fn pid(&self) -> i32 {
        self.tree.root.pid
    }

    pub fn identity(&self) -> &Identity {
        &self.tree.root
    }

    /// The tree's name, to end it from elsewhere or to store it.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Once, when standard input is a pipe or a terminal.
    pub fn take_stdin(&self) -> Option<Writer> {
        take(&self.stdin)
    }

    /// Once, when standard output is a pipe or a terminal.
    pub fn take_stdout(&self) -> Option<Reader> {
        take(&self.stdout)
    }

    /// Once, when standard error is a pipe of its own.
    pub fn take_stderr(&self) -> Option<Reader> {
        take(&self.stderr)
    }

    pub fn resizer(&self) -> Option<Resizer> {
        self.resizer.clone()
    }

    /// Waits for the child itself; descendants may live on. May be called often,
    /// from several tasks.
    pub async fn wait(&self) -> io::Result<Exit> {
        self.exit
            .get_or_try_init(|| async {
                if let Some(descriptor) = &self.descriptor {
                    let _ = descriptor.readable().await?;
                }
                let pid = self.pid();
                if self.descriptor.is_none() {
                    tokio::task::spawn_blocking(move || observe(pid, WaitPidFlag::WEXITED))
                        .await
                        .map_err(io::Error::other)??;
                }
                loop {
                    if let Some(exit) = observe(pid, WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG)? {
                        return Ok(exit);
                    }
                    // Readiness was a false alarm.
                    tokio::task::yield_now().await;
                }
            })
            .await
            .copied()
    }

    /// `None` while the child runs.
    pub fn try_wait(&self) -> io::Result<Option<Exit>> {
        match self.exit.get() {
            Some(exit) => Ok(Some(*exit)),
            None => observe(self.pid(), WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG),
        }
    }

    /// Ends the whole tree: see [`Tree::terminate`].
    pub async fn terminate(&self, grace: Duration) -> Result<(), Survivors> {
        self.tree.terminate(grace).await
    }
}

/// Looks at the exit status and leaves the zombie in place: its number keeps
/// meaning this child until the guard is dropped.
fn observe(pid: i32, flags: WaitPidFlag) -> io::Result<Option<Exit>> {
    loop {
        match waitid(Id::Pid(Pid::from_raw(pid)), flags | WaitPidFlag::WNOWAIT) {
            Ok(status) => return Ok(Exit::from_wait(status)),
            Err(nix::errno::Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

fn take<T>(slot: &Mutex<Option<T>>) -> Option<T> {
    slot.lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .take()
}

impl Drop for Process {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        let running = matches!(child.try_wait(), Ok(None));
        match (running, self.owner_death) {
            (false, _) => {}
            (true, OwnerDeath::LeaveRunning) => undertaker::reap(child),
            (true, OwnerDeath::KillChild | OwnerDeath::KillTree) => {
                undertaker::kill(child, self.tree.clone());
            }
        }
        if self.owner_death == OwnerDeath::KillTree {
            guard::forget(self.tree.mark);
        }
    }
}
