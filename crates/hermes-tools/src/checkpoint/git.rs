//! Calls of git on the store. Nothing of the user's git reaches them: no settings,
//! no hooks, no variables, no prompt.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_process::{Command, Limits, OutputError, output};

use super::error::CheckpointError;

/// Of one answer; listings and diffs beyond it are cut.
const MAX_OUTPUT: usize = 16 << 20;

#[derive(Clone, Debug)]
pub(super) struct Git {
    /// The store.
    pub(super) directory: PathBuf,
    /// For the child, which sees nothing else of the environment.
    pub(super) search_path: OsString,
    pub(super) patience: Duration,
}

/// One call.
pub(super) struct Call<'g> {
    git: &'g Git,
    words: Vec<OsString>,
    worktree: Option<&'g Path>,
    index: Option<&'g Path>,
    input: Vec<u8>,
    patience: Duration,
}

impl Git {
    pub(super) fn call<W: Into<OsString>>(&self, words: impl IntoIterator<Item = W>) -> Call<'_> {
        Call {
            git: self,
            words: words.into_iter().map(Into::into).collect(),
            worktree: None,
            index: None,
            input: Vec::new(),
            patience: self.patience,
        }
    }
}

impl<'g> Call<'g> {
    pub(super) fn worktree(mut self, worktree: &'g Path) -> Self {
        self.worktree = Some(worktree);
        self
    }

    pub(super) fn index(mut self, index: &'g Path) -> Self {
        self.index = Some(index);
        self
    }

    pub(super) fn arg(mut self, word: impl Into<OsString>) -> Self {
        self.words.push(word.into());
        self
    }

    pub(super) fn input(mut self, bytes: Vec<u8>) -> Self {
        self.input = bytes;
        self
    }

    /// For what reads or writes every file.
    pub(super) fn patient(mut self) -> Self {
        self.patience *= 2;
        self
    }

    /// Standard output, whatever the exit code: some files may be unreadable.
    pub(super) async fn tolerant(self) -> Result<Vec<u8>, CheckpointError> {
        Ok(self.start().await?.1.stdout)
    }

    /// Standard output of a call that succeeded.
    pub(super) async fn bytes(self) -> Result<Vec<u8>, CheckpointError> {
        let (what, done) = self.start().await?;
        if done.success() {
            return Ok(done.stdout);
        }
        let said = done.stderr_text();
        let said = said.lines().rev().find(|line| !line.trim().is_empty());
        Err(CheckpointError::Git {
            what,
            said: said.unwrap_or("it gave no reason").trim().to_owned(),
        })
    }

    /// The same as a line of text.
    pub(super) async fn line(self) -> Result<String, CheckpointError> {
        let bytes = self.bytes().await?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    async fn start(self) -> Result<(String, hermes_process::Captured), CheckpointError> {
        let what = self
            .words
            .first()
            .map(|word| word.to_string_lossy().into_owned())
            .unwrap_or_default();
        let git = self.git;
        let mut command = Command::new("git")
            .args([
                "-c",
                "core.hooksPath=/dev/null",
                "-c",
                "core.fsmonitor=false",
                "-c",
                "core.autocrlf=false",
                "-c",
                "core.safecrlf=false",
                "-c",
                "core.attributesFile=/dev/null",
                "-c",
                "core.quotePath=false",
                "-c",
                "advice.addEmbeddedRepo=false",
            ])
            .args(self.words)
            .only_env([
                ("PATH", git.search_path.clone()),
                ("GIT_DIR", git.directory.clone().into()),
                ("GIT_CONFIG_NOSYSTEM", "1".into()),
                ("GIT_CONFIG_SYSTEM", "/dev/null".into()),
                ("GIT_CONFIG_GLOBAL", "/dev/null".into()),
                ("GIT_TERMINAL_PROMPT", "0".into()),
                ("GIT_OPTIONAL_LOCKS", "0".into()),
                ("LC_ALL", "C".into()),
                ("GIT_AUTHOR_NAME", "Hermes Checkpoint".into()),
                ("GIT_AUTHOR_EMAIL", "hermes@local".into()),
                ("GIT_COMMITTER_NAME", "Hermes Checkpoint".into()),
                ("GIT_COMMITTER_EMAIL", "hermes@local".into()),
            ]);
        if let Some(worktree) = self.worktree {
            command = command.env("GIT_WORK_TREE", worktree).directory(worktree);
        }
        if let Some(index) = self.index {
            command = command.env("GIT_INDEX_FILE", index);
        }
        if !self.input.is_empty() {
            command = command.stdin_bytes(self.input);
        }
        let limits = Limits {
            timeout: self.patience,
            max_bytes: MAX_OUTPUT,
        };
        match output(command, limits).await {
            Ok(done) => Ok((what, done)),
            Err(OutputError::Timeout { limit, .. }) => Err(CheckpointError::Slow {
                what,
                seconds: limit.as_secs(),
            }),
            Err(OutputError::Spawn(error)) if error.is_not_found() => Err(CheckpointError::NoGit),
            Err(error) => Err(CheckpointError::Git {
                what,
                said: error.to_string(),
            }),
        }
    }
}
