//! Prints a log as it grows, through rotations and removals.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::backward::text;
use super::filter::Filter;
use crate::logging::Record;
use crate::{CommandError, Exit, Out};

const PAUSE: Duration = Duration::from_millis(300);

pub(super) struct Follower {
    path: PathBuf,
    file: File,
    position: u64,
    /// The beginning of a line whose end has not been written yet.
    partial: Vec<u8>,
    /// Whether the record that continuation lines belong to is shown.
    showing: bool,
}

impl Follower {
    pub(super) fn at_end(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let position = file.seek(SeekFrom::End(0))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            position,
            partial: Vec::new(),
            showing: true,
        })
    }

    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Ends with Ctrl+C or when nobody reads any more.
    pub(super) fn run(mut self, filter: &Filter, out: &mut Out) -> Result<Exit, CommandError> {
        loop {
            out.flush()?;
            std::thread::sleep(PAUSE);
            self.step(filter, out)?;
        }
    }

    /// Prints what was written since the last step.
    pub(super) fn step(&mut self, filter: &Filter, out: &mut Out) -> Result<(), CommandError> {
        // Looked up before reading: what a writer added to the old file before it
        // was moved away is then read to its end.
        let successor = self.successor();
        self.drain(filter, out)?;
        if let Some(file) = successor {
            self.file = file;
            self.position = 0;
            self.partial.clear();
            self.drain(filter, out)?;
        }
        Ok(())
    }

    /// The file that took our path, or our own from its start when it was cut.
    fn successor(&self) -> Option<File> {
        let ours = self.file.metadata().ok()?;
        let named = fs::metadata(&self.path).ok()?;
        let moved = (named.dev(), named.ino()) != (ours.dev(), ours.ino());
        let cut = !moved && named.len() < self.position;
        if moved || cut {
            File::open(&self.path).ok()
        } else {
            None
        }
    }

    fn drain(&mut self, filter: &Filter, out: &mut Out) -> Result<(), CommandError> {
        let mut chunk = vec![0; 64 * 1024];
        loop {
            let read = self.file.read(&mut chunk)?;
            if read == 0 {
                return Ok(());
            }
            self.position += read as u64;
            self.partial.extend_from_slice(&chunk[..read]);
            let mut start = 0;
            while let Some(length) = self.partial[start..].iter().position(|byte| *byte == b'\n') {
                let line = text(&self.partial[start..start + length]);
                start += length + 1;
                if let Some(record) = Record::parse(&line) {
                    self.showing = filter.accepts(&record, &line);
                }
                if self.showing {
                    writeln!(out, "{line}")?;
                }
            }
            self.partial.drain(..start);
        }
    }
}
