//! A scratch home and the binary run over it.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use hermes_testkit::TestHome;
use hermes_testkit::model::ModelServer;

/// A user without a Hermes home; nothing of the caller's environment is seen.
pub(crate) struct Scratch {
    home: TestHome,
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
            home: TestHome::absent(),
        }
    }

    /// A copy of what Python Hermes 0.16.0 left, as far as these tests need it.
    pub(crate) fn with_reference_home() -> Self {
        Self {
            home: TestHome::copy_of(&fixture("home-0.16.0")),
        }
    }

    pub(crate) fn user_home(&self) -> &Path {
        self.home.user_home()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.home.path().to_owned()
    }

    /// Writes a file of the home.
    pub(crate) fn write(&self, relative: &str, content: impl AsRef<[u8]>) {
        self.home.write(relative, content);
    }

    /// A configuration whose model is `server`'s, followed by `more`.
    pub(crate) fn config_for(&self, server: &ModelServer, more: &str) {
        self.home.config_for(server, more);
    }

    pub(crate) fn read(&self, relative: &str) -> String {
        self.home.read(relative)
    }

    pub(crate) fn exists(&self, relative: &str) -> bool {
        self.home.exists(relative)
    }

    /// A call with this home, to be changed further before it runs. `HERMES_HOME` is
    /// not set: what a user types in a shell.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.home.command(env!("CARGO_BIN_EXE_hermes"));
        command
            .args(words)
            .env_remove("HERMES_HOME")
            .current_dir(self.user_home());
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Ran {
        ran(self.command(words).output().expect("the binary starts"))
    }

    /// Runs with something to read.
    pub(crate) fn run_with_input<S: AsRef<OsStr>>(
        &self,
        words: impl IntoIterator<Item = S>,
        input: &str,
    ) -> Ran {
        let mut child = self
            .command(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(input.as_bytes()).expect("it reads");
        drop(stdin);
        ran(child.wait_with_output().expect("it ends"))
    }

    /// Runs and insists on exit code 0.
    pub(crate) fn ok<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> String {
        let ran = self.run(words);
        assert_eq!(ran.code, 0, "{ran:#?}");
        ran.stdout
    }

    /// Runs, insists on this code and on silence on stdout, and returns stderr.
    pub(crate) fn fails<S: AsRef<OsStr>>(
        &self,
        code: i32,
        words: impl IntoIterator<Item = S>,
    ) -> String {
        let ran = self.run(words);
        assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{ran:#?}");
        ran.stderr
    }
}

/// A copy of the binary that any user may run, and the user to run it as. Root may
/// read and write everything, so what is closed must be closed for somebody else.
pub(crate) struct Stranger {
    directory: tempfile::TempDir,
}

impl Stranger {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(directory.path(), open).expect("it is ours");
        std::fs::copy(
            env!("CARGO_BIN_EXE_hermes"),
            directory.path().join("hermes"),
        )
        .expect("room for the binary");
        Self { directory }
    }

    pub(crate) fn run(&self, scratch: &Scratch, words: &[&str]) -> Ran {
        let mut command = Command::new(self.directory.path().join("hermes"));
        command
            .args(words)
            .env_clear()
            .env("HOME", scratch.user_home())
            .env("PATH", "/usr/bin:/bin")
            .current_dir("/");
        if nix::unistd::geteuid().is_root() {
            command.uid(65_534).gid(65_534);
        }
        ran(command.output().expect("the binary starts"))
    }
}

/// Closes a directory with this mode until dropped, so that it can be removed.
pub(crate) struct Closed {
    path: PathBuf,
}

impl Closed {
    pub(crate) fn new(path: PathBuf, mode: u32) -> Self {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("it is ours");
        Self { path }
    }
}

impl Drop for Closed {
    fn drop(&mut self) {
        let _ = std::fs::set_permissions(&self.path, std::fs::Permissions::from_mode(0o755));
    }
}

pub(crate) fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

/// What the reference printed for a command, without the two lines about the call.
pub(crate) fn golden(name: &str) -> String {
    let text = std::fs::read_to_string(fixture("golden").join(name)).expect("a golden file");
    text.lines()
        .skip(2)
        .map(|line| format!("{line}\n"))
        .collect()
}
