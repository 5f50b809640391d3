//! `-w`: a conversation in a git worktree of its own. It is removed at the end
//! when nothing in it would be lost; otherwise it stays and we say where.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use hermes_process::{Command, Limits, output};

use crate::{CommandError, Out};

const DIRECTORY: &str = ".worktrees";
const INCLUDE: &str = ".worktreeinclude";
/// Younger leftovers may belong to somebody who is still at work.
const KEEP_FOR: Duration = Duration::from_secs(24 * 3600);

pub(super) struct Worktree {
    repository: PathBuf,
    path: PathBuf,
    branch: String,
}

impl Worktree {
    /// Makes one from HEAD of the repository that holds `cwd`.
    pub(super) async fn create(cwd: &Path, out: &mut Out) -> Result<Self, CommandError> {
        let repository = git(cwd, &["rev-parse", "--show-toplevel"])
            .await
            .map(|text| PathBuf::from(text.trim()))
            .map_err(|_| {
                CommandError::user("`--worktree` needs a git repository, and this is none")
                    .hint("start in a repository, or leave `--worktree` out")
            })?;
        prune(&repository, out).await;
        let id: String = uuid::Uuid::new_v4().simple().to_string()[..8].to_owned();
        let name = format!("hermes-{id}");
        let path = repository.join(DIRECTORY).join(&name);
        let branch = format!("hermes/{name}");
        ignore(&repository)?;
        let shown = path.to_string_lossy().into_owned();
        git(
            &repository,
            &["worktree", "add", "-b", &branch, &shown, "HEAD"],
        )
        .await
        .map_err(|why| CommandError::user(format!("git cannot make a worktree: {why}")))?;
        let worktree = Self {
            repository,
            path,
            branch,
        };
        worktree.include(out);
        Ok(worktree)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What the model must know.
    pub(super) fn note(&self) -> String {
        format!(
            "You work in a git worktree of its own: {} on branch {}. The main checkout at {} is not yours to change. Commit what shall be kept.",
            self.path.display(),
            self.branch,
            self.repository.display()
        )
    }

    /// Removes it, or says why it stays.
    pub(super) async fn leave(self, out: &mut Out) {
        match remove_if_safe(&self.repository, &self.path, &self.branch).await {
            Ok(()) => {}
            Err(why) => out.stderr_line(&format!(
                "the worktree {} (branch {}) stays: {why}",
                self.path.display(),
                self.branch
            )),
        }
    }

    /// Copies files and links directories that `.worktreeinclude` names.
    fn include(&self, out: &mut Out) {
        for line in included(&self.repository) {
            if let Err(why) = self.include_one(&line) {
                out.warning(&format!("{INCLUDE}: {line}: {why}"));
            }
        }
    }

    fn include_one(&self, name: &str) -> Result<(), String> {
        let relative = Path::new(name.trim_end_matches('/'));
        let plain = relative
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if !plain {
            return Err("it must lie inside the repository".to_owned());
        }
        let from = self.repository.join(relative);
        let real = match from.canonicalize() {
            Ok(real) => real,
            Err(_) => return Ok(()),
        };
        let root = self
            .repository
            .canonicalize()
            .map_err(|error| error.to_string())?;
        if !real.starts_with(&root) {
            return Err("it leads outside the repository".to_owned());
        }
        let to = self.path.join(relative);
        if to.exists() {
            return Ok(());
        }
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(|error| error.to_string())?;
        }
        if real.is_dir() {
            std::os::unix::fs::symlink(&real, &to).map_err(|error| error.to_string())
        } else {
            fs::copy(&real, &to)
                .map(drop)
                .map_err(|error| error.to_string())
        }
    }
}

/// The names in `.worktreeinclude`.
fn included(repository: &Path) -> Vec<String> {
    fs::read_to_string(repository.join(INCLUDE))
        .unwrap_or_default()
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

/// Whether an untracked entry is only what we put there, unchanged.
fn is_our_copy(repository: &Path, path: &Path, name: &str) -> bool {
    let name = name.trim_end_matches('/');
    let ours = included(repository)
        .iter()
        .any(|known| known.trim_end_matches('/') == name);
    let copy = path.join(name);
    ours && (copy.is_symlink()
        || matches!((fs::read(repository.join(name)), fs::read(copy)), (Ok(a), Ok(b)) if a == b))
}

/// Adds `.worktrees/` to `.gitignore`, unless it is there.
fn ignore(repository: &Path) -> Result<(), CommandError> {
    let file = repository.join(".gitignore");
    let text = fs::read_to_string(&file).unwrap_or_default();
    let line = format!("{DIRECTORY}/");
    if text
        .lines()
        .any(|known| matches!(known.trim(), ".worktrees" | ".worktrees/" | "/.worktrees/"))
    {
        return Ok(());
    }
    let gap = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    hermes_home::write_atomic(
        &file,
        format!("{text}{gap}{line}\n").as_bytes(),
        hermes_home::FileMode::Keep,
    )?;
    Ok(())
}

/// Removes leftovers of earlier runs that hold nothing. What holds something
/// stays, whatever its age.
async fn prune(repository: &Path, out: &mut Out) {
    prune_branches(repository).await;
    let Ok(entries) = fs::read_dir(repository.join(DIRECTORY)) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let old = entry
            .metadata()
            .and_then(|meta| meta.modified())
            .ok()
            .and_then(|time| SystemTime::now().duration_since(time).ok())
            .is_some_and(|age| age > KEEP_FOR);
        if !name.starts_with("hermes-") || !old {
            continue;
        }
        let branch = format!("hermes/{name}");
        if let Err(why) = remove_if_safe(repository, &entry.path(), &branch).await {
            out.stderr_line(&format!(
                "an older worktree stays: {} ({why})",
                entry.path().display()
            ));
        }
    }
}

/// Removes branches of ours whose worktree is gone and that hold nothing of their
/// own.
async fn prune_branches(repository: &Path) {
    let format = "--format=%(refname:short)%09%(worktreepath)";
    let Ok(listed) = git(repository, &["branch", "--list", "hermes/hermes-*", format]).await else {
        return;
    };
    for line in listed.lines() {
        let Some((branch, "")) = line.split_once('\t') else {
            continue;
        };
        if own_commits(repository, branch, branch).await.as_deref() == Ok("0") {
            let _ = git(repository, &["branch", "-D", branch]).await;
        }
    }
}

/// How many commits of `tip` are on no other branch, here or at a remote.
async fn own_commits(directory: &Path, tip: &str, branch: &str) -> Result<String, String> {
    let words = [
        "rev-list",
        "--count",
        tip,
        "--not",
        "--exclude",
        branch,
        "--branches",
        "--remotes",
    ];
    Ok(git(directory, &words).await?.trim().to_owned())
}

async fn remove_if_safe(repository: &Path, path: &Path, branch: &str) -> Result<(), String> {
    let status = git(path, &["status", "--porcelain", "-z"]).await?;
    let changed = status
        .split('\0')
        .filter(|entry| !entry.is_empty())
        .any(|entry| {
            !entry
                .strip_prefix("?? ")
                .is_some_and(|name| is_our_copy(repository, path, name))
        });
    if changed {
        return Err("it has changes that are not committed".to_owned());
    }
    let own = own_commits(path, "HEAD", branch).await?;
    if own != "0" {
        return Err(format!("it has {own} commits that are nowhere else"));
    }
    let shown = path.to_string_lossy().into_owned();
    // Forced, because our own copies count as untracked files.
    git(repository, &["worktree", "remove", "--force", &shown]).await?;
    git(repository, &["branch", "-D", branch]).await?;
    Ok(())
}

async fn git(directory: &Path, arguments: &[&str]) -> Result<String, String> {
    let command = Command::new("git")
        .args(arguments.iter().copied())
        .directory(directory);
    let captured = output(command, Limits::seconds(60))
        .await
        .map_err(|error| error.to_string())?;
    if captured.success() {
        Ok(captured.stdout_text())
    } else {
        let text = captured.stderr_text();
        Err(text
            .lines()
            .next()
            .unwrap_or("git failed without a word")
            .to_owned())
    }
}
