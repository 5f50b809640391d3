//! Which files are shared, and where each lies here.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use crate::docker::HomeShare;
use crate::docker::mounts::{CACHES, credential};

/// More files than this are not shared; nobody has so many on purpose.
const MOST_FILES: usize = 50_000;

/// What is shared, and how.
#[derive(Clone, Debug, Default)]
pub struct ShareRules {
    pub share: HomeShare,
    /// `terminal.ssh_sync_back`: whether changes come back.
    pub back: bool,
    /// `HERMES_FORCE_FILE_SYNC`: look before every command.
    pub always: bool,
}

/// One file, as it is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shared {
    pub(super) source: PathBuf,
    pub(super) size: u64,
    /// Nanoseconds since the epoch.
    pub(super) modified: i128,
    pub(super) mode: u32,
}

impl ShareRules {
    /// Directories that are shared: name over there, place here.
    fn directories(&self) -> Vec<(String, PathBuf)> {
        let home = &self.share.home;
        let mut all = vec![("skills".to_owned(), home.join("skills"))];
        for (number, path) in self.share.external_skills.iter().enumerate() {
            all.push((format!("external_skills/{number}"), path.clone()));
        }
        for (name, old_name) in CACHES {
            let old = home.join(old_name);
            let place = if old.is_dir() {
                old
            } else {
                home.join("cache").join(name)
            };
            all.push((format!("cache/{name}"), place));
        }
        all
    }

    /// Everything, by its name over there. Links are left out, whatever they point to.
    pub(super) fn list(&self) -> io::Result<Vec<(String, Shared)>> {
        let mut found = Vec::new();
        for file in &self.share.credential_files {
            match credential(&self.share.home, file) {
                Ok(mount) => {
                    let mut shared = describe(&mount.source)?;
                    shared.mode = 0o600;
                    found.push((file.clone(), shared));
                }
                Err(reason) => tracing::warn!(file, reason, "a credential file is not sent"),
            }
        }
        for (name, place) in self.directories() {
            walk(&place, &name, &mut found)?;
        }
        Ok(found)
    }

    /// Where a file from over there belongs, if it may come back at all.
    pub(super) fn place_of(&self, name: &str) -> Option<PathBuf> {
        let path = Path::new(name);
        let plain = path
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if !plain || name.contains('\0') || self.share.credential_files.iter().any(|f| f == name) {
            return None;
        }
        self.directories().into_iter().find_map(|(prefix, place)| {
            let rest = path.strip_prefix(&prefix).ok()?;
            if rest.as_os_str().is_empty() {
                return None;
            }
            let target = place.join(rest);
            stays_below(&place, &target).then_some(target)
        })
    }
}

/// Also when a directory on the way is a link.
fn stays_below(root: &Path, target: &Path) -> bool {
    let parents = target.ancestors().skip(1);
    let existing = parents
        .take_while(|path| path.starts_with(root))
        .find(|path| path.exists());
    match (existing, root.canonicalize()) {
        (Some(path), Ok(root)) => path
            .canonicalize()
            .is_ok_and(|real| real.starts_with(&root)),
        // Nothing is there yet, so nothing leads away.
        (None, _) => true,
        (Some(_), Err(_)) => false,
    }
}

fn describe(path: &Path) -> io::Result<Shared> {
    let meta = fs::metadata(path)?;
    let runs = meta.permissions().mode() & 0o100 != 0;
    Ok(Shared {
        source: path.to_owned(),
        size: meta.len(),
        modified: i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec()),
        mode: if runs { 0o755 } else { 0o644 },
    })
}

fn walk(directory: &Path, name: &str, found: &mut Vec<(String, Shared)>) -> io::Result<()> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        // A name that is no text has no name over there.
        let Some(own) = entry.file_name().to_str().map(str::to_owned) else {
            continue;
        };
        let kind = entry.file_type()?;
        let name = format!("{name}/{own}");
        if kind.is_dir() {
            walk(&entry.path(), &name, found)?;
        } else if kind.is_file() {
            if found.len() >= MOST_FILES {
                return Err(io::Error::other(format!(
                    "more than {MOST_FILES} files would be sent"
                )));
            }
            match describe(&entry.path()) {
                Ok(shared) => found.push((name, shared)),
                // Gone since the directory was read.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_back_stays_where_it_belongs() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().join("home");
        let external = directory.path().join("external");
        fs::create_dir_all(home.join("skills/a")).unwrap();
        fs::create_dir_all(&external).unwrap();
        fs::create_dir_all(home.join("image_cache")).unwrap();
        std::os::unix::fs::symlink("/etc", home.join("skills/out")).unwrap();
        let rules = ShareRules {
            share: HomeShare {
                home: home.clone(),
                external_skills: vec![external.clone()],
                credential_files: vec!["skills/a/key".to_owned()],
            },
            ..ShareRules::default()
        };
        for (name, place) in [
            ("skills/a/SKILL.md", home.join("skills/a/SKILL.md")),
            ("skills/new/deep/x", home.join("skills/new/deep/x")),
            ("external_skills/0/x", external.join("x")),
            ("cache/images/x", home.join("image_cache/x")),
            ("cache/audio/x", home.join("cache/audio/x")),
        ] {
            assert_eq!(rules.place_of(name), Some(place), "{name}");
        }
        for name in [
            "config.yaml",
            "skills",
            "skills/../config.yaml",
            "/etc/passwd",
            "skills/out/passwd",
            "skills/a/key",
            "external_skills/1/x",
            "cache/x",
            "",
        ] {
            assert_eq!(rules.place_of(name), None, "{name}");
        }
    }
}
