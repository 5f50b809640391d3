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
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

/// The guard of one file, once there is one. Held while the file is examined and
/// its first connection is made; others open other files meanwhile.
pub(super) type Slot = Arc<Mutex<Option<Connection>>>;

static REGISTER: Mutex<Option<HashMap<FileId, Slot>>> = Mutex::new(None);

pub(super) fn slot(id: FileId) -> Slot {
    let mut register = hold(&REGISTER);
    Arc::clone(register.get_or_insert_default().entry(id).or_default())
}

/// A panic while holding leaves nothing half-made: entries are put in whole.
pub(super) fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Closes the guard of a file that is about to be deleted with its directory.
/// Other connections of this process to it must be gone already.
pub fn release(path: &Path) {
    if let Ok(id) = FileId::of(path) {
        hold(&REGISTER).get_or_insert_default().remove(&id);
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
