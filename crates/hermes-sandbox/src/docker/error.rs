//! What can go wrong between us and a container.

use std::path::PathBuf;

use super::engine::EngineError;
use crate::target::LaunchError;

#[derive(Debug, thiserror::Error)]
pub enum DockerError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("the sandbox directory {} is not usable: {source}", path.display())]
    Directory {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("no container could be made from image `{image}`: {source}")]
    Create { image: String, source: EngineError },
    #[error("a container from image `{image}` ends as soon as it is started: {said}")]
    EndsAtOnce { image: String, said: String },
    #[error("container {container} is in use by {by}")]
    InUse { container: String, by: String },
    #[error("{0}")]
    Busy(String),
}

impl DockerError {
    pub(crate) fn into_launch_error(self) -> LaunchError {
        match self {
            DockerError::Engine(EngineError::Timeout {
                engine,
                operation,
                limit,
            }) => LaunchError::TimedOut {
                what: format!("{engine} ({operation})"),
                seconds: limit.as_secs(),
            },
            other => LaunchError::Unavailable(other.to_string()),
        }
    }
}
