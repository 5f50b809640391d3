//! Writes that are whole or absent.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::Builder;

/// The mode a written file ends up with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileMode {
    /// That of the file it replaces, or 0644.
    Keep,
    /// 0600, whatever was there.
    Private,
}

/// Replaces the content of `path` in one step: temporary file beside it, fsync,
/// rename. A symlink is written through, not replaced.
pub fn write_atomic(path: &Path, content: &[u8], mode: FileMode) -> io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let directory = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let bits = match mode {
        FileMode::Private => 0o600,
        FileMode::Keep => {
            fs::metadata(&target).map_or(0o644, |meta| meta.permissions().mode() & 0o7777)
        }
    };
    let mut temporary = Builder::new()
        .prefix(".hermes_")
        .suffix(".tmp")
        .tempfile_in(directory)?;
    temporary.write_all(content)?;
    temporary
        .as_file()
        .set_permissions(Permissions::from_mode(bits))?;
    temporary.as_file().sync_all()?;
    temporary.persist(&target).map_err(|error| error.error)?;
    // The rename itself must survive a power cut.
    File::open(directory)?.sync_all()
}
