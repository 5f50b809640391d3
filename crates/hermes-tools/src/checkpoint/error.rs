//! What can be wrong with a snapshot or the way back.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    #[error("git is not installed, and checkpoints need it")]
    NoGit,
    #[error("git {what} failed: {said}")]
    Git { what: String, said: String },
    #[error("git {what} took longer than {seconds} s")]
    Slow { what: String, seconds: u64 },
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("there are no checkpoints of {}", .0.display())]
    None(PathBuf),
    #[error("there is no checkpoint {wanted}: the newest is 1, the oldest {count}")]
    Number { wanted: usize, count: usize },
    #[error(
        "`{0}` is no checkpoint: give a number of the list, or 4 to 64 hexadecimal digits of its hash"
    )]
    Name(String),
    #[error("no checkpoint of {} begins with `{wanted}`", .project.display())]
    Hash { wanted: String, project: PathBuf },
    #[error("`{0}` must be a path below the project's directory, without `..`")]
    Path(String),
    #[error("the checkpoint has no file `{0}`")]
    NoFile(String),
    #[error("somebody else made a checkpoint at the same moment")]
    Overtaken,
}

impl CheckpointError {
    pub(super) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
