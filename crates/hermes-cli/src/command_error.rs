//! The one fold of every crate's errors into what the user sees: a kind, which
//! decides the exit code, the error with its causes, and hints.
//!
//! Promises: errors go to stderr; the message is one line per cause; a hint is a
//! line that starts with `hint:` and holds the command that helps, in backticks.

use std::error::Error;
use std::fmt;
use std::io;
use std::process::ExitCode;

use hermes_agent::build::BuildError;
use hermes_config::ConfigError;
use hermes_home::{HomeError, ProfileError};
use hermes_store::StoreError;
use hermes_tools::StateError;
use hermes_types::InvalidProfileName;

use crate::Out;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit(pub u8);

impl Exit {
    pub const SUCCESS: Self = Self(0);
    pub const FAILURE: Self = Self(1);
    pub const USAGE: Self = Self(2);
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.0)
    }
}

/// What went wrong, as far as whoever started us must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The command cannot do what was asked: no such profile, name taken.
    User,
    /// The words themselves are wrong.
    Usage,
    /// A verb that is known and not built yet.
    NotBuilt,
    /// `config.yaml` or `.env` is broken, or a value in it is.
    Config,
    /// Configuration that another start of the same service cannot fix.
    ConfigFinal,
    /// A model, server, engine or host did not do its part.
    Remote,
    /// A worker was told to come back later.
    RateLimited,
    /// Somebody else holds what this command needs.
    Busy,
    TimedOut,
    /// Ctrl+C.
    Interrupted,
    /// SIGTERM.
    Terminated,
    /// A bug, or a file system that refuses.
    Internal,
}

impl ErrorKind {
    pub fn exit(self) -> Exit {
        Exit(match self {
            Self::User | Self::Config | Self::Remote | Self::Busy | Self::Internal => 1,
            Self::Usage | Self::NotBuilt => 2,
            Self::RateLimited => 75,
            Self::ConfigFinal => 78,
            Self::TimedOut => 124,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        })
    }
}

#[derive(Debug)]
pub struct CommandError {
    pub kind: ErrorKind,
    pub error: Box<dyn Error + Send + Sync>,
    pub hints: Vec<String>,
    /// Who speaks, where scripts know it by another word than `error:`.
    pub speaker: Option<&'static str>,
}

impl CommandError {
    pub fn new(kind: ErrorKind, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            kind,
            error: error.into(),
            hints: Vec::new(),
            speaker: None,
        }
    }

    pub fn user(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(ErrorKind::User, error)
    }

    pub fn usage(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(ErrorKind::Usage, error)
    }

    pub fn internal(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(ErrorKind::Internal, error)
    }

    /// Adds a sentence that tells the way out.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Says first what was being done; the error becomes its cause.
    #[must_use]
    pub fn context(mut self, doing: impl Into<String>) -> Self {
        self.error = Box::new(Doing {
            doing: doing.into(),
            cause: self.error,
        });
        self
    }
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        Self::internal(error)
    }
}

impl From<HomeError> for CommandError {
    fn from(error: HomeError) -> Self {
        let kind = match &error {
            HomeError::Io { .. } => ErrorKind::Internal,
            HomeError::Managed { .. }
            | HomeError::ManagedIncomplete { .. }
            | HomeError::NotADirectory { .. } => ErrorKind::User,
        };
        Self::new(kind, error)
    }
}

impl From<ConfigError> for CommandError {
    fn from(error: ConfigError) -> Self {
        let hint = match &error {
            ConfigError::Broken { .. } => Some("mend the file with `hermes config edit`"),
            ConfigError::UnknownKey { .. } => Some("`hermes config show` lists what can be set"),
            _ => None,
        };
        let error = Self::new(ErrorKind::Config, error);
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

impl From<ProfileError> for CommandError {
    fn from(error: ProfileError) -> Self {
        let hint = match &error {
            ProfileError::Unknown { name } => Some(format!(
                "`hermes profile list` shows what exists; `hermes profile create {name}` makes it"
            )),
            ProfileError::Dangling { .. } => Some(
                "`hermes profile use default` goes back to the default profile; `hermes profile list` shows the others".to_owned(),
            ),
            _ => None,
        };
        let error = match error {
            ProfileError::Home(error) => return error.into(),
            error => Self::user(error),
        };
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

impl From<InvalidProfileName> for CommandError {
    fn from(error: InvalidProfileName) -> Self {
        Self::user(error)
    }
}

impl From<StateError> for CommandError {
    fn from(error: StateError) -> Self {
        match error {
            StateError::Store(error) => error.into(),
            other => Self::internal(other),
        }
    }
}

impl From<BuildError> for CommandError {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Config(error) => error.into(),
            BuildError::NoToolset { .. } => {
                Self::usage(error).hint("`hermes tools list` shows what there is")
            }
            other => Self::internal(other),
        }
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        let kind = match &error {
            StoreError::Busy { .. } => ErrorKind::Busy,
            StoreError::Io { .. } | StoreError::Sql { .. } => ErrorKind::Internal,
            _ => ErrorKind::User,
        };
        let hint = error.hint();
        let error = Self::new(kind, error);
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

#[derive(Debug)]
struct Doing {
    doing: String,
    cause: Box<dyn Error + Send + Sync>,
}

impl fmt::Display for Doing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.doing)
    }
}

impl Error for Doing {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.cause.as_ref())
    }
}

/// Prints the error and says what the process must exit with.
pub fn report(error: &CommandError, out: &mut Out) -> Exit {
    out.stderr_line(&format!(
        "{} {}",
        out.stderr_style().bad(error.speaker.unwrap_or("error:")),
        error.error
    ));
    let mut shown = error.error.to_string();
    let mut cause = error.error.source();
    while let Some(source) = cause {
        let text = source.to_string();
        // Some errors already end with their cause.
        if !shown.contains(&text) {
            out.stderr_line(&format!("  caused by: {text}"));
            shown = text;
        }
        cause = source.source();
    }
    for hint in &error.hints {
        out.stderr_line(&format!("{} {hint}", out.stderr_style().good("hint:")));
    }
    error.kind.exit()
}
