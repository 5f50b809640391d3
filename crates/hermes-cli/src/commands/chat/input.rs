//! What comes in through a pipe.

use std::fs::File;
use std::io::{IsTerminal, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;

use crate::CommandError;

/// More than this is no question.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// Everything on stdin when it is a pipe or a file; `None` when there is nothing.
/// A terminal, a device or a socket that happens to be there is left alone.
pub(super) fn piped_text() -> Result<Option<String>, CommandError> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Ok(None);
    }
    let Ok(file) = stdin.as_fd().try_clone_to_owned().map(File::from) else {
        return Ok(None);
    };
    let kind = file.metadata()?.file_type();
    if !(kind.is_fifo() || kind.is_file()) {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(CommandError::usage(format!(
            "more than {MAX_BYTES} bytes came through the pipe"
        ))
        .hint("write them to a file and name it in the question"));
    }
    let text = String::from_utf8_lossy(&bytes).trim_end().to_owned();
    Ok((!text.trim().is_empty()).then_some(text))
}
