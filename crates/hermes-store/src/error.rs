//! What can go wrong with a database file or with what a caller asked of it.
//!
//! Every error that comes from SQLite is classified and carries the file it is
//! about; `hint` says what a person can do.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("there is no database at {}", file.display())]
    Missing { file: PathBuf },
    #[error("database {} is locked by another process", file.display())]
    Busy { file: PathBuf },
    #[error("file is not a database: invalid SQLite header for {}; first_32={first_32}", file.display())]
    NotADatabase { file: PathBuf, first_32: String },
    #[error("database {} is damaged: {detail}", file.display())]
    Corrupt { file: PathBuf, detail: String },
    #[error("database {} cannot be written: it or its file system is read-only", file.display())]
    ReadOnly { file: PathBuf },
    #[error("the disk that holds {} is full", file.display())]
    DiskFull { file: PathBuf },
    #[error("cannot open database {}: {detail}", file.display())]
    CannotOpen { file: PathBuf, detail: String },
    #[error("{}: {source}", file.display())]
    Io { file: PathBuf, source: io::Error },
    #[error("database {}: {source}", file.display())]
    Sql {
        file: PathBuf,
        source: rusqlite::Error,
    },

    #[error("session {reference:?} not found")]
    SessionNotFound { reference: String },
    #[error("{reference:?} names {} sessions: {}", matches.len(), matches.join(", "))]
    AmbiguousSession {
        reference: String,
        matches: Vec<String>,
    },
    #[error("title {title:?} is already in use by session {session}")]
    TitleInUse { title: String, session: String },
    #[error("title has {length} characters, at most {max} are allowed")]
    TitleTooLong { length: usize, max: usize },
    #[error("message {message} of session {session} is not one a person wrote")]
    NotAUserMessage { session: String, message: i64 },
    #[error("state value {key:?} is not a number: {value:?}")]
    NotANumber { key: String, value: String },
    #[error("these very bytes were repaired before; what was saved is in {}", file.display())]
    AlreadyRepaired { file: PathBuf },
}

impl StoreError {
    /// Names the file in an error that came out of SQLite and gives it its kind.
    pub fn in_file(self, file: &Path) -> Self {
        match self {
            StoreError::Sql { source, .. } => classify(file, source),
            other => other,
        }
    }

    /// True where waiting and trying again is the right answer.
    pub fn is_busy(&self) -> bool {
        matches!(self, StoreError::Busy { .. })
            || matches!(self, StoreError::Sql { source, .. } if is_busy(source))
    }

    /// True where the file itself is unusable and must be left as it is.
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            StoreError::Corrupt { .. } | StoreError::NotADatabase { .. }
        )
    }

    /// What a person can do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            StoreError::Busy { .. } => {
                "another program is writing to it; try again when it is done".to_owned()
            }
            StoreError::NotADatabase { file, .. } => format!(
                "nothing was changed; move {} away to start with an empty one, or restore it from a backup",
                file.display()
            ),
            StoreError::Corrupt { file, .. } => format!(
                "nothing was changed; `hermes sessions repair` saves what can be read into a copy beside {}",
                file.display()
            ),
            StoreError::ReadOnly { file } | StoreError::CannotOpen { file, .. } => {
                format!(
                    "check the owner and mode of {} and its directory",
                    file.display()
                )
            }
            StoreError::DiskFull { .. } => "free some space and try again".to_owned(),
            StoreError::SessionNotFound { .. } => {
                "`hermes sessions list` shows what there is".to_owned()
            }
            StoreError::AmbiguousSession { .. } => "give more of the id".to_owned(),
            StoreError::TitleInUse { .. } => "choose another title".to_owned(),
            StoreError::TitleTooLong { .. } => "choose a shorter title".to_owned(),
            _ => return None,
        })
    }
}

/// Without a file; [`Database`](crate::Database) adds it on the way out.
impl From<rusqlite::Error> for StoreError {
    fn from(source: rusqlite::Error) -> Self {
        StoreError::Sql {
            file: PathBuf::new(),
            source,
        }
    }
}

/// Somebody else holds a lock that goes away by itself.
pub(crate) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::FileLockingProtocolFailed
        )
    )
}

fn classify(file: &Path, source: rusqlite::Error) -> StoreError {
    let file = file.to_owned();
    let detail = || match &source {
        rusqlite::Error::SqliteFailure(code, text) => {
            text.clone().unwrap_or_else(|| code.to_string())
        }
        other => other.to_string(),
    };
    match source.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::FileLockingProtocolFailed,
        ) => StoreError::Busy { file },
        Some(ErrorCode::NotADatabase) => StoreError::NotADatabase {
            file,
            first_32: "unread".to_owned(),
        },
        Some(ErrorCode::DatabaseCorrupt) => StoreError::Corrupt {
            detail: detail(),
            file,
        },
        Some(ErrorCode::ReadOnly) => StoreError::ReadOnly { file },
        Some(ErrorCode::DiskFull) => StoreError::DiskFull { file },
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => StoreError::CannotOpen {
            detail: detail(),
            file,
        },
        _ => StoreError::Sql { file, source },
    }
}
