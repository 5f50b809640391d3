//! Files that belong to tasks, kept below the board's attachments directory.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use hermes_types::TaskId;

use crate::boards::BoardPaths;
use crate::error::KanbanError;
use crate::model::Attachment;
use crate::store::Board;

/// The most a file may have.
pub const MAX_BYTES: u64 = 25 * 1024 * 1024;
const NAME_CHARS: usize = 200;

/// Stores what `source` yields under a safe form of `name`. A file that is too
/// large leaves nothing behind.
pub fn attach(
    board: &Board,
    paths: &BoardPaths,
    task: &TaskId,
    name: &str,
    content_type: Option<&str>,
    by: Option<&str>,
    source: &mut dyn Read,
) -> Result<Attachment, KanbanError> {
    board.task(task)?;
    let directory = paths.attachments_of(task.as_str());
    fs::create_dir_all(&directory).map_err(KanbanError::io(&directory))?;
    let path = crate::worker::free_name(&directory, Path::new(&safe_name(name)));
    let size = match copy(source, &path) {
        Ok(size) if size <= MAX_BYTES => size,
        Ok(_) => {
            let _ = fs::remove_file(&path);
            return Err(KanbanError::AttachmentTooBig {
                limit_mb: MAX_BYTES / 1024 / 1024,
            });
        }
        Err(error) => {
            let _ = fs::remove_file(&path);
            return Err(KanbanError::Io {
                path,
                source: error,
            });
        }
    };
    let filename = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let size = i64::try_from(size).unwrap_or(i64::MAX);
    board.attach(
        task,
        &filename,
        &path.to_string_lossy(),
        content_type,
        size,
        by,
    )
}

/// Reads one byte more than allowed, so that too much is noticed.
fn copy(source: &mut dyn Read, path: &Path) -> io::Result<u64> {
    let mut file = File::options().write(true).create_new(true).open(path)?;
    let size = io::copy(&mut source.take(MAX_BYTES + 1), &mut file)?;
    file.flush()?;
    file.sync_all()?;
    Ok(size)
}

/// The file of an attachment, only if it really lies in the attachments directory.
pub fn stored_file(paths: &BoardPaths, attachment: &Attachment) -> Option<PathBuf> {
    let real = Path::new(&attachment.stored_path).canonicalize().ok()?;
    let root = paths.attachments.canonicalize().ok()?;
    (real.starts_with(root) && real.is_file()).then_some(real)
}

/// Removes an attachment, row and file. `false` when there is none.
pub fn detach(board: &Board, paths: &BoardPaths, id: i64) -> Result<bool, KanbanError> {
    let Some(attachment) = board.detach(id)? else {
        return Ok(false);
    };
    if let Some(file) = stored_file(paths, &attachment) {
        fs::remove_file(&file).map_err(KanbanError::io(file))?;
    }
    Ok(true)
}

/// The last part of the name, without control characters and leading dots.
fn safe_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let clean: String = last.chars().filter(|c| !c.is_control()).collect();
    let clean: String = clean
        .trim()
        .trim_start_matches('.')
        .chars()
        .take(NAME_CHARS)
        .collect();
    if clean.is_empty() {
        "file".to_owned()
    } else {
        clean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_the_directory() {
        assert_eq!(safe_name("../../x/a b.txt"), "a b.txt");
        assert_eq!(safe_name("..\\..\\evil.exe"), "evil.exe");
        assert_eq!(safe_name(".hidden\u{7}.txt"), "hidden.txt");
        assert_eq!(safe_name("/"), "file");
        assert_eq!(safe_name(&"x".repeat(300)).chars().count(), 200);
    }
}
