//! Which files of a directory go into an archive, and their content at one moment.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use hermes_store::{Access, Database, PRAGMAS, StoreError};

/// Files up to this size are read in one go, so that one that grows meanwhile (a
/// log) has one length.
const WHOLE: u64 = 8 * 1024 * 1024;

/// A regular file below the directory.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// Relative, with `/` between its parts.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) mode: u32,
    /// Seconds since 1970.
    pub(crate) modified: u64,
}

/// What a walk found.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) items: Vec<Item>,
    /// What cannot be read or named, with the reason.
    pub(crate) unreadable: Vec<(PathBuf, String)>,
}

/// Every regular file whose name (and whose directories' names) `keep` lets in;
/// links, sockets and devices are left out. In order of name.
pub(crate) fn gather(root: &Path, keep: &dyn Fn(&str) -> bool) -> io::Result<Gathered> {
    let mut gathered = Gathered::default();
    let mut open = vec![(root.to_owned(), String::new())];
    while let Some((directory, prefix)) = open.pop() {
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) if directory == root => return Err(error),
            Err(error) => {
                gathered.unreadable.push((directory, error.to_string()));
                continue;
            }
        };
        for entry in entries {
            let entry = entry?;
            let path = entry.path();
            let Some(part) = entry.file_name().to_str().map(str::to_owned) else {
                gathered
                    .unreadable
                    .push((path, "its name is not UTF-8".to_owned()));
                continue;
            };
            let name = format!("{prefix}{part}");
            if !keep(&name) {
                continue;
            }
            let Ok(metadata) = entry.metadata() else {
                continue; // gone between two looks
            };
            if metadata.is_dir() {
                open.push((path, format!("{name}/")));
            } else if metadata.is_file() {
                gathered.items.push(Item {
                    name,
                    path,
                    mode: metadata.permissions().mode() & 0o777,
                    modified: u64::try_from(metadata.mtime()).unwrap_or(0),
                });
            }
        }
    }
    gathered.items.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(gathered)
}

/// The bytes of one item, and how many they are.
pub(crate) struct Content {
    pub(super) size: u64,
    pub(super) bytes: Box<dyn Read>,
    /// Holds the copy of a database until it has been read.
    _copy: Option<tempfile::TempDir>,
}

impl Item {
    /// `None` when the file is gone by now.
    pub(crate) fn open(&self) -> io::Result<Option<Content>> {
        match self.content() {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn content(&self) -> io::Result<Content> {
        let mut copy = None;
        let mut path = self.path.clone();
        if is_database(&self.name) {
            let directory = tempfile::tempdir()?;
            path = directory.path().join("copy.db");
            copy_database(&self.path, &path)?;
            copy = Some(directory);
        }
        let mut file = File::open(&path)?;
        let size = file.metadata()?.len();
        if size <= WHOLE {
            let mut bytes = Vec::new();
            file.by_ref().take(WHOLE * 2).read_to_end(&mut bytes)?;
            return Ok(Content {
                size: bytes.len() as u64,
                bytes: Box::new(io::Cursor::new(bytes)),
                _copy: copy,
            });
        }
        Ok(Content {
            size,
            bytes: Box::new(file.take(size)),
            _copy: copy,
        })
    }
}

/// By name: reading the first bytes would itself be a descriptor beside SQLite's.
pub(crate) fn is_database(name: &str) -> bool {
    [".db", ".sqlite", ".sqlite3"]
        .iter()
        .any(|end| name.ends_with(end))
}

/// The files that SQLite keeps beside a database and builds anew.
pub(crate) fn is_sidecar(name: &str) -> bool {
    ["-wal", "-shm", "-journal"]
        .iter()
        .any(|end| name.strip_suffix(end).is_some_and(is_database))
}

/// A consistent copy while others write. Files named like a database that are none
/// are copied as they are.
pub(crate) fn copy_database(from: &Path, to: &Path) -> io::Result<()> {
    let copied = Database::open_if_there(from, &PRAGMAS, Access::ReadOnly)
        .and_then(|database| database.map(|database| database.copy_to(to)).transpose());
    match copied {
        Ok(Some(())) => Ok(()),
        Ok(None) | Err(StoreError::NotADatabase { .. }) => fs::copy(from, to).map(|_| ()),
        Err(error) => Err(io::Error::other(error)),
    }
}
