//! Finishing a task without losing what it made.
//!
//! A scratch directory is removed when its task is done, but files named as
//! artifacts are copied to the task's attachments first, because whoever delivers
//! them looks later; and the directory stays while a child that may read from it
//! is not finished.

use std::fs;
use std::path::{Path, PathBuf};

use hermes_types::TaskId;

use crate::boards::BoardPaths;
use crate::error::KanbanError;
use crate::model::{Task, WorkspaceKind};
use crate::store::{Board, CompletionRequest};

/// Completes the task, keeps its artifacts, and removes scratch directories that
/// nobody needs any more.
pub fn complete(
    board: &Board,
    paths: &BoardPaths,
    id: &TaskId,
    request: &CompletionRequest,
) -> Result<Task, KanbanError> {
    let before = board.task(id)?;
    let kept = CompletionRequest {
        artifacts: keep_artifacts(&before, paths, &request.artifacts)?,
        ..request.clone()
    };
    let task = board.complete(id, &kept)?;
    // The task is done; a directory that stays behind is collected later.
    for candidate in std::iter::once(task.id.clone()).chain(board.parents(id)?) {
        if let Err(error) = remove_finished_scratch(board, paths, &candidate) {
            tracing::warn!(task = %candidate, %error, "scratch directory was not removed");
        }
    }
    Ok(task)
}

/// Removes the scratch directory of a finished task whose children are finished
/// too. `false` when it stays.
pub fn remove_finished_scratch(
    board: &Board,
    paths: &BoardPaths,
    id: &TaskId,
) -> Result<bool, KanbanError> {
    let task = board.task(id)?;
    if task.workspace_kind != WorkspaceKind::Scratch || !task.status.is_terminal() {
        return Ok(false);
    }
    for child in board.children(id)? {
        if board
            .find(&child)?
            .is_some_and(|child| !child.status.is_terminal())
        {
            return Ok(false);
        }
    }
    let path = match &task.workspace_path {
        Some(path) => PathBuf::from(path),
        None => paths.workspaces.join(task.id.as_str()),
    };
    remove_managed(&path, paths)
}

/// Removes a directory only if it lies strictly below the board's own workspaces:
/// a scratch task may point at somebody's source tree.
pub(crate) fn remove_managed(path: &Path, paths: &BoardPaths) -> Result<bool, KanbanError> {
    let (Ok(real), Ok(root)) = (path.canonicalize(), paths.workspaces.canonicalize()) else {
        return Ok(false);
    };
    if real == root || !real.starts_with(&root) {
        tracing::warn!(path = %path.display(), "scratch directory outside the board's workspaces; left alone");
        return Ok(false);
    }
    fs::remove_dir_all(&real).map_err(KanbanError::io(real))?;
    Ok(true)
}

fn keep_artifacts(
    task: &Task,
    paths: &BoardPaths,
    artifacts: &[String],
) -> Result<Vec<String>, KanbanError> {
    let scratch = (task.workspace_kind == WorkspaceKind::Scratch)
        .then(|| task.workspace_path.as_ref().map(PathBuf::from))
        .flatten()
        .and_then(|path| path.canonicalize().ok());
    let Some(scratch) = scratch else {
        return Ok(artifacts.to_vec());
    };
    let target = paths.attachments_of(task.id.as_str());
    let mut kept = Vec::with_capacity(artifacts.len());
    for artifact in artifacts {
        // Workers name files as they see them, relative to where they work.
        let named = scratch.join(artifact);
        match named.canonicalize() {
            Ok(real) if real.starts_with(&scratch) && real.is_file() => {
                fs::create_dir_all(&target).map_err(KanbanError::io(&target))?;
                let copy = free_name(&target, &real);
                fs::copy(&real, &copy).map_err(KanbanError::io(&copy))?;
                kept.push(copy.to_string_lossy().into_owned());
            }
            _ => kept.push(artifact.clone()),
        }
    }
    Ok(kept)
}

/// `name.ext`, `name (1).ext`, …
pub(crate) fn free_name(directory: &Path, file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default();
    let first = directory.join(name);
    if !first.exists() {
        return first;
    }
    let stem = Path::new(name)
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let extension = Path::new(name)
        .extension()
        .map(|e| format!(".{}", e.to_string_lossy()))
        .unwrap_or_default();
    (1..)
        .map(|n| directory.join(format!("{stem} ({n}){extension}")))
        .find(|candidate| !candidate.exists())
        .unwrap_or(first)
}
