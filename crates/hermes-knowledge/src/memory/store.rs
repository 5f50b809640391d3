//! Reading and changing the files. Every change takes the file's lock, reads
//! what is there now, and replaces the file as a whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use hermes_home::{FileMode, Lock, LockKind, write_atomic};

use super::file::{self, DELIMITER, characters, grouped};
use crate::scan::{self, Scope};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Memory,
    User,
}

impl Target {
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "memory" => Some(Target::Memory),
            "user" => Some(Target::User),
            _ => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Target::Memory => "memory",
            Target::User => "user",
        }
    }

    fn file_name(self) -> &'static str {
        match self {
            Target::Memory => "MEMORY.md",
            Target::User => "USER.md",
        }
    }
}

/// Characters that each file may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimits {
    pub memory: usize,
    pub user: usize,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        Self {
            memory: 2200,
            user: 1375,
        }
    }
}

/// The state of a file after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub entries: Vec<String>,
    /// `3% — 83/2,200 chars`.
    pub usage: String,
    pub outcome: Outcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Added,
    AlreadyThere,
    Replaced,
    Removed,
}

impl Outcome {
    pub fn message(self) -> &'static str {
        match self {
            Outcome::Added => "Entry added.",
            Outcome::AlreadyThere => "This entry is there already; nothing was added.",
            Outcome::Replaced => "Entry replaced.",
            Outcome::Removed => "Entry removed.",
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    #[error("content is empty")]
    EmptyContent,
    #[error("content must not have a line that is only `§`: it separates entries")]
    Delimiter,
    #[error("old_text is empty")]
    EmptyOldText,
    #[error("refused: the text looks like an injection or carries a secret ({})", ids.join(", "))]
    Suspicious { ids: Vec<String> },
    #[error(
        "the {} store has {current} of {limit} characters in use and this entry would make it {wanted}; shorten it, or replace or remove entries first",
        target.as_str()
    )]
    Full {
        target: Target,
        current: usize,
        wanted: usize,
        limit: usize,
        entries: Vec<String>,
        usage: String,
    },
    #[error("no entry contains {old_text:?}")]
    NoMatch { old_text: String },
    #[error("{} entries contain {old_text:?}; give a longer piece of the one you mean", previews.len())]
    Ambiguous {
        old_text: String,
        previews: Vec<String>,
    },
    #[error(
        "{} was edited by hand in a way that rewriting would lose; it is unchanged and a copy is at {}",
        path.display(),
        copy.display()
    )]
    Foreign { path: PathBuf, copy: PathBuf },
    #[error("cannot access {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// `memories/` of one home.
#[derive(Clone, Debug)]
pub struct MemoryStore {
    directory: PathBuf,
    limits: MemoryLimits,
}

impl MemoryStore {
    pub fn new(directory: impl Into<PathBuf>, limits: MemoryLimits) -> Self {
        Self {
            directory: directory.into(),
            limits,
        }
    }

    pub fn path(&self, target: Target) -> PathBuf {
        self.directory.join(target.file_name())
    }

    pub fn limit(&self, target: Target) -> usize {
        match target {
            Target::Memory => self.limits.memory,
            Target::User => self.limits.user,
        }
    }

    /// What the file holds now; a missing file holds nothing.
    pub fn entries(&self, target: Target) -> Result<Vec<String>, MemoryError> {
        Ok(file::parse(&self.text(target)?))
    }

    pub fn add(&self, target: Target, content: &str) -> Result<Written, MemoryError> {
        let content = clean(content)?;
        self.change(target, |entries| {
            if entries.contains(&content) {
                return Ok(Outcome::AlreadyThere);
            }
            entries.push(content);
            Ok(Outcome::Added)
        })
    }

    pub fn replace(
        &self,
        target: Target,
        old_text: &str,
        content: &str,
    ) -> Result<Written, MemoryError> {
        let content = clean(content)?;
        self.change(target, |entries| {
            let index = find(entries, old_text)?;
            entries[index] = content;
            Ok(Outcome::Replaced)
        })
    }

    pub fn remove(&self, target: Target, old_text: &str) -> Result<Written, MemoryError> {
        self.change(target, |entries| {
            let index = find(entries, old_text)?;
            entries.remove(index);
            Ok(Outcome::Removed)
        })
    }

    /// Deletes the file; `false` when there was none.
    pub fn clear(&self, target: Target) -> Result<bool, MemoryError> {
        let path = self.path(target);
        let _lock = self.lock(target)?;
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(MemoryError::Io { path, source }),
        }
    }

    /// The block for the system prompt, or `None` when the store is empty.
    /// Entries that trip the scanner are named instead of quoted.
    pub fn prompt_block(&self, target: Target) -> Option<String> {
        let entries = self.entries(target).ok()?;
        if entries.is_empty() {
            return None;
        }
        let title = match target {
            Target::Memory => "MEMORY (your own notes)",
            Target::User => "USER PROFILE (who you work for)",
        };
        let shown: Vec<String> = entries
            .iter()
            .map(|entry| {
                let ids = scan::scan(entry, Scope::Strict);
                if ids.is_empty() {
                    entry.clone()
                } else {
                    scan::blocked_line("a memory entry", &ids)
                }
            })
            .collect();
        let rule = "═".repeat(46);
        Some(format!(
            "{rule}\n{title} [{}]\n{rule}\n{}",
            self.usage(target, &entries),
            shown.join(DELIMITER)
        ))
    }

    /// `3% — 83/2,200 chars`.
    pub fn usage(&self, target: Target, entries: &[String]) -> String {
        let current = characters(&file::joined(entries));
        let limit = self.limit(target);
        let percent = (current * 100).checked_div(limit).unwrap_or(100);
        format!("{percent}% — {}/{} chars", grouped(current), grouped(limit))
    }

    fn change(
        &self,
        target: Target,
        edit: impl FnOnce(&mut Vec<String>) -> Result<Outcome, MemoryError>,
    ) -> Result<Written, MemoryError> {
        let path = self.path(target);
        let _lock = self.lock(target)?;
        let text = self.text(target)?;
        let limit = self.limit(target);
        if !file::is_ours(&text, limit) {
            let copy = keep_copy(&path, &text).map_err(|source| MemoryError::Io {
                path: path.clone(),
                source,
            })?;
            return Err(MemoryError::Foreign { path, copy });
        }
        let before = file::parse(&text);
        let mut entries = before.clone();
        let outcome = edit(&mut entries)?;
        if entries != before {
            let joined = file::joined(&entries);
            let wanted = characters(&joined);
            let current = characters(&file::joined(&before));
            // Shrinking a file that is already too long must stay possible.
            if wanted > limit && wanted >= current {
                return Err(MemoryError::Full {
                    target,
                    current,
                    wanted,
                    limit,
                    usage: self.usage(target, &before),
                    entries: before,
                });
            }
            write_atomic(&path, joined.as_bytes(), FileMode::Private).map_err(|source| {
                MemoryError::Io {
                    path: path.clone(),
                    source,
                }
            })?;
        }
        Ok(Written {
            usage: self.usage(target, &entries),
            entries,
            outcome,
        })
    }

    fn lock(&self, target: Target) -> Result<Lock, MemoryError> {
        let path = self.directory.join(format!("{}.lock", target.file_name()));
        fs::create_dir_all(&self.directory)
            .and_then(|()| Lock::acquire(&path, LockKind::Exclusive))
            .map_err(|source| MemoryError::Io { path, source })
    }

    fn text(&self, target: Target) -> Result<String, MemoryError> {
        let path = self.path(target);
        match fs::read(&path) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            Err(source) => Err(MemoryError::Io { path, source }),
        }
    }
}

fn clean(content: &str) -> Result<String, MemoryError> {
    let content = content.trim();
    if content.is_empty() {
        return Err(MemoryError::EmptyContent);
    }
    if content.lines().any(|line| line.trim() == "§") {
        return Err(MemoryError::Delimiter);
    }
    let ids = scan::scan(content, Scope::Strict);
    if ids.is_empty() {
        Ok(content.to_owned())
    } else {
        Err(MemoryError::Suspicious { ids })
    }
}

/// The entry that contains `old_text`; equal ones count as one.
fn find(entries: &[String], old_text: &str) -> Result<usize, MemoryError> {
    let old_text = old_text.trim();
    if old_text.is_empty() {
        return Err(MemoryError::EmptyOldText);
    }
    let hits: Vec<usize> = (0..entries.len())
        .filter(|&index| entries[index].contains(old_text))
        .collect();
    match hits.as_slice() {
        [] => Err(MemoryError::NoMatch {
            old_text: old_text.to_owned(),
        }),
        [first, rest @ ..] if rest.iter().all(|&other| entries[other] == entries[*first]) => {
            Ok(*first)
        }
        _ => Err(MemoryError::Ambiguous {
            old_text: old_text.to_owned(),
            previews: hits
                .iter()
                .map(|&index| entries[index].chars().take(80).collect())
                .collect(),
        }),
    }
}

fn keep_copy(path: &Path, text: &str) -> io::Result<PathBuf> {
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |elapsed| elapsed.as_secs());
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".bak.{seconds}"));
    let copy = PathBuf::from(name);
    write_atomic(&copy, text.as_bytes(), FileMode::Private)?;
    Ok(copy)
}
