//! Where a script can be started: this machine, a container, a host behind ssh.
//!
//! The contract between the execution layer, which knows shells, and the backends,
//! which know places. A backend starts a script, hands its output over as it
//! arrives, and can end everything that came from it. It does not look at the
//! output and does not know what a working directory or a variable is.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

pub use hermes_process::{Survivors, WindowSize as PtySize};

/// Chunks of output on their way; a slow reader slows the command down.
pub const OUTPUT_QUEUE: usize = 16;

pub trait Target: Send + Sync + 'static {
    /// For people: `local`, `docker container hermes-1a2b3c4d`.
    fn describe(&self) -> String;

    /// An absolute directory inside the target that commands may write to.
    fn temp_dir(&self) -> &str;

    /// Starts the script. `Ok` means that the target acknowledged the start: from
    /// here on it may have had effects and is never run again. A target that was
    /// lost before that heals itself and tries again within this call.
    fn launch(&self, launch: Launch) -> BoxFuture<'_, Result<Running, LaunchError>>;

    /// The target is this machine: background processes are children of ours and
    /// are followed by events. Elsewhere they keep their output and exit code in
    /// files inside, `<temp_dir>/hermes_bg_<id>.{log,pid,exit}`.
    fn host_shell(&self) -> Option<&dyn HostShell> {
        None
    }
}

/// Shells of this machine.
pub trait HostShell: Send + Sync {
    /// A process that runs the script; streams are the caller's to choose.
    fn command(&self, script: &str, shell: Shell) -> std::io::Result<hermes_process::Command>;
}

/// One script to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Text for the shell: any length, any bytes but NUL. Never put on a command
    /// line that other users can read when it is longer than a line can be.
    pub script: Vec<u8>,
    pub shell: Shell,
    /// Set for the script in addition to what the target gives everybody; never
    /// on a command line. Names are `[A-Za-z_][A-Za-z0-9_]*`.
    pub environment: Vec<(String, String)>,
    pub stdin: Stdin,
    pub pty: Option<PtySize>,
}

impl Launch {
    /// A script without input or terminal.
    pub fn new(script: impl Into<Vec<u8>>, shell: Shell) -> Self {
        Self {
            script: script.into(),
            shell,
            environment: Vec::new(),
            stdin: Stdin::Null,
            pty: None,
        }
    }

    /// For a target that has no terminal to give; `place` says what it is.
    pub(crate) fn without_terminal(self, place: &str) -> Result<Self, LaunchError> {
        match self.pty {
            None => Ok(self),
            Some(_) => Err(LaunchError::NotStarted(format!(
                "{place} has no pseudo-terminal to offer; run it without"
            ))),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shell {
    /// Reads the profile files first.
    LoginBash,
    /// No start-up files.
    Bash,
    /// Whatever POSIX shell the target has.
    Sh,
}

impl Shell {
    /// Name and options; the script follows as the argument of `-c`.
    pub fn argv(self) -> &'static [&'static str] {
        match self {
            Shell::LoginBash => &["bash", "-l"],
            Shell::Bash => &["bash", "--norc", "--noprofile"],
            Shell::Sh => &["sh"],
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stdin {
    /// `/dev/null`.
    #[default]
    Null,
    /// These bytes, then the end.
    Bytes(Vec<u8>),
    /// Open until [`Control::close_stdin`].
    Pipe,
}

/// A started script.
pub struct Running {
    /// Standard output and error as they come, merged. Closes at the end of the
    /// stream, which a descendant that holds it may delay beyond `exit`.
    pub output: mpsc::Receiver<Bytes>,
    /// Resolves when the shell itself has ended.
    pub exit: BoxFuture<'static, Exit>,
    /// Dropping it while the script runs ends the script's tree.
    pub control: Box<dyn Control>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// The target went away after the start. The script may have run.
    Lost(String),
}

impl From<hermes_process::Exit> for Exit {
    fn from(exit: hermes_process::Exit) -> Self {
        match exit {
            hermes_process::Exit::Code(code) => Exit::Code(code),
            hermes_process::Exit::Signal(signal) => Exit::Signal(signal),
        }
    }
}

pub trait Control: Send + Sync {
    /// SIGTERM to everything that came from the script, `grace`, SIGKILL, and a
    /// look inside the target that finds nobody left.
    fn terminate(&self, grace: Duration) -> BoxFuture<'_, Result<(), EndError>>;

    /// Writes to standard input opened with [`Stdin::Pipe`] or to the terminal.
    fn write(&self, bytes: Bytes) -> BoxFuture<'_, std::io::Result<()>>;

    fn close_stdin(&self) -> BoxFuture<'_, std::io::Result<()>>;

    fn resize(&self, size: PtySize) -> std::io::Result<()>;

    /// The shell's pid, as the target counts.
    fn pid(&self) -> Option<i32>;
}

/// Why a script was not started. In every case it had no effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// This script cannot be started here; another one may.
    #[error("{0}")]
    NotStarted(String),
    /// The shell it needs is not in the target.
    #[error("there is no `{0}` in the sandbox")]
    NoShell(&'static str),
    /// The whole target cannot be had now: engine down, image missing, host gone.
    #[error("{0}")]
    Unavailable(String),
    /// The target did not answer in time.
    #[error("{what} did not answer within {seconds} s")]
    TimedOut { what: String, seconds: u64 },
}

/// Why a tree may still be alive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndError {
    #[error(transparent)]
    Survivors(#[from] Survivors),
    /// Nobody could look: the target is gone or does not answer. When it is gone,
    /// so is the tree.
    #[error("{0}")]
    Unknown(String),
}
