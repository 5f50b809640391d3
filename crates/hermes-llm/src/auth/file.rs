//! Reading and changing `auth.json`: under a lock that Python's Hermes takes too,
//! whole or not at all, readable by the owner only.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chrono::SecondsFormat;
use hermes_home::{Clock, FileMode, Home, Lock, LockKind, write_atomic};

use super::AuthData;

const LOCK_PATIENCE: Duration = Duration::from_secs(15);

#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    #[error("cannot read {path}: {error}")]
    Read { path: PathBuf, error: io::Error },
    #[error("cannot write {path}: {error}")]
    Write { path: PathBuf, error: io::Error },
    #[error("{path} has been locked by another process for {} s", LOCK_PATIENCE.as_secs())]
    Locked { path: PathBuf },
}

/// Where one home keeps its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthFile {
    path: PathBuf,
    lock: PathBuf,
}

impl AuthFile {
    pub fn of(home: &Home) -> Self {
        Self::in_directory(home.path())
    }

    /// The file of the root home, which profiles without keys of their own use.
    pub fn of_root(home: &Home) -> Self {
        Self::in_directory(home.root())
    }

    fn in_directory(directory: &Path) -> Self {
        Self {
            path: directory.join("auth.json"),
            lock: directory.join("auth.lock"),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A missing file is an empty one. A broken one is copied aside and counts as
    /// empty.
    pub fn read(&self) -> Result<AuthData, AuthError> {
        let bytes = match fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(AuthData::default());
            }
            Err(error) => {
                return Err(AuthError::Read {
                    path: self.path.clone(),
                    error,
                });
            }
        };
        let parsed = std::str::from_utf8(&bytes).ok().and_then(AuthData::parse);
        if let Some(data) = parsed {
            return Ok(data);
        }
        let copy = self.copy();
        tracing::warn!(file = %self.path.display(), copy = %copy.display(), "auth.json cannot be read; starting empty");
        write_atomic(&copy, &bytes, FileMode::Private)
            .map_err(|error| AuthError::Write { path: copy, error })?;
        Ok(AuthData::default())
    }

    /// Where the content of a file that cannot be read is kept; `None` when it can be
    /// read, or is not there.
    pub fn broken(&self) -> Result<Option<PathBuf>, AuthError> {
        let is_broken = match fs::read(&self.path) {
            Ok(bytes) => std::str::from_utf8(&bytes)
                .ok()
                .and_then(AuthData::parse)
                .is_none(),
            Err(_) => false,
        };
        if !is_broken {
            return Ok(None);
        }
        self.read()?;
        Ok(Some(self.copy()))
    }

    fn copy(&self) -> PathBuf {
        self.path.with_extension("json.corrupt")
    }

    /// Changes the file under its lock. Nothing is written when nothing changed.
    pub fn edit<T>(
        &self,
        clock: &Clock,
        change: impl FnOnce(&mut AuthData) -> T,
    ) -> Result<T, AuthError> {
        let _lock = self.acquire()?;
        let before = self.read()?;
        let mut after = before.clone();
        let outcome = change(&mut after);
        if after != before {
            after.touch(&clock.now().to_rfc3339_opts(SecondsFormat::Micros, false));
            write_atomic(&self.path, after.to_text().as_bytes(), FileMode::Private).map_err(
                |error| AuthError::Write {
                    path: self.path.clone(),
                    error,
                },
            )?;
        }
        Ok(outcome)
    }

    fn acquire(&self) -> Result<Lock, AuthError> {
        let failed = |error| AuthError::Write {
            path: self.lock.clone(),
            error,
        };
        if let Some(parent) = self.lock.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        let deadline = Instant::now() + LOCK_PATIENCE;
        loop {
            if let Some(lock) =
                Lock::try_acquire(&self.lock, LockKind::Exclusive).map_err(failed)?
            {
                return Ok(lock);
            }
            if Instant::now() >= deadline {
                return Err(AuthError::Locked {
                    path: self.lock.clone(),
                });
            }
            // flock has no wait with a deadline.
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
