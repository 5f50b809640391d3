//! One dispatcher at a time: a lock per root for loops, one per board for rounds.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use hermes_home::{Lock, LockKind};

use crate::error::KanbanError;

/// Held while a round works on a board.
#[derive(Debug)]
pub struct RoundLock {
    _lock: Lock,
}

impl RoundLock {
    /// `None` when another round on this board does not end within `patience`.
    pub fn acquire(database: &Path, patience: Duration) -> Result<Option<Self>, KanbanError> {
        let mut name = database.as_os_str().to_owned();
        name.push(".dispatch.lock");
        let file = PathBuf::from(name);
        let started = Instant::now();
        loop {
            match Lock::try_acquire(&file, LockKind::Exclusive).map_err(KanbanError::io(&file))? {
                Some(lock) => return Ok(Some(Self { _lock: lock })),
                None if started.elapsed() >= patience => return Ok(None),
                None => thread::sleep(Duration::from_millis(10)),
            }
        }
    }
}
