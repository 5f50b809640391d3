//! The few questions we ask of git.

use std::path::{Path, PathBuf};

use hermes_process::{Command, Limits, output_blocking};

use crate::error::KanbanError;

const LIMIT_SECONDS: u64 = 120;

/// Runs git without hooks, prompts or a pager; the trimmed output, or what it said.
fn git(directory: &Path, arguments: &[&str]) -> Result<String, KanbanError> {
    let command = Command::new("git")
        .args(["-c", "core.hooksPath=/dev/null", "-C"])
        .arg(directory)
        .args(arguments.iter().copied())
        .env("GIT_TERMINAL_PROMPT", "0")
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE");
    let captured = output_blocking(command, Limits::seconds(LIMIT_SECONDS))
        .map_err(|error| KanbanError::Workspace(error.to_string()))?;
    if captured.success() {
        Ok(captured.stdout_text().trim().to_owned())
    } else {
        let said = captured.stderr_text();
        Err(KanbanError::Workspace(format!(
            "git {}: {}",
            arguments.join(" "),
            said.trim()
        )))
    }
}

/// The working tree that `directory` lies in, if any.
pub(super) fn toplevel(directory: &Path) -> Option<PathBuf> {
    git(directory, &["rev-parse", "--show-toplevel"])
        .ok()
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
}

/// Whether the tree at `directory` was added to another repository.
pub(super) fn is_linked(directory: &Path) -> bool {
    directory.join(".git").is_file()
}

/// Adds a worktree on `branch`, which is made if it is not there.
pub(super) fn add_worktree(
    repository: &Path,
    path: &Path,
    branch: &str,
) -> Result<(), KanbanError> {
    let target = path.to_string_lossy();
    let reference = format!("refs/heads/{branch}");
    // A directory that somebody removed by hand is still in git's list.
    let _ = git(repository, &["worktree", "prune"]);
    let exists = git(repository, &["show-ref", "--verify", "--quiet", &reference]).is_ok();
    if exists {
        git(repository, &["worktree", "add", &target, branch])?;
    } else {
        git(repository, &["worktree", "add", "-b", branch, &target])?;
    }
    Ok(())
}
