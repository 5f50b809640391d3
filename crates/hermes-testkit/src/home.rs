//! Temporary homes: a user directory with `.hermes` in it and a project to
//! stand in, all gone when the value is dropped.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use hermes_home::{Environment, Home};
use tempfile::TempDir;

use crate::model::ModelServer;

/// `<temporary>/user/.hermes` and `<temporary>/project`.
#[derive(Debug)]
pub struct TestHome {
    directory: TempDir,
    path: PathBuf,
}

impl Default for TestHome {
    fn default() -> Self {
        Self::new()
    }
}

impl TestHome {
    /// An empty home directory that exists.
    pub fn new() -> Self {
        let home = Self::absent();
        fs::create_dir_all(home.path()).expect("make the home directory");
        home
    }

    /// A user without a home directory yet: what a first start finds.
    pub fn absent() -> Self {
        let directory = tempfile::Builder::new()
            .prefix("hermes-test-")
            .tempdir()
            .expect("make a temporary directory");
        // Resolved once, so that texts naming the path compare equal.
        let base = directory
            .path()
            .canonicalize()
            .expect("resolve the temporary directory");
        fs::create_dir_all(base.join("user")).expect("make the user directory");
        fs::create_dir_all(base.join("project")).expect("make the project directory");
        Self {
            directory,
            path: base.join("user/.hermes"),
        }
    }

    /// A copy of a recorded home. Symlinks are copied as what they point to.
    pub fn copy_of(fixture: &Path) -> Self {
        let home = Self::new();
        copy_tree(fixture, home.path());
        home
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What `~` means in this home's [`environment`](Self::environment).
    pub fn user_home(&self) -> &Path {
        self.path
            .parent()
            .expect("the home lies in a user directory")
    }

    /// A directory to stand in, outside the home.
    pub fn project(&self) -> PathBuf {
        self.user_home()
            .parent()
            .expect("the user directory lies in the temporary one")
            .join("project")
    }

    /// The temporary directory that holds everything.
    pub fn base(&self) -> &Path {
        self.directory.path()
    }

    pub fn home(&self) -> Home {
        Home::locate(&self.environment())
    }

    /// Only what a program needs to start; nothing of the test's own environment
    /// but `PATH`.
    pub fn environment(&self) -> Environment {
        let mut environment = Environment::default();
        environment.set("HERMES_HOME", self.path.to_string_lossy());
        environment.set("HOME", self.user_home().to_string_lossy());
        environment.set("PATH", std::env::var("PATH").unwrap_or_default());
        environment.set("TZ", "UTC");
        environment.set("LANG", "C.UTF-8");
        environment
    }

    /// A command that starts in the project with this home's environment.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(self.environment().iter())
            .current_dir(self.project());
        command
    }

    /// Writes a file of the home, with the directories it needs.
    pub fn write(&self, relative: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path.join(relative);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).expect("make the parent directory");
        }
        fs::write(&path, content).expect("write a file of the home");
        path
    }

    pub fn read(&self, relative: impl AsRef<Path>) -> String {
        let path = self.path.join(relative);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("read {}: {error}", path.display()))
    }

    pub fn exists(&self, relative: impl AsRef<Path>) -> bool {
        self.path.join(relative).exists()
    }

    /// Replaces `config.yaml`.
    pub fn config(&self, yaml: &str) -> &Self {
        self.write("config.yaml", yaml);
        self
    }

    /// Replaces `config.yaml` by one whose main model is `server`'s default model,
    /// followed by `more`.
    pub fn config_for(&self, server: &ModelServer, more: &str) -> &Self {
        self.config(&format!(
            "model:\n  default: {}\n  provider: custom\n  base_url: {}\n  api_key: test-key\n{more}",
            ModelServer::DEFAULT_MODEL,
            server.url(),
        ))
    }
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("make a directory of the copy");
    let entries = fs::read_dir(from).unwrap_or_else(|e| panic!("read {}: {e}", from.display()));
    for entry in entries {
        let source = entry.expect("read a directory entry").path();
        let target = to.join(source.file_name().expect("entries have names"));
        if source.is_dir() {
            copy_tree(&source, &target);
        } else {
            // Read and write instead of fs::copy: fixtures may be read-only.
            let content =
                fs::read(&source).unwrap_or_else(|e| panic!("read {}: {e}", source.display()));
            fs::write(&target, content).expect("write a file of the copy");
        }
    }
}
