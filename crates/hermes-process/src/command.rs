//! What to start and how.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};

/// What becomes of a child when its owner dies, in any way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerDeath {
    /// The kernel kills the child. For clients of a service: what they made elsewhere
    /// (podman forks the container itself) is nobody's child and stays, whatever
    /// becomes of the client. Only what shares its session goes with it.
    KillChild,
    /// The child and everything it started. For shells, servers, browsers.
    KillTree,
    /// It lives on: background processes that a person asked for, workers.
    LeaveRunning,
}

/// Which group the child belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// A session of its own: no terminal, no signals from ours.
    Session,
    /// A group of its own within our session.
    Group,
    /// Ours: the child shares the terminal and Ctrl-C with us (editors, pagers).
    Inherit,
}

#[derive(Debug, Default)]
pub enum Input {
    #[default]
    Null,
    /// Written by us through [`crate::Process::take_stdin`].
    Pipe,
    Inherit,
    File(File),
}

#[derive(Debug, Default)]
pub enum Output {
    #[default]
    Null,
    /// Read by us.
    Pipe,
    Inherit,
    File(File),
    /// Only for standard error: goes where standard output goes.
    Merge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct WindowSize {
    pub rows: u16,
    pub columns: u16,
}

/// A process to be. Streams are closed unless opened: input is empty, output goes
/// nowhere.
#[derive(Debug)]
pub struct Command {
    pub(crate) program: OsString,
    pub(crate) name: Option<OsString>,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) only_environment: bool,
    pub(crate) environment: Vec<(OsString, Option<OsString>)>,
    pub(crate) directory: Option<PathBuf>,
    pub(crate) input: Input,
    pub(crate) input_bytes: Option<Vec<u8>>,
    pub(crate) output: Output,
    pub(crate) error: Output,
    pub(crate) terminal: Option<WindowSize>,
    pub(crate) owner_death: OwnerDeath,
    pub(crate) grouping: Grouping,
}

impl Command {
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            name: None,
            arguments: Vec::new(),
            only_environment: false,
            environment: Vec::new(),
            directory: None,
            input: Input::Null,
            input_bytes: None,
            output: Output::Null,
            error: Output::Null,
            terminal: None,
            owner_death: OwnerDeath::KillTree,
            grouping: Grouping::Session,
        }
    }

    pub fn program(&self) -> &OsStr {
        &self.program
    }

    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    pub fn args<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// The name the child sees as its own (`argv[0]`).
    pub fn name(mut self, name: impl Into<OsString>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Adds one variable to what the child inherits.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), Some(value.into())));
        self
    }

    pub fn env_remove(mut self, name: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), None));
        self
    }

    /// The child sees these variables and no others (and what [`Self::env`] adds later).
    pub fn only_env<N: Into<OsString>, V: Into<OsString>>(
        mut self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        self.only_environment = true;
        self.environment = variables
            .into_iter()
            .map(|(name, value)| (name.into(), Some(value.into())))
            .collect();
        self
    }

    pub fn directory(mut self, directory: impl AsRef<Path>) -> Self {
        self.directory = Some(directory.as_ref().to_owned());
        self
    }

    pub fn stdin(mut self, input: Input) -> Self {
        self.input = input;
        self
    }

    /// Standard input is these bytes, then its end. Only [`crate::output`] feeds them.
    pub fn stdin_bytes(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Input::Pipe;
        self.input_bytes = Some(bytes.into());
        self
    }

    pub fn stdout(mut self, output: Output) -> Self {
        self.output = output;
        self
    }

    pub fn stderr(mut self, error: Output) -> Self {
        self.error = error;
        self
    }

    /// All three streams are a new terminal, which controls the child's session.
    pub fn terminal(mut self, size: WindowSize) -> Self {
        self.terminal = Some(size);
        self.grouping = Grouping::Session;
        self
    }

    pub fn owner_death(mut self, owner_death: OwnerDeath) -> Self {
        self.owner_death = owner_death;
        self
    }

    pub fn grouping(mut self, grouping: Grouping) -> Self {
        self.grouping = grouping;
        self
    }
}
