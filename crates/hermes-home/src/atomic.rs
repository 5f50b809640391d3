//! Writes that are whole or absent.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use tempfile::Builder;

/// The kernel's own limit for chains of symlinks.
const MAX_LINKS: usize = 40;

/// The mode a written file ends up with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileMode {
    /// That of the file it replaces, or 0644.
    Keep,
    /// That of the file it replaces, or 0600.
    KeepOrPrivate,
    /// 0600, whatever was there.
    Private,
    /// 0755, for scripts.
    Executable,
}

/// Replaces the content of `path` in one step: temporary file beside it, fsync,
/// rename. A symlink is written through, not replaced, also one whose target does
/// not exist yet. The owner of a file that root replaces is kept.
pub fn write_atomic(path: &Path, content: &[u8], mode: FileMode) -> io::Result<()> {
    let target = follow(path)?;
    let directory = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let previous = fs::metadata(&target).ok();
    if previous.as_ref().is_some_and(Metadata::is_dir) {
        return Err(io::Error::new(
            io::ErrorKind::IsADirectory,
            "is a directory",
        ));
    }
    let mut temporary = Builder::new()
        .prefix(".hermes_")
        .suffix(".tmp")
        .tempfile_in(directory)?;
    temporary.write_all(content)?;
    let file = temporary.as_file();
    if let Some(previous) = &previous {
        let ours = file.metadata()?;
        if (ours.uid(), ours.gid()) != (previous.uid(), previous.gid()) {
            // Only root may give files away; anybody else keeps what they write.
            let _ = fchown(file, Some(previous.uid()), Some(previous.gid()));
        }
    }
    file.set_permissions(Permissions::from_mode(bits(mode, previous.as_ref())))?;
    file.sync_all()?;
    temporary.persist(&target).map_err(|error| error.error)?;
    // The rename itself must survive a power cut.
    File::open(directory)?.sync_all()
}

fn bits(mode: FileMode, previous: Option<&Metadata>) -> u32 {
    let kept = previous.map(|meta| meta.permissions().mode() & 0o7777);
    match mode {
        FileMode::Private => 0o600,
        FileMode::Executable => 0o755,
        FileMode::Keep => kept.unwrap_or(0o644),
        FileMode::KeepOrPrivate => kept.unwrap_or(0o600),
    }
}

/// Where a write to `path` lands. `canonicalize` would fail on a link whose target
/// is missing, and the rename would then replace the link.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&target) {
            Ok(link) => {
                target = target.parent().unwrap_or(Path::new("")).join(link);
            }
            Err(_) => return Ok(target),
        }
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        "too many levels of symbolic links",
    ))
}
