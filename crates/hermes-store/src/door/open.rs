//! Opening a file: which pragmas, which access, and the guard beside it.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, FileControl, MAIN_DB, OpenFlags};

use super::guard::{self, FileId};
use super::transaction::retry;
use crate::StoreError;

/// How hard a commit is pushed to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synchronous {
    /// A commit survives any death of the process; a power cut may take the last ones.
    Normal,
    /// A commit survives a power cut too.
    Full,
}

/// What an owner wants of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pragmas {
    pub synchronous: Synchronous,
    pub foreign_keys: bool,
    /// How long to wait for somebody else's lock before giving up.
    pub patience: Duration,
}

impl Pragmas {
    pub const fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Make the file if it is not there (mode 0600).
    Create,
    /// Read and write, but never make a file.
    Existing,
    /// Never write a byte.
    ReadOnly,
}

/// One connection to one file. `Send`; one thread uses it at a time.
#[derive(Debug)]
pub struct Database {
    connection: Connection,
    path: PathBuf,
    access: Access,
    patience: Duration,
}

/// Longest single wait inside SQLite; whole waits are bounded by `patience`.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// A log that grew in one long read is cut back to this at the next reset.
const LOG_LIMIT: i64 = 16 * 1024 * 1024;

const FULL_TEXT_FAULT: &str = "malformed inverted index";

impl Database {
    pub fn open(path: &Path, pragmas: &Pragmas, access: Access) -> Result<Self, StoreError> {
        if access == Access::Create {
            create_empty(path)?;
        }
        let id = match FileId::of(path) {
            Ok(id) => id,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(StoreError::Missing {
                    file: path.to_owned(),
                });
            }
            Err(source) => {
                return Err(StoreError::Io {
                    file: path.to_owned(),
                    source,
                });
            }
        };
        if path.is_dir() {
            return Err(StoreError::CannotOpen {
                file: path.to_owned(),
                detail: "it is a directory".to_owned(),
            });
        }
        let slot = guard::slot(id);
        // One thread at a time per file: between the look at the header and the first
        // connection nobody else of ours may have it open.
        let mut guard = guard::hold(&slot);
        if guard.is_none() {
            guard::check_header(path)?;
        }
        let (connection, how) = connect(path, pragmas, access)?;
        if guard.is_none() {
            // A failure to guard is a failure to open: without it the promise is void.
            *guard = Some(how.again(path, pragmas)?);
        }
        drop(guard);
        Ok(Self {
            connection,
            path: path.to_owned(),
            access: how.access(access),
            patience: pragmas.patience,
        })
    }

    /// Like [`Database::open`], with `None` where there is no file or an empty one.
    pub fn open_if_there(
        path: &Path,
        pragmas: &Pragmas,
        access: Access,
    ) -> Result<Option<Self>, StoreError> {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() && metadata.len() == 0 => return Ok(None),
            _ => {}
        }
        match Self::open(path, pragmas, access) {
            Ok(database) => Ok(Some(database)),
            Err(StoreError::Missing { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn is_read_only(&self) -> bool {
        self.access == Access::ReadOnly
    }

    pub fn patience(&self) -> Duration {
        self.patience
    }

    /// For reads that need no snapshot over several statements. Errors from it
    /// become [`StoreError`] with `?`; [`Database::named`] adds the file.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Gives an error that came from SQLite its kind and this file's name.
    pub fn named(&self, error: impl Into<StoreError>) -> StoreError {
        error.into().in_file(&self.path)
    }

    /// Bytes of the database itself, asked of SQLite instead of the file.
    pub fn size(&self) -> Result<u64, StoreError> {
        let pragma = |name: &str| {
            self.connection
                .pragma_query_value(None, name, |row| row.get::<_, i64>(0))
        };
        let pages = pragma("page_count").map_err(|e| self.named(e))?;
        let size = pragma("page_size").map_err(|e| self.named(e))?;
        Ok(u64::try_from(pages * size).unwrap_or(0))
    }

    /// Writes a consistent copy to a path where no file is, while others go on
    /// writing to this one.
    pub fn copy_to(&self, target: &Path) -> Result<(), StoreError> {
        create_empty(target)?;
        self.connection
            .backup(MAIN_DB, target, None::<fn(rusqlite::backup::Progress)>)
            .map_err(|e| self.named(e))
    }

    /// Replaces the whole content by that of another file, in one transaction that
    /// others on this file see as any other change. The source must be at rest.
    pub fn restore_from(&mut self, source: &Path) -> Result<(), StoreError> {
        let path = self.path.clone();
        self.connection
            .restore(MAIN_DB, source, None::<fn(rusqlite::backup::Progress)>)
            .map_err(|e| StoreError::from(e).in_file(&path))
    }

    /// `quick_check`: structure, not content; full-text indexes aside. An error lists
    /// what is wrong.
    pub fn quick_check(&self) -> Result<(), StoreError> {
        self.check("quick_check")
    }

    /// `integrity_check`: structure and content of every index; full-text ones aside.
    pub fn integrity_check(&self) -> Result<(), StoreError> {
        self.check("integrity_check")
    }

    fn check(&self, pragma: &str) -> Result<(), StoreError> {
        let lines: Vec<String> = self
            .connection
            .prepare(&format!("PRAGMA {pragma}(5)"))
            .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect())
            .map_err(|e| self.named(e))?;
        // Full-text indexes are derived data, and versions of SQLite cut some text
        // into different words: one says of the other's index that it is malformed.
        let faults: Vec<String> = lines
            .into_iter()
            .filter(|line| line != "ok" && !line.starts_with(FULL_TEXT_FAULT))
            .collect();
        if faults.is_empty() {
            return Ok(());
        }
        Err(StoreError::Corrupt {
            file: self.path.clone(),
            detail: faults.join("; "),
        })
    }
}

/// The way a file turned out to open, so that its guard opens the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    ReadWrite,
    ReadOnly,
    /// On a file system nobody can write to: no lock, no log.
    Immutable,
}

impl How {
    fn access(self, wanted: Access) -> Access {
        match self {
            How::ReadWrite => wanted,
            How::ReadOnly | How::Immutable => Access::ReadOnly,
        }
    }

    fn open(self, path: &Path, pragmas: &Pragmas) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
        // The one place where a connection is made.
        #[expect(clippy::disallowed_methods, reason = "this is the door")]
        let connection = match self {
            How::ReadWrite => {
                Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_READ_WRITE)?
            }
            How::ReadOnly => {
                Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_READ_ONLY)?
            }
            How::Immutable => Connection::open_with_flags(
                immutable_uri(path),
                flags | OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
            )?,
        };
        connection.busy_timeout(pragmas.patience.min(LONGEST_WAIT))?;
        Ok(connection)
    }

    fn again(self, path: &Path, pragmas: &Pragmas) -> Result<Connection, StoreError> {
        let open = || {
            let connection = self.open(path, pragmas)?;
            persist_log(&connection, self)?;
            // In the log's mode a connection that has read once keeps its shared lock.
            first_read(&connection)?;
            Ok(connection)
        };
        retry(pragmas.patience, open).map_err(|e| StoreError::from(e).in_file(path))
    }
}

/// A connection to the copy of a damaged file: nothing is checked, and with a
/// schema that counts as writable SQLite also reads a file that was cut short.
pub(super) fn open_without_look(path: &Path, pragmas: &Pragmas) -> Result<Connection, StoreError> {
    How::ReadWrite
        .open(path, pragmas)
        .and_then(|connection| {
            connection.pragma_update(None, "writable_schema", true)?;
            Ok(connection)
        })
        .map_err(|e| StoreError::from(e).in_file(path))
}

fn connect(
    path: &Path,
    pragmas: &Pragmas,
    access: Access,
) -> Result<(Connection, How), StoreError> {
    let attempt = |how: How| {
        retry(pragmas.patience, || {
            let connection = how.open(path, pragmas)?;
            configure(&connection, pragmas, how)?;
            Ok(connection)
        })
    };
    let first = match access {
        Access::ReadOnly => How::ReadOnly,
        Access::Create | Access::Existing => How::ReadWrite,
    };
    let named = |error: rusqlite::Error| StoreError::from(error).in_file(path);
    match attempt(first) {
        Ok(connection) => Ok((connection, first)),
        // Read-only disks: the log's index cannot be made beside the file.
        Err(error)
            if access != Access::Create
                && matches!(
                    error.sqlite_error_code(),
                    Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied)
                ) =>
        {
            for how in [How::ReadOnly, How::Immutable] {
                if how != first
                    && let Ok(connection) = attempt(how)
                {
                    return Ok((connection, how));
                }
            }
            Err(named(error))
        }
        Err(error) => Err(named(error)),
    }
}

fn configure(connection: &Connection, pragmas: &Pragmas, how: How) -> rusqlite::Result<()> {
    if how == How::ReadWrite {
        write_ahead(connection)?;
        connection.pragma_update(
            None,
            "synchronous",
            match pragmas.synchronous {
                Synchronous::Normal => "NORMAL",
                Synchronous::Full => "FULL",
            },
        )?;
        connection.pragma_update(None, "journal_size_limit", LOG_LIMIT)?;
    }
    persist_log(connection, how)?;
    connection.pragma_update(None, "foreign_keys", pragmas.foreign_keys)?;
    first_read(connection)
}

/// Turns the log on, or keeps the rollback journal where shared memory does not
/// work (network file systems) and the file is not in the log's mode already.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let outcome = connection
        .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0));
    let mode = match outcome {
        Ok(mode) => mode,
        Err(error)
            if matches!(
                error.sqlite_error_code(),
                Some(
                    ErrorCode::FileLockingProtocolFailed
                        | ErrorCode::AuthorizationForStatementDenied
                )
            ) =>
        {
            connection.pragma_update_and_check(None, "journal_mode", "DELETE", |row| row.get(0))?
        }
        Err(error) => return Err(error),
    };
    if mode != "wal" {
        tracing::warn!(mode, "no write-ahead log on this file system");
    }
    Ok(())
}

fn persist_log(connection: &Connection, how: How) -> rusqlite::Result<()> {
    if how == How::Immutable {
        return Ok(());
    }
    let mut on = 1;
    connection.file_control(Some(MAIN_DB), FileControl::PersistWal(&mut on))
}

/// The first read finds out about damage and takes the shared lock.
fn first_read(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("SELECT COUNT(*) FROM sqlite_master", [], |_| Ok(()))
}

/// An empty file with our mode: SQLite would make one that others can read.
fn create_empty(path: &Path) -> Result<(), StoreError> {
    match OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
    {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(match error.kind() {
            io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly {
                file: path.to_owned(),
            },
            io::ErrorKind::StorageFull => StoreError::DiskFull {
                file: path.to_owned(),
            },
            _ => StoreError::CannotOpen {
                file: path.to_owned(),
                detail: error.to_string(),
            },
        }),
    }
}

/// `file:` address with the characters that mean something in it escaped.
fn immutable_uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'?' | b'#' | b'%' | 0x80.. => uri.push_str(&format!("%{byte:02X}")),
            _ => uri.push(char::from(*byte)),
        }
    }
    uri.push_str("?immutable=1");
    uri
}
