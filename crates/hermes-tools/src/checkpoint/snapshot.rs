//! One snapshot: the project's files as they are now, as a commit of the store.
//!
//! The work happens in a copy of the project's index that takes its place at the
//! end, so that being killed in the middle leaves nothing but a stray file.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use hermes_home::{Lock, LockKind};

use super::error::CheckpointError;
use super::project::{Survey, survey};
use super::settings::CheckpointSettings;
use super::store::{CheckpointStore, MADE_ANEW};

/// More files than this are not looked after.
const MOST_FILES: usize = 50_000;

/// Why there is no new snapshot, although nothing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skipped {
    /// `/`, the user's home, or a directory that holds the store itself.
    NotAProject,
    TooManyFiles,
    /// The newest snapshot is the same.
    Unchanged,
}

/// The files of a project as a tree of the store.
pub(super) struct Staged {
    pub(super) tree: String,
    pub(super) index: PathBuf,
    _beside_others: Lock,
    _project: Lock,
}

impl Drop for Staged {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.index);
    }
}

impl CheckpointStore {
    /// Takes a snapshot of `project`, a directory with its links resolved.
    pub async fn snapshot(
        &self,
        project: &Path,
        user_home: &Path,
        reason: &str,
        settings: &CheckpointSettings,
    ) -> Result<Result<String, Skipped>, CheckpointError> {
        if !is_project(project, user_home, &self.base) {
            return Ok(Err(Skipped::NotAProject));
        }
        let staged = match self.stage(project, settings).await? {
            Ok(staged) => staged,
            Err(skipped) => return Ok(Err(skipped)),
        };
        let hash = self.hash_of(project);
        let reference = Self::reference(&hash);
        let parent = self.tip(&hash).await?;
        if let Some(parent) = &parent
            && self.tree_of(parent).await? == staged.tree
        {
            self.touch(&hash, project)?;
            return Ok(Err(Skipped::Unchanged));
        }
        let mut words = vec!["commit-tree".to_owned(), staged.tree.clone()];
        if let Some(parent) = &parent {
            words.extend(["-p".to_owned(), parent.clone()]);
        }
        words.extend(["-m".to_owned(), reason.to_owned()]);
        let commit = self.git.call(words).line().await?;
        let before = parent.unwrap_or_else(|| "0".repeat(40));
        let moved = self
            .git
            .call(["update-ref", &reference, &commit, &before])
            .bytes()
            .await;
        if moved.is_err() {
            return Err(CheckpointError::Overtaken);
        }
        let index = self.index(&hash);
        fs::rename(&staged.index, &index).map_err(CheckpointError::io(&index))?;
        self.touch(&hash, project)?;
        self.trim(&hash, settings.max_snapshots).await?;
        Ok(Ok(commit))
    }

    /// The newest snapshot of a project.
    pub(super) async fn tip(&self, hash: &str) -> Result<Option<String>, CheckpointError> {
        let reference = Self::reference(hash);
        let found = self
            .git
            .call(["for-each-ref", "--format=%(objectname)", &reference])
            .line()
            .await?;
        Ok((!found.is_empty()).then_some(found))
    }

    pub(super) async fn tree_of(&self, commit: &str) -> Result<String, CheckpointError> {
        let name = format!("{commit}^{{tree}}");
        self.git.call(["rev-parse", "--verify", &name]).line().await
    }

    /// Reads every file that changed since the last time into the store.
    pub(super) async fn stage(
        &self,
        project: &Path,
        settings: &CheckpointSettings,
    ) -> Result<Result<Staged, Skipped>, CheckpointError> {
        let (root, largest) = (project.to_owned(), settings.max_file_bytes);
        let looked =
            tokio::task::spawn_blocking(move || survey(&root, MOST_FILES, largest, MADE_ANEW));
        let found = looked
            .await
            .unwrap_or_else(|error| Err(std::io::Error::other(error)))
            .map_err(CheckpointError::io(project))?;
        if found.files > MOST_FILES {
            return Ok(Err(Skipped::TooManyFiles));
        }
        let beside_others = self.beside_others().await?;
        let hash = self.hash_of(project);
        let lock = self.base.join(format!(".lock-{hash}"));
        let taken = tokio::task::spawn_blocking(move || Lock::acquire(&lock, LockKind::Exclusive));
        let own = taken
            .await
            .unwrap_or_else(|error| Err(std::io::Error::other(error)))
            .map_err(CheckpointError::io(&self.base))?;
        let index = self.scratch_index(&hash)?;
        let mut staged = Staged {
            tree: String::new(),
            index,
            _beside_others: beside_others,
            _project: own,
        };
        self.add(project, &staged.index, &found).await?;
        staged.tree = self
            .git
            .call(["write-tree"])
            .index(&staged.index)
            .line()
            .await?;
        Ok(Ok(staged))
    }

    /// The store is there, and nobody removes objects from it meanwhile.
    async fn beside_others(&self) -> Result<Lock, CheckpointError> {
        if !self.exists() {
            let _alone = self.lock(LockKind::Exclusive).await?;
            self.prepare().await?;
        }
        let lock = self.lock(LockKind::Shared).await?;
        self.prepare().await?;
        Ok(lock)
    }

    fn scratch_index(&self, hash: &str) -> Result<PathBuf, CheckpointError> {
        let known = self.index(hash);
        let name = uuid::Uuid::new_v4().simple().to_string();
        let scratch = known.with_extension(format!("tmp-{}", &name[..8]));
        match fs::copy(&known, &scratch) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(CheckpointError::io(&scratch)(error))
            }
            _ => Ok(scratch),
        }
    }

    async fn add(
        &self,
        project: &Path,
        index: &Path,
        found: &Survey,
    ) -> Result<(), CheckpointError> {
        let mut wanted: Vec<u8> = b".\0".to_vec();
        let mut dropped: Vec<u8> = Vec::new();
        for path in &found.too_large {
            wanted.extend_from_slice(b":(exclude,literal)");
            wanted.extend_from_slice(path.as_os_str().as_bytes());
            wanted.push(0);
            dropped.extend_from_slice(path.as_os_str().as_bytes());
            dropped.push(0);
        }
        // An unreadable file must not keep the others from being kept.
        self.git
            .call([
                "add",
                "--all",
                "--ignore-errors",
                "--pathspec-from-file=-",
                "--pathspec-file-nul",
            ])
            .worktree(project)
            .index(index)
            .input(wanted)
            .patient()
            .tolerant()
            .await?;
        if dropped.is_empty() {
            return Ok(());
        }
        // One that has grown too large is gone from the newest snapshot.
        self.git
            .call(["update-index", "--force-remove", "-z", "--stdin"])
            .worktree(project)
            .index(index)
            .input(dropped)
            .bytes()
            .await?;
        Ok(())
    }
}

/// Neither the root, nor a home, nor a directory that holds the store.
fn is_project(project: &Path, user_home: &Path, base: &Path) -> bool {
    project.parent().is_some() && project != user_home && !base.starts_with(project)
}
