//! The one door to a container engine.
//!
//! [`Engine`] is what the rest of the crate knows. The command-line driver
//! ([`super::cli`]) always works: docker, podman, contexts, remote hosts. Where
//! the engine listens on a local socket, [`super::socket`] answers lookups and
//! opens execs without starting a client. Every call is bounded in time; absence
//! of a container is a state, not an error.

use std::collections::BTreeMap;
use std::fs::File;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::future::BoxFuture;
use serde::Serialize;

use super::arguments::RunPlan;
use crate::channel::Wire;

/// Full id of a container, or as much of it as was given.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct ContainerId(String);

impl ContainerId {
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The twelve characters that people see.
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

impl std::fmt::Display for ContainerId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.short())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Created,
    Running,
    Paused,
    Restarting,
    Exited,
    Removing,
    Dead,
    #[serde(untagged)]
    Unknown(String),
}

impl State {
    /// Docker's words, and podman's where they differ.
    pub fn parse(word: &str) -> Self {
        match word.to_ascii_lowercase().as_str() {
            "created" | "configured" | "initialized" => State::Created,
            "running" => State::Running,
            "paused" => State::Paused,
            "restarting" => State::Restarting,
            "exited" | "stopped" => State::Exited,
            "removing" | "stopping" => State::Removing,
            "dead" => State::Dead,
            _ => State::Unknown(word.to_owned()),
        }
    }

    pub fn as_str(&self) -> &str {
        match self {
            State::Created => "created",
            State::Running => "running",
            State::Paused => "paused",
            State::Restarting => "restarting",
            State::Exited => "exited",
            State::Removing => "removing",
            State::Dead => "dead",
            State::Unknown(word) => word,
        }
    }
}

/// A container as far as looking at it tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Container {
    pub id: ContainerId,
    pub name: String,
    pub state: State,
    pub image: String,
    pub labels: BTreeMap<String, String>,
    pub created: Option<DateTime<Utc>>,
    /// Destination inside → source on the host, of bind mounts.
    pub binds: BTreeMap<String, String>,
    /// `none` where it has no network; not every listing tells.
    pub network_mode: Option<String>,
    /// Known from an inspection, not from a listing.
    pub details: Option<Details>,
}

impl Container {
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.get(name).map(String::as_str)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    pub finished: Option<DateTime<Utc>>,
    pub memory_bytes: u64,
    pub nano_cpus: u64,
    pub user: String,
}

/// A process of a container, as the engine lists them from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerProcess {
    pub pid: String,
    pub command: String,
}

/// How long each kind of call may take.
pub(crate) mod limits {
    use super::Duration;
    pub(crate) const ALIVE: Duration = Duration::from_secs(5);
    pub(crate) const LIST: Duration = Duration::from_secs(10);
    pub(crate) const INSPECT: Duration = Duration::from_secs(10);
    pub(crate) const START: Duration = Duration::from_secs(30);
    /// Pulling included.
    pub(crate) const RUN: Duration = Duration::from_secs(120);
    pub(crate) const REMOVE: Duration = Duration::from_secs(30);
    pub(crate) const REMOVE_FAILED: Duration = Duration::from_secs(10);
    pub(crate) const IMAGE: Duration = Duration::from_secs(15);
}

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("no container engine found: neither `docker` nor `podman` is on PATH")]
    NotFound,
    #[error(
        "HERMES_DOCKER_BINARY names `{0}`, which is not an executable file and not a command on PATH"
    )]
    BadBinary(String),
    #[error("{engine} did not answer `{operation}` within {} s", limit.as_secs())]
    Timeout {
        engine: String,
        operation: String,
        limit: Duration,
    },
    #[error("cannot reach {engine}: {reason}")]
    Unreachable { engine: String, reason: String },
    #[error("{engine} refused `{operation}`: {reason}")]
    Refused {
        engine: String,
        operation: String,
        reason: String,
    },
    #[error("{engine} answered `{operation}` with something unreadable: {reason}")]
    Unreadable {
        engine: String,
        operation: String,
        reason: String,
    },
}

impl EngineError {
    /// Asking again at once would only wait again.
    pub fn is_timeout(&self) -> bool {
        matches!(self, EngineError::Timeout { .. })
    }
}

/// What to run inside, and with which rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecRequest {
    pub command: Vec<String>,
    /// Another user than the container's own.
    pub user: Option<u32>,
}

/// A command to be run by an exec of its own, without input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainExec {
    pub command: Vec<String>,
    /// Never on a command line.
    pub environment: Vec<(String, String)>,
}

pub trait Engine: Send + Sync + 'static {
    /// `docker`, `podman`: for messages.
    fn name(&self) -> &str;

    /// The daemon answers at all, within five seconds.
    fn alive(&self) -> BoxFuture<'_, Result<(), EngineError>>;

    /// Containers in any state that carry all these labels.
    fn list<'a>(
        &'a self,
        labels: &'a [(&'a str, &'a str)],
    ) -> BoxFuture<'a, Result<Vec<Container>, EngineError>>;

    /// `None`: there is no such container.
    fn inspect<'a>(
        &'a self,
        id: &'a ContainerId,
    ) -> BoxFuture<'a, Result<Option<Container>, EngineError>>;

    /// Once begun, a creation is finished also when this process dies; until then
    /// it keeps `held` open.
    fn run<'a>(
        &'a self,
        plan: &'a RunPlan,
        held: Option<File>,
    ) -> BoxFuture<'a, Result<ContainerId, EngineError>>;

    fn start<'a>(&'a self, id: &'a ContainerId) -> BoxFuture<'a, Result<(), EngineError>>;

    fn unpause<'a>(&'a self, id: &'a ContainerId) -> BoxFuture<'a, Result<(), EngineError>>;

    /// TERM, ten seconds, KILL.
    fn stop<'a>(&'a self, id: &'a ContainerId) -> BoxFuture<'a, Result<(), EngineError>>;

    /// By id or name, whatever its state; absence is success.
    fn remove<'a>(
        &'a self,
        id_or_name: &'a str,
        limit: Duration,
    ) -> BoxFuture<'a, Result<(), EngineError>>;

    /// First word of the image's entrypoint; `None` when it has none or is not here.
    fn entrypoint<'a>(
        &'a self,
        image: &'a str,
    ) -> BoxFuture<'a, Result<Option<String>, EngineError>>;

    /// Everything that runs in the container, seen from outside.
    fn processes<'a>(
        &'a self,
        id: &'a ContainerId,
    ) -> BoxFuture<'a, Result<Vec<ContainerProcess>, EngineError>>;

    /// The newest lines that PID 1 wrote.
    fn logs<'a>(
        &'a self,
        id: &'a ContainerId,
        lines: u32,
    ) -> BoxFuture<'a, Result<String, EngineError>>;

    /// Starts a process inside with all three streams attached.
    fn exec<'a>(
        &'a self,
        id: &'a ContainerId,
        request: &'a ExecRequest,
    ) -> BoxFuture<'a, Result<Wire, EngineError>>;

    /// Runs one command; the wire ends with its exit code.
    fn exec_plain<'a>(
        &'a self,
        id: &'a ContainerId,
        request: &'a PlainExec,
    ) -> BoxFuture<'a, Result<Wire, EngineError>>;
}

/// After this long without a listing we ask whether the engine answers at all.
const DOUBT: Duration = Duration::from_secs(2);

/// A listing from an engine that may be slow, but not from one that is stuck: then
/// the error comes after [`limits::ALIVE`].
pub(crate) async fn list_or_doubt(
    engine: &dyn Engine,
    labels: &[(&str, &str)],
) -> Result<Vec<Container>, EngineError> {
    let mut listing = engine.list(labels);
    tokio::select! {
        listed = &mut listing => return listed,
        () = tokio::time::sleep(DOUBT) => {}
    }
    match tokio::time::timeout(limits::ALIVE - DOUBT, engine.alive()).await {
        Ok(Ok(())) => listing.await,
        Ok(Err(error)) => Err(error),
        Err(_) => Err(EngineError::Timeout {
            engine: engine.name().to_owned(),
            operation: "ps".to_owned(),
            limit: limits::ALIVE,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn podman_words_mean_docker_states() {
        assert_eq!(State::parse("stopped"), State::Exited);
        assert_eq!(State::parse("configured"), State::Created);
        assert_eq!(State::parse("Running"), State::Running);
        assert_eq!(State::parse("odd"), State::Unknown("odd".to_owned()));
    }
}
