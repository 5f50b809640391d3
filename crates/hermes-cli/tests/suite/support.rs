//! A scratch home and the binary run over it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// `$HOME` with `.hermes` in it; nothing else of the caller's environment is seen.
pub(crate) struct Scratch {
    directory: TempDir,
}

/// What one call did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().expect("a scratch directory"),
        }
    }

    pub(crate) fn user_home(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.user_home().join(".hermes")
    }

    /// A call with this home, to be changed further before it runs.
    pub(crate) fn command<S: AsRef<std::ffi::OsStr>>(
        &self,
        words: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hermes"));
        command
            .args(words)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.user_home())
            .env("TZ", "UTC")
            .current_dir(self.user_home());
        command
    }

    pub(crate) fn run<S: AsRef<std::ffi::OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Ran {
        ran(self.command(words).output().expect("the binary starts"))
    }

    /// Runs and insists on exit code 0.
    pub(crate) fn ok<S: AsRef<std::ffi::OsStr>>(
        &self,
        words: impl IntoIterator<Item = S>,
    ) -> String {
        let ran = self.run(words);
        assert_eq!(ran.code, 0, "{ran:#?}");
        ran.stdout
    }
}

pub(crate) fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
