//! `processes.json`: which background processes run, for whoever comes after us.
//!
//! The format is the reference's, with fields of our own added. Several processes
//! share the file: each replaces only its own entries, under a lock. A file that
//! cannot be read says nothing and is replaced.

use std::path::{Path, PathBuf};

use hermes_home::{FileMode, Lock, LockKind, write_atomic};
use hermes_process::{Identity, Mark, Tree};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::entry::Owner;

/// One process. Fields that we do not know travel along.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Record {
    pub(super) session_id: String,
    pub(super) command: String,
    pub(super) pid: Option<i32>,
    /// `host` or `sandbox`.
    pub(super) pid_scope: String,
    pub(super) cwd: String,
    /// Seconds since 1970.
    pub(super) started_at: f64,
    pub(super) task_id: String,
    pub(super) session_key: String,
    pub(super) watcher_platform: String,
    pub(super) watcher_chat_id: String,
    pub(super) watcher_user_id: String,
    pub(super) watcher_user_name: String,
    pub(super) watcher_thread_id: String,
    pub(super) watcher_message_id: String,
    pub(super) watcher_interval: u64,
    pub(super) notify_on_complete: bool,
    pub(super) watch_patterns: Vec<String>,
    /// With the pid: which process, beyond doubt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) start_ticks: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) boot_id: Option<String>,
    /// Finds what left the process's session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mark: Option<u64>,
    /// Where its output is: a file of this machine, or the files inside a sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) log: Option<String>,
    /// The Hermes that looks after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) owner: Option<Identity>,
    #[serde(flatten)]
    pub(super) other: Map<String, Value>,
}

const ROUTE: &[&str] = &[
    "platform",
    "chat_id",
    "user_id",
    "user_name",
    "thread_id",
    "message_id",
];

impl Record {
    pub(super) fn set_owner(&mut self, owner: &Owner) {
        let part = |name: &str| owner.route.get(name).cloned().unwrap_or_default();
        self.task_id.clone_from(&owner.task);
        self.session_key.clone_from(&owner.session_key);
        self.watcher_platform = part("platform");
        self.watcher_chat_id = part("chat_id");
        self.watcher_user_id = part("user_id");
        self.watcher_user_name = part("user_name");
        self.watcher_thread_id = part("thread_id");
        self.watcher_message_id = part("message_id");
        self.watcher_interval = if self.notify_on_complete { 5 } else { 0 };
    }

    pub(super) fn owner(&self) -> Owner {
        let values = [
            &self.watcher_platform,
            &self.watcher_chat_id,
            &self.watcher_user_id,
            &self.watcher_user_name,
            &self.watcher_thread_id,
            &self.watcher_message_id,
        ];
        Owner {
            task: self.task_id.clone(),
            session_key: self.session_key.clone(),
            route: ROUTE
                .iter()
                .zip(values)
                .filter(|(_, value)| !value.is_empty())
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect(),
        }
    }

    /// The process on this machine, if it still is the one that was started.
    pub(super) fn living_tree(&self) -> Option<Tree> {
        let pid = self.pid?;
        let now = Identity::of(pid)?;
        let same = match (self.start_ticks, &self.boot_id) {
            (Some(ticks), Some(boot)) => ticks == now.start_ticks && *boot == now.boot_id,
            // The reference notes only when it started the process.
            _ => now
                .started_at()
                .is_some_and(|started| (started - self.started_at).abs() < 3.0),
        };
        (same && now.is_alive()).then(|| Tree {
            root: now,
            mark: Mark::from_value(self.mark.unwrap_or(0)),
            session: true,
        })
    }

    /// Somebody else who still lives looks after it.
    pub(super) fn has_living_owner(&self) -> bool {
        self.owner.as_ref().is_some_and(Identity::is_alive)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Checkpoint {
    path: PathBuf,
    me: Identity,
}

impl Checkpoint {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            me: Identity::of_this_process(),
        }
    }

    pub(super) fn me(&self) -> &Identity {
        &self.me
    }

    /// Replaces our entries with `ours`; those of others that are still alive stay.
    pub(super) fn write(&self, ours: &[Record]) -> std::io::Result<()> {
        self.update(|records| {
            records.retain(|record| {
                let mine = record.owner.as_ref() == Some(&self.me)
                    || ours.iter().any(|own| own.session_id == record.session_id);
                !mine && (record.has_living_owner() || record.may_live())
            });
            records.extend(ours.iter().cloned());
        })
    }

    /// Takes the entries that nobody alive looks after.
    pub(super) fn adopt(&self, task: Option<&str>) -> Vec<Record> {
        let mut adopted = Vec::new();
        if !self.path.exists() {
            return adopted;
        }
        let outcome = self.update(|records| {
            for record in records.iter_mut() {
                let wanted = task.is_none_or(|task| record.task_id == task);
                if wanted && !record.has_living_owner() && record.may_live() {
                    record.owner = Some(self.me.clone());
                    adopted.push(record.clone());
                }
            }
        });
        if let Err(error) = outcome {
            tracing::warn!(%error, "cannot update {}", self.path.display());
        }
        adopted
    }

    fn update(&self, change: impl FnOnce(&mut Vec<Record>)) -> std::io::Result<()> {
        if let Some(parent) = self.path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let _lock = Lock::acquire(&self.path.with_extension("json.lock"), LockKind::Exclusive)?;
        let mut records = read(&self.path);
        let before = records.clone();
        change(&mut records);
        if records == before && self.path.exists() {
            return Ok(());
        }
        let text = serde_json::to_vec_pretty(&records)?;
        write_atomic(&self.path, &text, FileMode::Private)
    }
}

impl Record {
    /// Not known to be over. What runs in a sandbox cannot be seen from here.
    fn may_live(&self) -> bool {
        self.pid_scope == "sandbox" || self.living_tree().is_some()
    }
}

fn read(path: &Path) -> Vec<Record> {
    let Ok(bytes) = std::fs::read(path) else {
        return Vec::new();
    };
    match serde_json::from_slice::<Vec<Value>>(&bytes) {
        // One bad entry does not take the others along.
        Ok(values) => values
            .into_iter()
            .filter_map(|value| serde_json::from_value(value).ok())
            .collect(),
        Err(error) => {
            tracing::warn!(%error, "{} is not readable and starts anew", path.display());
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn record(id: &str, scope: &str) -> Record {
        let me = Identity::of_this_process();
        Record {
            session_id: id.to_owned(),
            pid: Some(me.pid),
            pid_scope: scope.to_owned(),
            start_ticks: Some(me.start_ticks),
            boot_id: Some(me.boot_id),
            ..Record::default()
        }
    }

    fn dead() -> Identity {
        Identity {
            pid: 1,
            start_ticks: u64::MAX,
            boot_id: "gone".to_owned(),
        }
    }

    #[test]
    fn each_process_replaces_only_its_own_entries() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("processes.json");
        let other = Record {
            owner: Identity::of(1),
            ..record("proc_other", "host")
        };
        std::fs::write(&path, serde_json::to_vec(&[&other]).unwrap()).unwrap();
        let checkpoint = Checkpoint::new(path.clone());
        let mine = Record {
            owner: Some(checkpoint.me().clone()),
            ..record("proc_mine", "host")
        };
        checkpoint.write(std::slice::from_ref(&mine)).unwrap();
        assert_eq!(read(&path), vec![other.clone(), mine]);
        checkpoint.write(&[]).unwrap();
        assert_eq!(read(&path), vec![other]);
    }

    #[test]
    fn only_what_nobody_looks_after_is_adopted() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("processes.json");
        let orphan = Record {
            owner: Some(dead()),
            ..record("proc_orphan", "host")
        };
        let foreign = record("proc_reference", "sandbox");
        let cared_for = Record {
            owner: Identity::of(1),
            ..record("proc_busy", "host")
        };
        let recycled = Record {
            start_ticks: Some(1),
            ..record("proc_recycled", "host")
        };
        std::fs::write(
            &path,
            serde_json::to_vec(&[&orphan, &foreign, &cared_for, &recycled]).unwrap(),
        )
        .unwrap();
        let checkpoint = Checkpoint::new(path);
        let adopted: Vec<String> = checkpoint
            .adopt(None)
            .into_iter()
            .map(|record| record.session_id)
            .collect();
        assert_eq!(adopted, ["proc_orphan", "proc_reference"]);
        assert_eq!(checkpoint.adopt(None).len(), 0);
    }

    #[test]
    fn a_broken_file_is_replaced_and_unknown_fields_survive() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("processes.json");
        std::fs::write(&path, "{not json").unwrap();
        let checkpoint = Checkpoint::new(path.clone());
        checkpoint.write(&[record("proc_a", "host")]).unwrap();
        assert_eq!(read(&path).len(), 1);
        let text = r#"[{"session_id":"proc_b","pid_scope":"sandbox","invented":{"x":1}}, 7]"#;
        std::fs::write(&path, text).unwrap();
        checkpoint.write(&[]).unwrap();
        assert_eq!(read(&path)[0].other["invented"]["x"], 1);
    }
}
