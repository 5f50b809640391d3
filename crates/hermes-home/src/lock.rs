//! Advisory locks that die with their holder: `flock` on a file of their own,
//! the same that Python's `fcntl.flock` takes.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockKind {
    Shared,
    Exclusive,
}

/// Held until dropped, or until the process dies in any way.
#[derive(Debug)]
pub struct Lock {
    // Closing it, and every copy of it, releases the lock.
    file: File,
}

impl Lock {
    /// Waits for the lock.
    pub fn acquire(path: &Path, kind: LockKind) -> io::Result<Self> {
        let file = open(path)?;
        match kind {
            LockKind::Shared => file.lock_shared()?,
            LockKind::Exclusive => file.lock()?,
        }
        Ok(Self { file })
    }

    /// `None` when somebody else holds it.
    pub fn try_acquire(path: &Path, kind: LockKind) -> io::Result<Option<Self>> {
        let file = open(path)?;
        let outcome = match kind {
            LockKind::Shared => file.try_lock_shared(),
            LockKind::Exclusive => file.try_lock(),
        };
        match outcome {
            Ok(()) => Ok(Some(Self { file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Whether the file at `path` is the one that is locked. Where holders remove
    /// the file, a lock that was waited for may be on one that is gone.
    pub fn is_at(&self, path: &Path) -> bool {
        match (self.file.metadata(), std::fs::metadata(path)) {
            (Ok(held), Ok(there)) => (held.dev(), held.ino()) == (there.dev(), there.ino()),
            _ => false,
        }
    }

    /// A copy for a child that inherits it: the lock is held until the child has
    /// ended too, also when this process dies before it.
    pub fn for_child(&self) -> io::Result<File> {
        self.file.try_clone()
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}
