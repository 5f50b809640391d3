//! `.usage.json`: how often each skill was looked at, used and changed. Kept
//! under a lock, keys sorted, as the reference writes it; unknown keys survive.

use std::fs;
use std::path::{Path, PathBuf};

use chrono::{DateTime, SecondsFormat, Utc};
use hermes_home::{Clock, FileMode, Lock, LockKind, write_atomic};
use serde_json::{Map, Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bump {
    View,
    Use,
    Patch,
}

#[derive(Clone, Debug)]
pub struct UsageRecords {
    file: PathBuf,
    clock: Clock,
}

impl UsageRecords {
    pub fn new(skills: &Path, clock: Clock) -> Self {
        Self {
            file: skills.join(".usage.json"),
            clock,
        }
    }

    pub fn bump(&self, name: &str, bumps: &[Bump]) {
        self.edit(|records, now| {
            let record = record(records, name, now);
            for bump in bumps {
                let (count, last) = match bump {
                    Bump::View => ("view_count", "last_viewed_at"),
                    Bump::Use => ("use_count", "last_used_at"),
                    Bump::Patch => ("patch_count", "last_patched_at"),
                };
                let next = record.get(count).and_then(Value::as_u64).unwrap_or(0) + 1;
                record.insert(count.to_owned(), json!(next));
                record.insert(last.to_owned(), json!(now));
            }
        });
    }

    pub fn created(&self, name: &str, by: Option<&str>) {
        self.edit(|records, now| {
            let record = record(records, name, now);
            record.insert("created_by".to_owned(), json!(by));
        });
    }

    pub fn forget(&self, name: &str) {
        self.edit(|records, _| {
            records.remove(name);
        });
    }

    pub fn is_pinned(&self, name: &str) -> bool {
        self.load()
            .get(name)
            .and_then(|record| record.get("pinned"))
            .and_then(Value::as_bool)
            .unwrap_or(false)
    }

    fn load(&self) -> Map<String, Value> {
        fs::read(&self.file)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default()
    }

    /// Counting is a convenience: when the file cannot be written, work goes on.
    fn edit(&self, change: impl FnOnce(&mut Map<String, Value>, &str)) {
        let mut lock_name = self.file.as_os_str().to_owned();
        lock_name.push(".lock");
        let Ok(_lock) = Lock::acquire(Path::new(&lock_name), LockKind::Exclusive) else {
            tracing::debug!(file = %self.file.display(), "skill usage not recorded");
            return;
        };
        let mut records = self.load();
        let now = python_iso(self.clock.now());
        change(&mut records, &now);
        let mut sorted: Vec<(String, Value)> = records.into_iter().collect();
        sorted.sort_by(|a, b| a.0.cmp(&b.0));
        let sorted: Map<String, Value> = sorted
            .into_iter()
            .map(|(name, record)| (name, sort_keys(record)))
            .collect();
        let written = serde_json::to_vec_pretty(&sorted)
            .map_err(std::io::Error::from)
            .and_then(|bytes| write_atomic(&self.file, &bytes, FileMode::KeepOrPrivate));
        if let Err(error) = written {
            tracing::debug!(file = %self.file.display(), %error, "skill usage not recorded");
        }
    }
}

fn record<'a>(
    records: &'a mut Map<String, Value>,
    name: &str,
    now: &str,
) -> &'a mut Map<String, Value> {
    let entry = records
        .entry(name.to_owned())
        .or_insert_with(|| Value::Object(Map::new()));
    if !entry.is_object() {
        *entry = Value::Object(Map::new());
    }
    let Value::Object(map) = entry else {
        unreachable!("made an object above")
    };
    for (key, value) in [
        ("archived_at", Value::Null),
        ("created_at", json!(now)),
        ("created_by", Value::Null),
        ("last_patched_at", Value::Null),
        ("last_used_at", Value::Null),
        ("last_viewed_at", Value::Null),
        ("patch_count", json!(0)),
        ("pinned", json!(false)),
        ("state", json!("active")),
        ("use_count", json!(0)),
        ("view_count", json!(0)),
    ] {
        map.entry(key).or_insert(value);
    }
    map
}

fn sort_keys(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut pairs: Vec<(String, Value)> = map.into_iter().collect();
            pairs.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(pairs.into_iter().collect())
        }
        other => other,
    }
}

fn python_iso(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Micros, false)
}
