//! What can go wrong when a process is started, run or ended.

use std::ffi::OsString;
use std::io;
use std::time::Duration;

use crate::output::Captured;

#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    #[error("cannot start {}: {source}", program.display())]
    Start {
        program: OsString,
        source: io::Error,
    },
    #[error("cannot prepare the streams of {}: {source}", program.display())]
    Streams {
        program: OsString,
        source: io::Error,
    },
    #[error("cannot start {}: the working directory {} is not usable: {source}", program.display(), directory.display())]
    Directory {
        program: OsString,
        directory: std::path::PathBuf,
        source: io::Error,
    },
    #[error("the thread that starts processes is gone")]
    NoSpawner,
}

impl SpawnError {
    /// The program does not exist (as opposed to: it could not be run).
    pub fn is_not_found(&self) -> bool {
        matches!(self, SpawnError::Start { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    #[error("{} did not end within {} s", program.display(), limit.as_secs_f32())]
    Timeout {
        program: OsString,
        limit: Duration,
        partial: Box<Captured>,
    },
    #[error("cannot read the output of {}: {source}", program.display())]
    Read {
        program: OsString,
        source: io::Error,
    },
    #[error("cannot start a runtime: {0}")]
    Runtime(io::Error),
    #[error("output_blocking was called from asynchronous code")]
    InsideRuntime,
}

/// Processes that were still alive after SIGKILL and the time to act on it:
/// stuck in the kernel, or owned by another user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} could not be ended: {}", plural(pids.len()), list(pids))]
pub struct Survivors {
    pub pids: Vec<i32>,
}

fn plural(count: usize) -> String {
    match count {
        1 => "1 process".to_owned(),
        n => format!("{n} processes"),
    }
}

fn list(pids: &[i32]) -> String {
    let shown: Vec<String> = pids.iter().take(8).map(i32::to_string).collect();
    let more = if pids.len() > 8 { ", …" } else { "" };
    format!("pid {}{more}", shown.join(", "))
}
