//! Which directory a change belongs to, and how the store names it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// What marks the top of a project.
const MARKERS: &[&str] = &[
    ".git",
    "pyproject.toml",
    "package.json",
    "Cargo.toml",
    "go.mod",
    "Makefile",
    "pom.xml",
    ".hg",
    "Gemfile",
];

/// The nearest directory upwards with a marker, else `directory` itself. The user's
/// home is nobody's project, whatever lies in it.
pub fn project_root(directory: &Path, user_home: &Path) -> PathBuf {
    directory
        .ancestors()
        .take_while(|parent| *parent != user_home && parent.parent().is_some())
        .find(|parent| MARKERS.iter().any(|mark| parent.join(mark).exists()))
        .unwrap_or(directory)
        .to_owned()
}

/// The first 16 digits of the path's hash.
pub(super) fn project_hash(directory: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let digest = Sha256::digest(directory.as_os_str().as_bytes());
    let mut hex = String::with_capacity(16);
    for byte in &digest[..8] {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// What a look through the files found.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) files: usize,
    /// Relative to the project.
    pub(super) too_large: Vec<PathBuf>,
}

/// Counts files up to `most` + 1 and finds those that are too large. Directories
/// whose name says that they can be made anew are not entered.
pub(super) fn survey(
    root: &Path,
    most: usize,
    largest: Option<u64>,
    ignored: &[&str],
) -> std::io::Result<Survey> {
    let mut found = Survey::default();
    let mut waiting = vec![root.to_owned()];
    while let Some(directory) = waiting.pop() {
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            // What cannot be read cannot be kept; git passes over it as well.
            Err(_) if directory != root => continue,
            Err(error) => return Err(error),
        };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() {
                let name = entry.file_name();
                if !ignored.iter().any(|known| name == *known) {
                    waiting.push(entry.path());
                }
                continue;
            }
            found.files += 1;
            if found.files > most {
                return Ok(found);
            }
            if let (true, Some(largest)) = (kind.is_file(), largest)
                && entry.metadata().is_ok_and(|meta| meta.len() > largest)
                && let Ok(relative) = entry.path().strip_prefix(root)
            {
                found.too_large.push(relative.to_owned());
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_hash_is_the_one_of_the_reference() {
        assert_eq!(
            project_hash(Path::new("/home/user/project")),
            "9dad1e4e08b0b11c"
        );
    }

    #[test]
    fn the_nearest_marker_counts_and_the_home_does_not() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path();
        let deep = home.join("project/src/deep");
        fs::create_dir_all(&deep).unwrap();
        fs::write(home.join("Makefile"), "").unwrap();
        assert_eq!(project_root(&deep, home), deep);
        fs::write(home.join("project/Cargo.toml"), "").unwrap();
        assert_eq!(project_root(&deep, home), home.join("project"));
    }
}
