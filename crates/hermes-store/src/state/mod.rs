//! `state.db`: every conversation of one home.
//!
//! A [`StateDb`] is one connection: `Send`, synchronous, used by one thread at a
//! time. Whoever appends through it has the row on disk when the call returns.
//! The tables are those of Python Hermes 0.16.0; see `schema.sql`.

mod branch;
mod codec;
mod compression;
mod delete;
mod export;
mod handoff;
mod insights;
mod lineage;
mod list;
mod messages;
mod meta;
mod on_start;
mod rewind;
mod salvage;
mod schema;
mod sessions;
mod titles;
mod upkeep;
mod usage;

use std::path::Path;
use std::time::Duration;

use hermes_home::Clock;
use hermes_types::SessionId;
use rusqlite::{Connection, Row, Transaction};

pub use delete::{Deleted, Prune, remove_session_files};
pub use insights::SessionFigures;
pub use list::{ListFilter, ListOrder, ListedSession};
pub use messages::{NewMessage, StoredMessage};
pub use on_start::Retention;
pub use salvage::{Salvaged, salvage_closed};
pub use sessions::{NewSession, Session, new_session_id};
pub use titles::sanitize_title;
pub use upkeep::{Optimized, SourceCount, Stats};
pub use usage::UsageUpdate;

pub(crate) use codec::{decode_content, one_line};

use crate::{Access, Database, Pragmas, StoreError, Synchronous};

/// How `state.db` is opened.
pub const PRAGMAS: Pragmas = Pragmas {
    synchronous: Synchronous::Normal,
    foreign_keys: true,
    patience: Duration::from_secs(15),
};

#[derive(Debug)]
pub struct StateDb {
    database: Database,
    clock: Clock,
}

impl StateDb {
    /// Opens the file, makes it if it is not there, and adds what its schema lacks.
    pub fn open(path: &Path, clock: Clock) -> Result<Self, StoreError> {
        Self::prepared(Database::open(path, &PRAGMAS, Access::Create)?, clock)
    }

    /// Opens what is there and makes nothing: `None` without a file or with an
    /// empty one. On a read-only disk it is opened for reading.
    pub fn open_existing(
        path: &Path,
        clock: Clock,
        patience: Duration,
    ) -> Result<Option<Self>, StoreError> {
        Database::open_if_there(path, &PRAGMAS.with_patience(patience), Access::Existing)?
            .map(|database| Self::prepared(database, clock))
            .transpose()
    }

    /// Opens for reading only, for a look into another profile's sessions.
    pub fn open_read_only(path: &Path, clock: Clock) -> Result<Option<Self>, StoreError> {
        Database::open_if_there(path, &PRAGMAS, Access::ReadOnly)?
            .map(|database| Self::prepared(database, clock))
            .transpose()
    }

    fn prepared(database: Database, clock: Clock) -> Result<Self, StoreError> {
        schema::prepare(&database).map_err(|error| error.in_file(database.path()))?;
        Ok(Self { database, clock })
    }

    pub fn path(&self) -> &Path {
        self.database.path()
    }

    pub fn database(&self) -> &Database {
        &self.database
    }

    pub(crate) fn now(&self) -> f64 {
        self.clock.unix_seconds()
    }

    pub(crate) fn write<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.database
            .write(work)
            .map_err(|error| error.in_file(self.path()))
    }

    /// For work that takes rows out of the full-text indexes. Versions of SQLite cut
    /// some text into different words (structured content starts with a NUL, where
    /// older ones stop), and taking out what another version put in can fail. The
    /// indexes are then built anew and the work is done again.
    pub(crate) fn write_healing<T>(
        &self,
        work: impl Fn(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.healing(|| self.write(&work))
    }

    pub(crate) fn healing<T>(
        &self,
        attempt: impl Fn() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match attempt() {
            Err(error)
                if error.is_damage()
                    && !self.database.is_read_only()
                    && self.database.quick_check().is_ok() =>
            {
                tracing::warn!(%error, "building the search indexes anew");
                self.rebuild_search()?;
                attempt()
            }
            outcome => outcome,
        }
    }

    /// One consistent view over several statements.
    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.database
            .read(|transaction| work(transaction))
            .map_err(|error: StoreError| error.in_file(self.path()))
    }
}

/// For queries whose first column is a session's id.
fn first_id(row: &Row<'_>) -> rusqlite::Result<SessionId> {
    Ok(SessionId::new(row.get::<_, String>(0)?))
}
