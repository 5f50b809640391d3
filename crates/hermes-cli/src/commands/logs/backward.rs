//! Reads logs from their end, so that the newest records of a large file are
//! found without reading it, on into its rotations when it holds too few.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::filter::Filter;
use crate::logging::Record;
use crate::logging::numbered;

const CHUNK: u64 = 64 * 1024;

/// More rotations than any setting makes.
const MAX_ROTATIONS: u32 = 100;

/// The last `count` lines before `end` (default: the end of the file), or with a
/// filter the lines of the last `count` records that it accepts; oldest first.
pub(super) fn last(
    path: &Path,
    end: Option<u64>,
    count: usize,
    filter: &Filter,
) -> io::Result<Vec<String>> {
    let mut found = Found {
        lines: VecDeque::new(),
        pending: Vec::new(),
        count,
        matches: 0,
    };
    let mut lines = LinesFromEnd::open(path, end)?;
    let mut rotation = 0;
    while found.matches < count {
        match lines.next_line()? {
            Some(line) => {
                if found.take(line, filter).is_break() {
                    break;
                }
            }
            None => {
                rotation += 1;
                let older = numbered(path, rotation);
                if rotation > MAX_ROTATIONS || !older.is_file() {
                    break;
                }
                lines = LinesFromEnd::open(&older, None)?;
            }
        }
    }
    Ok(found.lines.into())
}

struct Found {
    lines: VecDeque<String>,
    /// Continuation lines whose head has not been met yet, newest first.
    pending: Vec<String>,
    count: usize,
    matches: usize,
}

impl Found {
    fn take(&mut self, line: String, filter: &Filter) -> std::ops::ControlFlow<()> {
        use std::ops::ControlFlow::{Break, Continue};
        if filter.is_empty() {
            self.lines.push_front(line);
            self.matches += 1;
            return if self.matches == self.count {
                Break(())
            } else {
                Continue(())
            };
        }
        let Some(record) = Record::parse(&line) else {
            self.pending.push(line);
            return Continue(());
        };
        if filter.is_too_old(&record) {
            return Break(());
        }
        let continuation = std::mem::take(&mut self.pending);
        if filter.accepts(&record, &line) {
            for text in continuation {
                self.lines.push_front(text);
            }
            self.lines.push_front(line);
            self.matches += 1;
        }
        Continue(())
    }
}

/// Lines of a file, last first. What is not UTF-8 is shown with replacements.
struct LinesFromEnd {
    file: File,
    /// Everything before this offset is unread.
    offset: u64,
    /// Read bytes that were not handed out yet.
    buffer: Vec<u8>,
    at_start: bool,
}

impl LinesFromEnd {
    fn open(path: &Path, end: Option<u64>) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut lines = Self {
            file,
            offset: end.map_or(length, |end| end.min(length)),
            buffer: Vec::new(),
            at_start: false,
        };
        lines.fill()?;
        // The newline that ends the last line starts no further one.
        if lines.buffer.last() == Some(&b'\n') {
            lines.buffer.pop();
        } else if lines.buffer.is_empty() {
            lines.at_start = true;
        }
        Ok(lines)
    }

    fn fill(&mut self) -> io::Result<()> {
        let size = self.offset.min(CHUNK);
        self.offset -= size;
        let mut chunk = vec![0; usize::try_from(size).unwrap_or(0)];
        self.file.seek(SeekFrom::Start(self.offset))?;
        self.file.read_exact(&mut chunk)?;
        chunk.append(&mut self.buffer);
        self.buffer = chunk;
        Ok(())
    }

    fn next_line(&mut self) -> io::Result<Option<String>> {
        let mut searched = 0;
        while !self.at_start {
            let fresh = self.buffer.len() - searched;
            if let Some(newline) = self.buffer[..fresh].iter().rposition(|byte| *byte == b'\n') {
                let line = self.buffer.split_off(newline + 1);
                self.buffer.pop();
                return Ok(Some(text(&line)));
            }
            if self.offset == 0 {
                self.at_start = true;
                return Ok(Some(text(&std::mem::take(&mut self.buffer))));
            }
            searched = self.buffer.len();
            self.fill()?;
        }
        Ok(None)
    }
}

pub(super) fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn lines_come_out_whole_whatever_the_size_of_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let long = "y".repeat(200_000);
        for lines in [
            vec![],
            vec![""],
            vec!["a"],
            vec!["a", "", "b"],
            vec!["x", &long, "z"],
        ] {
            for ending in ["", "\n"] {
                let content = if lines.is_empty() {
                    String::new()
                } else {
                    lines.join("\n") + ending
                };
                if content.is_empty() && !lines.is_empty() {
                    continue;
                }
                std::fs::write(&path, content).unwrap();
                let read = last(&path, None, 100, &Filter::default()).unwrap();
                assert!(read == lines, "{} lines, ending {ending:?}", lines.len());
            }
        }
    }

    #[test]
    fn older_lines_come_from_the_rotations() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        std::fs::write(&path, "five\n").unwrap();
        std::fs::write(numbered(&path, 1), "three\nfour\n").unwrap();
        std::fs::write(numbered(&path, 2), "one\ntwo\n").unwrap();
        let read = |count| last(&path, None, count, &Filter::default()).unwrap();
        assert_eq!(read(4), ["two", "three", "four", "five"]);
        assert_eq!(read(0), Vec::<String>::new());
        assert_eq!(read(9).len(), 5);
    }
}
