//! A log file that several processes append to and that rotates by size.
//!
//! Promises: a line is one write at the end of the file, so lines of two processes
//! never mix and none is lost; there are at most `backups` rotations; a file that
//! somebody else rotated or removed is noticed before the next line.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use hermes_home::{Lock, LockKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A file that would grow beyond this is rotated; 0 never rotates.
    pub bytes: u64,
    /// How many rotations are kept.
    pub backups: u32,
}

#[derive(Debug)]
pub struct RotatingFile {
    path: PathBuf,
    limits: Limits,
    mode: u32,
    file: Option<File>,
}

impl RotatingFile {
    /// Touches no disk; the file is opened by the first line.
    pub fn new(path: impl Into<PathBuf>, limits: Limits, mode: u32) -> Self {
        Self {
            path: path.into(),
            limits,
            mode,
            file: None,
        }
    }

    /// Appends one line; the newline is added here.
    pub fn write_line(&mut self, line: &str) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(line.len() + 1);
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
        let length = bytes.len() as u64;
        if self.current()?.metadata()?.len() + length > self.limits.bytes && self.limits.bytes > 0 {
            self.rotate(length)?;
        }
        self.current()?.write_all(&bytes)
    }

    /// The file that the path names now.
    fn current(&mut self) -> io::Result<&mut File> {
        let still_there = match &self.file {
            Some(file) => {
                let ours = file.metadata()?;
                fs::metadata(&self.path)
                    .is_ok_and(|named| (named.dev(), named.ino()) == (ours.dev(), ours.ino()))
            }
            None => false,
        };
        if !still_there {
            self.file = None;
        }
        match &mut self.file {
            Some(file) => Ok(file),
            closed => {
                let file = OpenOptions::new()
                    .append(true)
                    .create(true)
                    .mode(self.mode)
                    .open(&self.path)?;
                Ok(closed.insert(file))
            }
        }
    }

    fn rotate(&mut self, incoming: u64) -> io::Result<()> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let lock = self.path.with_file_name(format!(".{name}.rotate.lock"));
        let _turn = Lock::acquire(&lock, LockKind::Exclusive)?;
        // Whoever held the lock before us may have done it.
        let size = fs::metadata(&self.path).map_or(0, |meta| meta.len());
        if size + incoming <= self.limits.bytes || size == 0 {
            return Ok(());
        }
        self.file = None;
        if self.limits.backups == 0 {
            return fs::remove_file(&self.path);
        }
        for number in (1..self.limits.backups).rev() {
            let from = numbered(&self.path, number);
            if from.exists() {
                fs::rename(from, numbered(&self.path, number + 1))?;
            }
        }
        fs::rename(&self.path, numbered(&self.path, 1))
    }
}

/// `agent.log.1` is the newest rotation of `agent.log`.
pub(crate) fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::os::unix::fs::PermissionsExt;

    const LIMITS: Limits = Limits {
        bytes: 100,
        backups: 2,
    };

    #[test]
    fn full_files_move_on_and_the_oldest_goes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("agent.log");
        let mut file = RotatingFile::new(&path, LIMITS, 0o600);
        for number in 0..20 {
            file.write_line(&format!("line {number:02} of twenty...."))
                .unwrap();
        }
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        assert!(read(&path).ends_with("line 19 of twenty....\n"));
        assert!(read(&numbered(&path, 1)).contains("line 15"));
        assert!(numbered(&path, 2).exists());
        assert!(!numbered(&path, 3).exists());
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }

    #[test]
    fn a_file_moved_away_by_somebody_else_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("agent.log");
        let mut file = RotatingFile::new(&path, LIMITS, 0o600);
        file.write_line("before").unwrap();
        fs::rename(&path, directory.path().join("elsewhere")).unwrap();
        file.write_line("after").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "after\n");
    }

    #[test]
    fn two_writers_lose_no_line_and_keep_the_number_of_rotations() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("agent.log");
        // Room for everything in four files, so that a missing line is a lost one.
        let limits = Limits {
            bytes: 40_000,
            backups: 3,
        };
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    // Separate handles and inode checks, as separate processes have.
                    let mut file = RotatingFile::new(path, limits, 0o600);
                    for number in 0..500 {
                        file.write_line(&format!(
                            "writer {writer} line {number:04} {}",
                            "x".repeat(40)
                        ))
                        .unwrap();
                    }
                });
            }
        });
        assert!(numbered(&path, 2).exists(), "nothing was rotated");
        let files = (1..=3).map(|number| numbered(&path, number));
        let mut lines: Vec<String> = Vec::new();
        for file in files.chain([path.clone()]).filter(|file| file.exists()) {
            let text = fs::read_to_string(file).unwrap();
            lines.extend(text.lines().map(str::to_owned));
        }
        assert!(!numbered(&path, 4).exists());
        lines.sort();
        lines.dedup();
        assert_eq!(lines.len(), 2000);
        assert!(
            lines
                .iter()
                .all(|line| line.ends_with("xxx") && line.len() == 59),
            "torn line"
        );
    }
}
