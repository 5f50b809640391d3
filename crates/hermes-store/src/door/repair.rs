//! Saving what can be read out of a damaged file.
//!
//! The damaged file is never written: a copy is examined, and what its owner
//! saves goes into a new file whose name carries the digest of the damaged bytes.
//! The same bytes are never worked on twice: that name is the record.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use sha2::{Digest, Sha256};

use super::guard::{self, FileId};
use super::open::{Database, Pragmas, open_without_look};
use crate::StoreError;

/// Where the saved data is, and what the owner has to say about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Repaired<T> {
    pub file: PathBuf,
    pub report: T,
}

/// What is to be repaired.
pub enum Damaged<'a> {
    /// It opens, but a check found faults: copied through SQLite.
    Open(&'a Database),
    /// It does not open, and this process has no connection to it.
    Closed(&'a Path),
}

/// Copies the damaged file and calls `save` with a connection to the copy and the
/// path of a file that `save` makes.
pub fn repair<T>(
    damaged: &Damaged<'_>,
    pragmas: &Pragmas,
    save: impl FnOnce(&Connection, &Path) -> Result<T, StoreError>,
) -> Result<Repaired<T>, StoreError> {
    let path = match damaged {
        Damaged::Open(database) => database.path(),
        Damaged::Closed(path) => path,
    };
    let copy = with_suffix(path, ".damaged");
    let made = make_copy(damaged, path, &copy);
    let outcome = made.and_then(|()| save_from(path, &copy, pragmas, save));
    for file in [
        &copy,
        &with_suffix(&copy, "-wal"),
        &with_suffix(&copy, "-shm"),
    ] {
        remove_if_there(file)?;
    }
    outcome
}

fn make_copy(damaged: &Damaged<'_>, path: &Path, copy: &Path) -> Result<(), StoreError> {
    for file in [copy, &with_suffix(copy, "-wal"), &with_suffix(copy, "-shm")] {
        remove_if_there(file)?;
    }
    match damaged {
        Damaged::Open(database) => database.copy_to(copy),
        Damaged::Closed(_) => {
            // Held, so that nobody of ours opens the file while its bytes are read.
            let id = FileId::of(path).map_err(|source| io_error(path, source))?;
            let slot = guard::slot(id);
            let guard = guard::hold(&slot);
            if guard.is_some() {
                return Err(StoreError::CannotOpen {
                    file: path.to_owned(),
                    detail: "this process has it open already".to_owned(),
                });
            }
            fs::copy(path, copy).map_err(|source| io_error(copy, source))?;
            let log = with_suffix(path, "-wal");
            if log.exists() {
                let target = with_suffix(copy, "-wal");
                fs::copy(&log, &target).map_err(|source| io_error(&target, source))?;
            }
            Ok(())
        }
    }
}

fn save_from<T>(
    path: &Path,
    copy: &Path,
    pragmas: &Pragmas,
    save: impl FnOnce(&Connection, &Path) -> Result<T, StoreError>,
) -> Result<Repaired<T>, StoreError> {
    let digest = digest(copy)?;
    let file = with_suffix(path, &format!(".repaired-{}", &digest[..16]));
    if file.exists() {
        return Err(StoreError::AlreadyRepaired { file });
    }
    let part = with_suffix(&file, ".part");
    remove_if_there(&part)?;
    let from = open_without_look(copy, pragmas)?;
    let report = save(&from, &part)?;
    drop(from);
    guard::release(&part);
    fs::rename(&part, &file).map_err(|source| io_error(&file, source))?;
    // The owner has emptied its log; what is left of it would only lie around.
    let log = with_suffix(&part, "-wal");
    if fs::metadata(&log).is_ok_and(|metadata| metadata.len() > 0) {
        let target = with_suffix(&file, "-wal");
        fs::rename(&log, &target).map_err(|source| io_error(&target, source))?;
    }
    remove_if_there(&log)?;
    remove_if_there(&with_suffix(&part, "-shm"))?;
    Ok(Repaired { file, report })
}

fn digest(copy: &Path) -> Result<String, StoreError> {
    let mut hasher = Sha256::new();
    for file in [copy, &with_suffix(copy, "-wal")] {
        match fs::File::open(file) {
            Ok(open) => feed(open, &mut hasher).map_err(|source| io_error(file, source))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(io_error(file, source)),
        }
    }
    Ok(hasher
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

fn feed(mut file: fs::File, hasher: &mut Sha256) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(()),
            read => hasher.update(&buffer[..read]),
        }
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn remove_if_there(file: &Path) -> Result<(), StoreError> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error(file, error)),
        _ => Ok(()),
    }
}

fn io_error(file: &Path, source: io::Error) -> StoreError {
    StoreError::Io {
        file: file.to_owned(),
        source,
    }
}
