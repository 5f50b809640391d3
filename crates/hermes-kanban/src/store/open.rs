//! Opening a board: once per process and file under the init lock, checked, with
//! its schema; a damaged file is copied aside and refused.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use hermes_home::{Clock, Lock, LockKind};
use hermes_store::{Access, Database, Pragmas, StoreError, Synchronous, door};
use sha2::{Digest, Sha256};

use super::schema;
use super::seam::BoardStore;
use crate::error::KanbanError;
use crate::machine::DEFAULT_FAILURE_LIMIT;

/// How thoroughly an existing file is looked at before it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Long-lived processes: every index against its table.
    Full,
    /// One command: the structure.
    Quick,
}

#[derive(Clone, Debug)]
pub struct OpenOptions {
    pub check: Check,
    /// How long to wait for other writers.
    pub patience: Duration,
    /// Consecutive failures before a task is blocked, unless it says otherwise.
    pub failure_limit: i64,
    pub clock: Clock,
    /// Runs every migration step even if the schema looks complete.
    pub migrate: bool,
    /// Writes nothing to a board of the reference, not even the table it lacks.
    pub untouched: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            check: Check::Quick,
            patience: Duration::from_millis(120_000),
            failure_limit: DEFAULT_FAILURE_LIMIT,
            clock: Clock::System,
            migrate: false,
            untouched: false,
        }
    }
}

/// One board, open. One thread uses it at a time; a process that lives long keeps
/// it open, which is what guards the write-ahead log against other programs.
#[derive(Debug)]
pub(super) struct SqliteBoard {
    pub(super) database: Database,
    pub(super) clock: Clock,
    pub(super) failure_limit: i64,
}

/// How long the init lock is worth waiting for; SQLite serialises the schema too.
const INIT_PATIENCE: Duration = Duration::from_secs(30);
/// The reference checkpoints this often, and so must we: a log that only we let
/// grow would be checkpointed by it at every commit.
const CHECKPOINT_PAGES: i64 = 100;

/// Files that this process has checked, by device and inode: a board that was
/// removed and made anew is another file.
static CHECKED: Mutex<Option<HashSet<(u64, u64)>>> = Mutex::new(None);

impl SqliteBoard {
    pub(super) fn open(path: &Path, options: &OpenOptions) -> Result<Self, KanbanError> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(KanbanError::io(parent))?;
        }
        let known = file_id(path).is_some_and(is_checked);
        let _init = if known { None } else { init_lock(path) };
        let database = open_database(path, options)?;
        if !known {
            let outcome = match options.check {
                Check::Full => database.integrity_check(),
                Check::Quick => database.quick_check(),
            };
            if let Err(error) = outcome {
                drop(database);
                return Err(preserve(path, error));
            }
        }
        let board = Self {
            database,
            clock: options.clock.clone(),
            failure_limit: options.failure_limit.max(1),
        };
        let current = schema::is_current(board.database.connection())
            .map_err(|error| preserve(path, board.database.named(error)))?;
        if options.untouched && !current && schema::lacks_only_ours(board.database.connection())? {
            schema::add_ours_in_memory(board.database.connection())?;
        } else if options.migrate || !current {
            let now = board.now();
            board.database.write(|tx| schema::migrate(tx, now))?;
        }
        if let Some(id) = file_id(path) {
            remember(id);
        }
        Ok(board)
    }

    /// A board to look names up in: nothing is made, checked, changed or waited for.
    pub(super) fn glance(path: &Path) -> Result<Self, KanbanError> {
        let pragmas = Pragmas {
            synchronous: Synchronous::Full,
            foreign_keys: true,
            patience: Duration::from_millis(100),
        };
        Ok(Self {
            database: Database::open(path, &pragmas, Access::ReadOnly)?,
            clock: Clock::System,
            failure_limit: DEFAULT_FAILURE_LIMIT,
        })
    }

    pub(super) fn now(&self) -> i64 {
        self.clock.now().timestamp()
    }

    /// Lets go of the guard of a board whose directory is about to be removed.
    pub(super) fn forget(path: &Path) {
        if let Some(id) = file_id(path) {
            // The number may be given to the next file.
            let mut checked = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
            checked.get_or_insert_with(HashSet::new).remove(&id);
        }
        door::release(path);
    }
}

impl BoardStore for SqliteBoard {
    fn now(&self) -> i64 {
        Self::now(self)
    }

    fn failure_limit(&self) -> i64 {
        self.failure_limit
    }
}

fn open_database(path: &Path, options: &OpenOptions) -> Result<Database, KanbanError> {
    let pragmas = Pragmas {
        synchronous: Synchronous::Full,
        foreign_keys: true,
        patience: options.patience,
    };
    let database =
        Database::open(path, &pragmas, Access::Create).map_err(|error| preserve(path, error))?;
    let connection = database.connection();
    let set = || -> rusqlite::Result<()> {
        connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
        connection.pragma_update(None, "secure_delete", true)?;
        connection.pragma_update(None, "cell_size_check", true)?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(())
    };
    set().map_err(|error| preserve(path, database.named(error)))?;
    Ok(database)
}

fn init_lock(path: &Path) -> Option<Lock> {
    let file = with_suffix(path, ".init.lock");
    let started = Instant::now();
    loop {
        match Lock::try_acquire(&file, LockKind::Exclusive) {
            Ok(Some(lock)) => return Some(lock),
            Ok(None) if started.elapsed() < INIT_PATIENCE => {
                thread::sleep(Duration::from_millis(2));
            }
            Ok(None) => {
                tracing::warn!(file = %file.display(), "the init lock is held for too long; going on without it");
                return None;
            }
            Err(error) => {
                tracing::warn!(file = %file.display(), %error, "no init lock");
                return None;
            }
        }
    }
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn file_id(path: &Path) -> Option<(u64, u64)> {
    // `stat` opens nothing, so it drops no lock.
    fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
}

fn is_checked(id: (u64, u64)) -> bool {
    let checked = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
    checked.as_ref().is_some_and(|set| set.contains(&id))
}

fn remember(id: (u64, u64)) {
    let mut checked = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
    checked.get_or_insert_with(HashSet::new).insert(id);
}

/// Turns damage into a refusal with a copy beside the file. The copy is named
/// after its content, so trying again makes no second one. Anything else, a lock
/// for example, is passed on.
fn preserve(path: &Path, error: StoreError) -> KanbanError {
    let StoreError::Corrupt { detail, .. } = &error else {
        return error.into();
    };
    // The guard may hold the file: reading it would drop our locks, so it goes first.
    door::release(path);
    match back_up(path) {
        Ok(backup) => KanbanError::Corrupt {
            path: path.to_owned(),
            reason: detail.clone(),
            backup,
        },
        Err(source) => KanbanError::Io {
            path: path.to_owned(),
            source,
        },
    }
}

fn back_up(path: &Path) -> io::Result<PathBuf> {
    let mut hasher = Sha256::new();
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        hasher.update(&buffer[..count]);
    }
    drop(file);
    let digest: String = hasher
        .finalize()
        .iter()
        .take(8)
        .map(|b| format!("{b:02x}"))
        .collect();
    let backup = with_suffix(path, &format!(".corrupt.{digest}.bak"));
    if !backup.exists() {
        fs::copy(path, &backup)?;
        for suffix in ["-wal", "-shm"] {
            let sidecar = with_suffix(path, suffix);
            if sidecar.exists() {
                fs::copy(&sidecar, with_suffix(&backup, suffix))?;
            }
        }
    }
    Ok(backup)
}
