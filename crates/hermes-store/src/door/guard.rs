//! The process-wide register of guard connections, one per database file.
//!
//! Files are known by device and inode, so two names of one file share a guard.
//! A guard is never closed while its file exists; an inode cannot be reused while
//! we hold it, so an entry always means the file it was made for.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use crate::StoreError;

const MAGIC: &[u8; 16] = b"SQLite format 3\0";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        // `stat` opens no descriptor, so it can drop no lock.
        let metadata = fs::metadata(path)?;
        Ok(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        })
    }
}

pub(super) type Register = HashMap<FileId, Connection>;

static REGISTER: Mutex<Option<Register>> = Mutex::new(None);

/// Held while a file is examined and its first connection is made.
pub(super) struct Held(MutexGuard<'static, Option<Register>>);

impl Held {
    pub(super) fn register(&mut self) -> &mut Register {
        self.0.get_or_insert_with(HashMap::new)
    }
}

pub(super) fn hold() -> Held {
    // A panic while holding leaves the map valid: entries are inserted whole.
    Held(REGISTER.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Closes the guard of a file that is about to be deleted with its directory.
/// Other connections of this process to it must be gone already.
pub fn release(path: &Path) {
    if let Ok(id) = FileId::of(path) {
        hold().register().remove(&id);
    }
}

/// Looks at the first bytes of a file that no connection of ours has open yet.
/// Zero bytes pass: SQLite makes a new database of them.
pub(super) fn check_header(path: &Path) -> Result<(), StoreError> {
    let io_error = |source: io::Error| match source.kind() {
        io::ErrorKind::PermissionDenied => StoreError::CannotOpen {
            file: path.to_owned(),
            detail: "permission denied".to_owned(),
        },
        _ => StoreError::Io {
            file: path.to_owned(),
            source,
        },
    };
    let mut head = Vec::with_capacity(100);
    File::open(path)
        .and_then(|file| file.take(100).read_to_end(&mut head))
        .map_err(io_error)?;
    if head.is_empty() {
        return Ok(());
    }
    if !head.starts_with(MAGIC) {
        return Err(StoreError::NotADatabase {
            file: path.to_owned(),
            first_32: head
                .iter()
                .take(32)
                .map(|byte| format!("{byte:02x}"))
                .collect(),
        });
    }
    if head.len() < 100 {
        return Err(StoreError::Corrupt {
            file: path.to_owned(),
            detail: format!("only {} bytes of its header are left", head.len()),
        });
    }
    Ok(())
}
