//! Copies of homes: what goes along, and how a database is copied.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Copies one database file so that the copy is consistent while others write to
/// it. The caller brings it, because only `hermes-store` may open one.
pub type CopyDatabase<'a> = &'a dyn Fn(&Path, &Path) -> io::Result<()>;

/// State of running processes, at the top of a home.
const RUNTIME: &[&str] = &[
    "gateway.pid",
    "gateway_state.json",
    "processes.json",
    "active_profile",
];

/// What only the default home has at its top.
const ROOT_ONLY: &[&str] = &[
    "hermes-agent",
    ".worktrees",
    "profiles",
    "bin",
    "node_modules",
];

/// Copies a whole home except for runtime state, sockets and byte code.
pub(super) fn copy_home(
    from: &Path,
    to: &Path,
    from_is_root: bool,
    copy_database: CopyDatabase<'_>,
) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let top = |list: &[&str]| list.iter().any(|listed| OsStr::new(listed) == name);
        if top(RUNTIME) || (from_is_root && top(ROOT_ONLY)) {
            continue;
        }
        copy_entry(&entry.path(), &to.join(&name), copy_database)?;
    }
    Ok(())
}

/// Copies one file, link or directory. Sockets, pipes and devices are left out.
pub(super) fn copy_entry(
    from: &Path,
    to: &Path,
    copy_database: CopyDatabase<'_>,
) -> io::Result<()> {
    let kind = fs::symlink_metadata(from)?;
    let name = from.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let rebuilt = ["-wal", "-shm", "-journal"].iter().any(|end| {
        name.strip_suffix(end)
            .is_some_and(|database| database.ends_with(".db"))
    });
    if name == "__pycache__" || name.ends_with(".pyc") || rebuilt {
        Ok(())
    } else if kind.is_symlink() {
        symlink(fs::read_link(from)?, to)
    } else if kind.is_dir() {
        fs::create_dir(to)?;
        fs::set_permissions(to, kind.permissions())?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy_entry(&entry.path(), &to.join(entry.file_name()), copy_database)?;
        }
        Ok(())
    } else if kind.is_file() && name.ends_with(".db") {
        copy_database(from, to)
    } else if kind.is_file() {
        fs::copy(from, to).map(|_| ())
    } else {
        Ok(())
    }
}
