//! Scratch databases and a clock that stands still.

use std::fs;
use std::path::{Path, PathBuf};

use hermes_home::Clock;
use hermes_store::{NewSession, StateDb};
use hermes_types::SessionId;
use tempfile::TempDir;

pub(crate) struct Scratch {
    directory: TempDir,
    pub(crate) clock: Clock,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self {
            directory: TempDir::new().unwrap(),
            clock: Clock::fixed("2026-05-31T12:00:00Z".parse().unwrap()),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("state.db")
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn open(&self) -> StateDb {
        StateDb::open(&self.path(), self.clock.clone()).unwrap()
    }

    /// A copy of the file that Python Hermes 0.16.0 left.
    pub(crate) fn with_fixture() -> Self {
        let scratch = Self::new();
        fs::copy(fixture("state-0.16.0.db"), scratch.path()).unwrap();
        scratch
    }
}

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

pub(crate) fn session(db: &StateDb, id: &str) -> SessionId {
    let id = SessionId::new(id);
    db.create_session(&NewSession::new(&id, "cli")).unwrap();
    id
}
