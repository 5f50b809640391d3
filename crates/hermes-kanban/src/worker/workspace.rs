//! The directory a task is worked on in.
//!
//! `scratch` is ours and goes when the task is done; `dir` is the user's; a
//! `worktree` is made by us, on a branch of its own, and never removed.

use std::fs;
use std::path::{Path, PathBuf};

use super::git;
use crate::boards::BoardPaths;
use crate::error::KanbanError;
use crate::model::{Task, WorkspaceKind};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    pub path: PathBuf,
    /// Of a worktree.
    pub branch: Option<String>,
    /// A scratch directory that did not exist before.
    pub fresh_scratch: bool,
}

/// Finds or makes the workspace of `task`. `start` is where the dispatcher was
/// started: a repository for worktrees that name no path, if it is one.
pub fn resolve_workspace(
    task: &Task,
    paths: &BoardPaths,
    user_home: &Path,
    start: &Path,
) -> Result<Workspace, KanbanError> {
    let stored = task
        .workspace_path
        .as_deref()
        .map(|text| expand(text, user_home));
    if let Some(path) = stored.as_ref().filter(|path| !path.is_absolute()) {
        return Err(KanbanError::Workspace(format!(
            "the path {} is not absolute; give it as /… or ~/…",
            path.display()
        )));
    }
    match task.workspace_kind {
        WorkspaceKind::Scratch => {
            let path = stored.unwrap_or_else(|| paths.workspaces.join(task.id.as_str()));
            let fresh_scratch = !path.exists();
            create(&path)?;
            Ok(Workspace {
                path,
                branch: None,
                fresh_scratch,
            })
        }
        WorkspaceKind::Dir => {
            let path = stored.ok_or_else(|| {
                KanbanError::Workspace("a dir workspace needs a path: dir:<path>".to_owned())
            })?;
            create(&path)?;
            Ok(Workspace {
                path,
                branch: None,
                fresh_scratch: false,
            })
        }
        WorkspaceKind::Worktree => worktree(task, stored, start),
    }
}

/// Where `task` will be worked on, as far as that is known before anything is made:
/// worktrees are found out by git.
pub fn planned_path(task: &Task, paths: &BoardPaths, user_home: &Path) -> Option<String> {
    let stored = task.workspace_path.as_deref();
    let stored = stored.map(|text| expand(text, user_home));
    match task.workspace_kind {
        WorkspaceKind::Worktree => None,
        WorkspaceKind::Dir => stored,
        WorkspaceKind::Scratch => {
            Some(stored.unwrap_or_else(|| paths.workspaces.join(task.id.as_str())))
        }
    }
    .filter(|path| path.is_absolute())
    .map(|path| path.to_string_lossy().into_owned())
}

fn worktree(task: &Task, stored: Option<PathBuf>, start: &Path) -> Result<Workspace, KanbanError> {
    let branch = task
        .branch_name
        .clone()
        .unwrap_or_else(|| format!("wt/{}", task.id));
    let done = |path: PathBuf| Workspace {
        path,
        branch: Some(branch.clone()),
        fresh_scratch: false,
    };
    let below = |repository: &Path| repository.join(".worktrees").join(task.id.as_str());
    let (repository, path) = match stored {
        Some(path) if path.is_dir() => match git::toplevel(&path) {
            // Made earlier, by us or by hand.
            Some(top) if git::is_linked(&top) => return Ok(done(path)),
            // The repository itself: work beside it, never in it.
            Some(top) => (top.clone(), below(&top)),
            None => {
                return Err(KanbanError::Workspace(format!(
                    "{} is there but belongs to no git repository",
                    path.display()
                )));
            }
        },
        Some(path) => {
            let nearest = path.ancestors().find(|ancestor| ancestor.is_dir());
            let repository = nearest.and_then(git::toplevel).ok_or_else(|| {
                KanbanError::Workspace(format!(
                    "no git repository above {}; use worktree:<path inside a repository>",
                    path.display()
                ))
            })?;
            (repository, path)
        }
        None => {
            let repository = git::toplevel(start).ok_or_else(|| {
                KanbanError::Workspace(format!(
                    "{} is no git repository; use --workspace worktree:<path> or set the board's \
                     default workdir",
                    start.display()
                ))
            })?;
            let path = below(&repository);
            (repository, path)
        }
    };
    if path.is_dir() && git::toplevel(&path).is_some_and(|top| git::is_linked(&top)) {
        return Ok(done(path));
    }
    git::add_worktree(&repository, &path, &branch)?;
    Ok(done(path))
}

fn create(path: &Path) -> Result<(), KanbanError> {
    fs::create_dir_all(path)
        .map_err(|error| KanbanError::Workspace(format!("{}: {error}", path.display())))
}

fn expand(text: &str, user_home: &Path) -> PathBuf {
    match text.strip_prefix("~/") {
        Some(rest) => user_home.join(rest),
        None if text == "~" => user_home.to_owned(),
        None => PathBuf::from(text),
    }
}
