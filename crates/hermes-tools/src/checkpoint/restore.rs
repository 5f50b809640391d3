//! The way back: files as they were in a snapshot.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use super::error::CheckpointError;
use super::history::Checkpoint;
use super::settings::CheckpointSettings;
use super::store::CheckpointStore;

/// What becomes of files that were made after the snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftovers {
    Keep,
    Remove,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// Relative to the project.
    pub written: Vec<String>,
    pub removed: Vec<String>,
    /// Made after the snapshot and left where they are.
    pub kept: Vec<String>,
    /// Repositories within the project that were there and are gone: a snapshot knows
    /// only that they were.
    pub lost: Vec<String>,
}

impl CheckpointStore {
    /// Puts the whole project, or one file of it, back. What is there now is kept in
    /// a snapshot of its own first, so that this can be taken back too.
    pub async fn restore(
        &self,
        project: &Path,
        user_home: &Path,
        checkpoint: &Checkpoint,
        file: Option<&str>,
        leftovers: Leftovers,
        settings: &CheckpointSettings,
    ) -> Result<Restored, CheckpointError> {
        let only = file.map(inside).transpose()?;
        if let Some(path) = &only {
            self.must_hold(checkpoint, path).await?;
        }
        let reason = format!("before rollback to {}", checkpoint.short());
        // Room is made when this is done: the wanted snapshot may be the oldest.
        let roomy = CheckpointSettings {
            max_snapshots: usize::MAX,
            ..settings.clone()
        };
        let _ = self.snapshot(project, user_home, &reason, &roomy).await?;
        let Ok(staged) = self.stage(project, settings).await? else {
            return Ok(Restored {
                written: Vec::new(),
                removed: Vec::new(),
                kept: Vec::new(),
                lost: Vec::new(),
            });
        };
        let changed = self.changed(&staged.tree, &checkpoint.commit, "d").await?;
        let made_since = self.changed(&staged.tree, &checkpoint.commit, "D").await?;
        let wanted = |path: &PathBuf| only.as_ref().is_none_or(|one| path.starts_with(one));
        let repositories = self.repositories(&checkpoint.commit).await?;
        let written: Vec<PathBuf> = changed
            .into_iter()
            .filter(|path| wanted(path) && !repositories.contains(path))
            .collect();
        let lost = repositories.iter().filter(|path| {
            let inside = project.join(path);
            wanted(path) && !inside.join(".git").exists()
        });
        let lost: Vec<String> = lost.map(|path| name(path)).collect();
        let since: Vec<PathBuf> = made_since.into_iter().filter(wanted).collect();
        self.check_out(project, checkpoint, &staged.index, &written)
            .await?;
        let (mut removed, mut kept) = (Vec::new(), Vec::new());
        for path in since {
            match leftovers {
                Leftovers::Keep => kept.push(name(&path)),
                Leftovers::Remove => {
                    let full = project.join(&path);
                    fs::remove_file(&full).map_err(CheckpointError::io(&full))?;
                    remove_empty_parents(project, &path);
                    removed.push(name(&path));
                }
            }
        }
        drop(staged);
        let hash = self.hash_of(project);
        self.trim(&hash, settings.max_snapshots).await?;
        Ok(Restored {
            written: written.iter().map(|path| name(path)).collect(),
            removed,
            kept,
            lost,
        })
    }

    /// Repositories within the project, as the snapshot knew them.
    async fn repositories(&self, commit: &str) -> Result<Vec<PathBuf>, CheckpointError> {
        let bytes = self
            .git
            .call(["ls-tree", "-r", "-z", commit])
            .bytes()
            .await?;
        let entries = bytes.split(|byte| *byte == 0);
        let links = entries.filter(|entry| entry.starts_with(b"160000 "));
        let path = |entry: &[u8]| {
            let tab = entry.iter().position(|byte| *byte == b'\t')?;
            Some(PathBuf::from(std::ffi::OsStr::from_bytes(
                &entry[tab + 1..],
            )))
        };
        Ok(links.filter_map(path).collect())
    }

    async fn must_hold(&self, checkpoint: &Checkpoint, path: &Path) -> Result<(), CheckpointError> {
        let mut object = OsString::from(format!("{}:", checkpoint.commit));
        object.push(path);
        match self.git.call(["cat-file", "-e"]).arg(object).bytes().await {
            Ok(_) => Ok(()),
            Err(CheckpointError::Git { .. }) => Err(CheckpointError::NoFile(name(path))),
            Err(error) => Err(error),
        }
    }

    async fn changed(
        &self,
        from: &str,
        to: &str,
        filter: &str,
    ) -> Result<Vec<PathBuf>, CheckpointError> {
        let filter = format!("--diff-filter={filter}");
        let bytes = self
            .git
            .call(["diff-tree", "-r", "-z", "--no-renames", "--name-only"])
            .arg(filter)
            .arg(from)
            .arg(to)
            .bytes()
            .await?;
        Ok(bytes
            .split(|byte| *byte == 0)
            .filter(|path| !path.is_empty())
            .map(|path| PathBuf::from(std::ffi::OsStr::from_bytes(path)))
            .collect())
    }

    /// Git knows one bit of a file's mode; the others stay as they are.
    async fn check_out(
        &self,
        project: &Path,
        checkpoint: &Checkpoint,
        index: &Path,
        paths: &[PathBuf],
    ) -> Result<(), CheckpointError> {
        if paths.is_empty() {
            return Ok(());
        }
        let mut list = Vec::new();
        let mut modes = Vec::new();
        for path in paths {
            list.extend_from_slice(b":(literal)");
            list.extend_from_slice(path.as_os_str().as_bytes());
            list.push(0);
            if let Ok(meta) = fs::symlink_metadata(project.join(path))
                && meta.is_file()
            {
                modes.push((project.join(path), meta.permissions().mode() & 0o7777));
            }
        }
        self.git
            .call(["checkout", "--quiet"])
            .arg(&checkpoint.commit)
            .arg("--pathspec-from-file=-")
            .arg("--pathspec-file-nul")
            .worktree(project)
            .index(index)
            .input(list)
            .patient()
            .bytes()
            .await?;
        for (path, before) in modes {
            if let Ok(meta) = fs::symlink_metadata(&path)
                && meta.is_file()
            {
                let runs = meta.permissions().mode() & 0o111;
                let mode = match runs {
                    0 => before & !0o111,
                    // Whoever may read it may run it.
                    _ => before | ((before & 0o444) >> 2),
                };
                let _ = fs::set_permissions(&path, Permissions::from_mode(mode));
            }
        }
        Ok(())
    }
}

/// A relative path that stays below the project.
fn inside(text: &str) -> Result<PathBuf, CheckpointError> {
    let path = Path::new(text);
    let plain = path
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let clean: PathBuf = path
        .components()
        .filter(|part| matches!(part, Component::Normal(_)))
        .collect();
    match plain && !clean.as_os_str().is_empty() && !text.contains('\0') {
        true => Ok(clean),
        false => Err(CheckpointError::Path(text.to_owned())),
    }
}

fn name(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn remove_empty_parents(project: &Path, path: &Path) {
    for parent in path.ancestors().skip(1) {
        if parent.as_os_str().is_empty() || fs::remove_dir(project.join(parent)).is_err() {
            return;
        }
    }
}
