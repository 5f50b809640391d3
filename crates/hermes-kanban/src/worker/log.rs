//! Worker logs: appended to by every attempt, rotated before one starts.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Opens a task's log for appending. A log larger than `limit` moves to `.1`, that
/// one to `.2`, and so on; with no generations to keep it starts anew.
pub fn open_log(path: &Path, limit: u64, backups: usize) -> io::Result<File> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    if fs::metadata(path).is_ok_and(|meta| meta.len() > limit) {
        rotate(path, backups)?;
    }
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
}

fn generation(path: &Path, number: usize) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

fn rotate(path: &Path, backups: usize) -> io::Result<()> {
    if backups == 0 {
        return fs::remove_file(path);
    }
    for number in (1..backups).rev() {
        let older = generation(path, number);
        if older.exists() {
            fs::rename(older, generation(path, number + 1))?;
        }
    }
    fs::rename(path, generation(path, 1))
}

/// How much of a log to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogTail {
    All,
    /// From the end; a first line that was cut is left out.
    Bytes(u64),
}

/// `None` when there is no log.
pub fn read_log(path: &Path, tail: LogTail) -> io::Result<Option<Vec<u8>>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    match tail {
        LogTail::All => {
            file.read_to_end(&mut bytes)?;
        }
        LogTail::Bytes(count) => {
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(count)))?;
            file.read_to_end(&mut bytes)?;
            if length > count
                && let Some(end) = bytes.iter().position(|byte| *byte == b'\n')
            {
                bytes.drain(..=end);
            }
        }
    }
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_long_log_moves_away_and_generations_are_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.log");
        for round in 0..4 {
            let mut file = open_log(&path, 3, 2).unwrap();
            write!(file, "run {round}").unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "run 3");
        assert_eq!(fs::read_to_string(generation(&path, 1)).unwrap(), "run 2");
        assert_eq!(fs::read_to_string(generation(&path, 2)).unwrap(), "run 1");
        assert!(!generation(&path, 3).exists());
        drop(open_log(&path, 3, 0).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "");
    }

    #[test]
    fn a_tail_begins_with_a_whole_line_if_there_is_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.log");
        fs::write(&path, "first\nsecond\nthird").unwrap();
        let tail = |count| {
            String::from_utf8(read_log(&path, LogTail::Bytes(count)).unwrap().unwrap()).unwrap()
        };
        assert_eq!(tail(8), "third");
        assert_eq!(tail(3), "ird");
        assert_eq!(tail(100), "first\nsecond\nthird");
        assert_eq!(
            read_log(&dir.path().join("none"), LogTail::All).unwrap(),
            None
        );
    }
}
