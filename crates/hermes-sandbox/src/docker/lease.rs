//! Who uses a container, and who may take it away.
//!
//! A process that uses a container holds a shared lock on its lease file; the
//! kernel lets go of it on any death. Whoever wants to stop, remove or replace
//! the container on its own initiative needs the lock alone. Searching and
//! creating happen under a second lock, so that processes which start together
//! end up in one container. Always in this order: `create.lock`, then `lease`.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use chrono::{DateTime, Utc};
use hermes_home::{Clock, FileMode, Lock, LockKind, write_atomic};
use serde::{Deserialize, Serialize};

use super::container::Plan;
use super::engine::ContainerId;
use super::place::Place;
use super::settings::Spec;

/// Longer than the slowest creation.
const CREATE_PATIENCE: Duration = Duration::from_secs(150);

/// Longer than the slowest stop and removal.
const LEASE_PATIENCE: Duration = Duration::from_secs(70);

/// In use by this process until dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    path: PathBuf,
    _lock: Lock,
}

impl Lease {
    /// Waits while somebody is taking the container away.
    pub(crate) async fn share(path: PathBuf) -> io::Result<Self> {
        let lock = patiently(&path, LockKind::Shared, LEASE_PATIENCE).await?;
        let lease = Self { path, _lock: lock };
        lease.touch();
        Ok(lease)
    }

    /// Notes that the container is being used now.
    pub(crate) fn touch(&self) {
        if let Ok(file) = File::options().write(true).open(&self.path) {
            let _ = file.set_modified(SystemTime::now());
        }
    }
}

/// Nobody else uses the container while this is held.
#[derive(Debug)]
pub(crate) struct Alone {
    _lock: Lock,
}

/// `None`: somebody uses it.
pub(crate) fn alone(path: &Path) -> io::Result<Option<Alone>> {
    let lock = Lock::try_acquire(path, LockKind::Exclusive)?;
    Ok(lock.map(|lock| Alone { _lock: lock }))
}

/// Held around searching and creating.
pub(crate) async fn creation(place: &Place) -> io::Result<Lock> {
    patiently(&place.create_lock(), LockKind::Exclusive, CREATE_PATIENCE).await
}

/// Asks again and again instead of blocking a thread that nothing could interrupt.
async fn patiently(path: &Path, kind: LockKind, patience: Duration) -> io::Result<Lock> {
    let deadline = tokio::time::Instant::now() + patience;
    let mut pause = Duration::from_millis(2);
    loop {
        if let Some(lock) = Lock::try_acquire(path, kind)? {
            return Ok(lock);
        }
        if tokio::time::Instant::now() >= deadline {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!(
                    "another process has held {} for {} s",
                    path.display(),
                    patience.as_secs()
                ),
            ));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(25));
    }
}

/// A process that holds a lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Holder {
    pub pid: i32,
    pub command: String,
}

/// Who holds the lock on this file, as the kernel tells it.
pub fn holders(path: &Path) -> Vec<Holder> {
    let (Ok(meta), Ok(locks)) = (fs::metadata(path), fs::read_to_string("/proc/locks")) else {
        return Vec::new();
    };
    let mut found: Vec<Holder> = holding_pids(&locks, meta.dev(), meta.ino())
        .into_iter()
        .map(|pid| Holder {
            pid,
            command: command_of(pid),
        })
        .collect();
    found.sort_by_key(|holder| holder.pid);
    found.dedup();
    found
}

/// Lines like `5: FLOCK  ADVISORY  READ 1234 fe:00:5678 0 EOF`.
fn holding_pids(locks: &str, device: u64, inode: u64) -> Vec<i32> {
    let major = nix::sys::stat::major(device);
    let minor = nix::sys::stat::minor(device);
    let file = format!("{major:02x}:{minor:02x}:{inode}");
    locks
        .lines()
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            // A lock that is only waited for has an arrow in second place.
            let at = words.iter().position(|word| *word == "FLOCK")?;
            (words.get(at + 4) == Some(&file.as_str()) && at == 1)
                .then(|| words.get(at + 3)?.parse().ok())
                .flatten()
        })
        .collect()
}

fn command_of(pid: i32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<String> = bytes
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty())
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect();
    words.join(" ").chars().take(200).collect()
}

/// What we remember about a container. A hint: the engine is always asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct StateFile {
    #[serde(default)]
    pub(crate) container: String,
    #[serde(default)]
    pub(crate) spec: Spec,
    #[serde(default)]
    pub(crate) last_used: Option<DateTime<Utc>>,
}

impl StateFile {
    pub(crate) fn read(place: &Place) -> Option<Self> {
        serde_json::from_slice(&fs::read(place.state()).ok()?).ok()
    }

    pub(crate) fn of(container: &ContainerId, plan: &Plan, clock: &Clock) -> Self {
        Self {
            container: container.as_str().to_owned(),
            spec: plan.settings.spec(),
            last_used: Some(clock.now()),
        }
    }

    /// Losing a hint is no reason to fail.
    pub(crate) fn save(&self, place: &Place) {
        if let Err(error) = self.write(place) {
            tracing::debug!("{}: {error}", place.state().display());
        }
    }

    fn write(&self, place: &Place) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::other)?;
        write_atomic(&place.state(), &text, FileMode::Private)
    }
}

/// When anybody last used it: the lease is touched on every use.
pub fn last_used(place: &Place) -> Option<DateTime<Utc>> {
    let touched = fs::metadata(place.lease())
        .and_then(|meta| meta.modified())
        .ok()
        .map(DateTime::<Utc>::from);
    let noted = StateFile::read(place).and_then(|state| state.last_used);
    touched.max(noted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_kernel_tells_who_holds_a_lease() {
        let directory = tempfile::tempdir().expect("tempdir");
        let path = directory.path().join("lease");
        assert_eq!(holders(&path), vec![]);
        let first = Lock::acquire(&path, LockKind::Shared).expect("lock");
        let own = i32::try_from(std::process::id()).expect("pid");
        let pids: Vec<i32> = holders(&path).iter().map(|holder| holder.pid).collect();
        assert_eq!(pids, vec![own]);
        assert!(alone(&path).expect("try").is_none());
        drop(first);
        assert_eq!(holders(&path), vec![]);
        assert!(alone(&path).expect("try").is_some());
    }

    #[test]
    fn waiters_do_not_count_as_holders() {
        let locks = "1: FLOCK  ADVISORY  READ 11 08:01:77 0 EOF\n\
                     1: -> FLOCK  ADVISORY  WRITE 12 08:01:77 0 EOF\n\
                     2: POSIX  ADVISORY  WRITE 13 08:01:77 0 EOF\n\
                     3: FLOCK  ADVISORY  READ 14 08:01:78 0 EOF\n";
        let device = nix::sys::stat::makedev(8, 1);
        assert_eq!(holding_pids(locks, device, 77), vec![11]);
    }

    #[test]
    fn a_torn_state_file_is_no_state() {
        let directory = tempfile::tempdir().expect("tempdir");
        let place = Place::new(directory.path(), "default");
        fs::create_dir_all(place.directory()).expect("mkdir");
        assert_eq!(StateFile::read(&place), None);
        let state = StateFile {
            container: "abc".to_owned(),
            ..StateFile::default()
        };
        state.write(&place).expect("write");
        assert_eq!(StateFile::read(&place), Some(state));
        fs::write(place.state(), "{\"container\":").expect("write");
        assert_eq!(StateFile::read(&place), None);
    }
}
