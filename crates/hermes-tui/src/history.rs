//! What was typed before: `.hermes_history`, a file shared with Python Hermes.
//! Per entry a line `# time`, then each line of the input behind a `+`, then an
//! empty line. It is only ever appended to.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

/// Entries kept in memory, newest last.
const KEPT: usize = 1_000;
/// Only the end of a long file is read.
const TAIL: u64 = 1 << 20;

#[derive(Debug, Default)]
pub struct History {
    path: Option<PathBuf>,
    entries: Vec<String>,
    /// Where browsing stands, and the draft it began with.
    position: Option<usize>,
    draft: String,
}

impl History {
    pub fn load(path: PathBuf) -> Self {
        let entries = read_tail(&path)
            .map(|text| parse(&text))
            .unwrap_or_default();
        Self {
            path: Some(path),
            entries,
            ..Self::default()
        }
    }

    /// Remembers and appends; a file that cannot be written only costs the memory.
    pub fn add(&mut self, text: &str, time: &str) {
        self.position = None;
        if text.trim().is_empty() || self.entries.last().is_some_and(|last| last == text) {
            return;
        }
        self.entries.push(text.to_owned());
        if self.entries.len() > KEPT {
            self.entries.remove(0);
        }
        if let Some(path) = &self.path {
            let mut entry = format!("\n# {time}\n");
            for line in text.split('\n') {
                entry.push('+');
                entry.push_str(line);
                entry.push('\n');
            }
            let file = OpenOptions::new()
                .append(true)
                .create(true)
                .mode(0o600)
                .open(path);
            let _ = file.and_then(|mut file| file.write_all(entry.as_bytes()));
        }
    }

    /// The entry before, when there is one.
    pub fn earlier(&mut self, current: &str) -> Option<&str> {
        let next = match self.position {
            None => {
                self.draft = current.to_owned();
                self.entries.len().checked_sub(1)?
            }
            Some(at) => at.checked_sub(1)?,
        };
        self.position = Some(next);
        self.entries.get(next).map(String::as_str)
    }

    /// The entry after, and in the end the draft.
    pub fn later(&mut self) -> Option<&str> {
        let at = self.position? + 1;
        if at < self.entries.len() {
            self.position = Some(at);
            return self.entries.get(at).map(String::as_str);
        }
        self.position = None;
        Some(&self.draft)
    }

    /// The newest entry that goes on where the text ends.
    pub fn suggestion(&self, text: &str) -> Option<&str> {
        if text.is_empty() || text.contains('\n') {
            return None;
        }
        let found = self
            .entries
            .iter()
            .rev()
            .find(|entry| entry.len() > text.len() && entry.starts_with(text))?;
        found.get(text.len()..).filter(|rest| !rest.contains('\n'))
    }
}

fn read_tail(path: &PathBuf) -> io::Result<String> {
    use std::io::{Read as _, Seek as _, SeekFrom};
    let mut file = std::fs::File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn parse(text: &str) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        match line.strip_prefix('+') {
            Some(rest) if open => {
                if let Some(last) = entries.last_mut() {
                    last.push('\n');
                    last.push_str(rest);
                }
            }
            Some(rest) => {
                entries.push(rest.to_owned());
                open = true;
            }
            None => open = false,
        }
    }
    let surplus = entries.len().saturating_sub(KEPT);
    entries.drain(..surplus);
    entries
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn entries_survive_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(".hermes_history");
        let mut history = History::load(path.clone());
        history.add("one", "2026-05-31 12:00:00.000000");
        history.add("two\nlines\n+plus", "2026-05-31 12:00:01.000000");
        history.add("two\nlines\n+plus", "2026-05-31 12:00:02.000000");
        let mut again = History::load(path);
        assert_eq!(again.entries, ["one", "two\nlines\n+plus"]);
        assert_eq!(again.earlier("draft"), Some("two\nlines\n+plus"));
        assert_eq!(again.earlier(""), Some("one"));
        assert_eq!(again.earlier(""), None);
        assert_eq!(again.later(), Some("two\nlines\n+plus"));
        assert_eq!(again.later(), Some("draft"));
        assert_eq!(again.later(), None);
    }

    #[test]
    fn the_newest_entry_is_suggested() {
        let mut history = History::default();
        history.add("list files", "t");
        history.add("list sessions", "t");
        assert_eq!(history.suggestion("list "), Some("sessions"));
        assert_eq!(history.suggestion("x"), None);
    }
}
