//! The container engines that tests may find on a machine: docker, which is required
//! where a suite must not be skipped, and podman, which is used where it works.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::docker::{BUSYBOX, find_opt, import, succeed};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    Docker,
    Podman,
}

/// For kernels and containers where podman's own choices are refused: a runtime that
/// knows every layout of control groups, and limits that need no privilege.
const CAREFUL_PODMAN: &str = "[engine]\nruntime = \"runc\"\n\
    [containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=1024:1024\"]\n";

impl Client {
    pub fn program(self) -> &'static str {
        match self {
            Client::Docker => "docker",
            Client::Podman => "podman",
        }
    }

    /// Whether containers can be had from it. Docker panics where it is required.
    pub fn available(self) -> bool {
        match self {
            Client::Docker => docker_answers(),
            Client::Podman => podman().is_some(),
        }
    }

    /// What a Hermes must find in its environment to use this engine.
    pub fn environment(self) -> Vec<(&'static str, String)> {
        match self {
            Client::Docker => Vec::new(),
            Client::Podman => {
                let mut environment = vec![("HERMES_DOCKER_BINARY", "podman".to_owned())];
                if let Some(Podman::Careful(file)) = podman() {
                    environment.push(("CONTAINERS_CONF", file.display().to_string()));
                }
                environment
            }
        }
    }

    pub fn command(self) -> Command {
        let mut command = Command::new(self.program());
        command.envs(self.environment());
        command
    }

    /// Returns what the client printed; panics when it fails.
    pub fn run(self, arguments: &[&str]) -> String {
        succeed(self.command(), arguments)
    }

    /// The same where failure is an answer.
    pub fn try_run(self, arguments: &[&str]) -> Option<String> {
        let output = self
            .command()
            .args(arguments)
            .output()
            .expect("run the engine's client");
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Makes an image if the engine does not have it, and returns its name.
    pub fn image(self, name: &'static str) -> &'static str {
        if self.try_run(&["image", "inspect", name]).is_none() {
            import(name, self.command());
        }
        name
    }

    /// Removes a container at once, if it is there.
    pub fn discard(self, container: &str) {
        let words: &[&str] = match self {
            Client::Docker => &["rm", "-f", "-v", container],
            // It would first wait for the container to obey TERM.
            Client::Podman => &["rm", "-f", "-v", "-t", "0", container],
        };
        let _ = self.try_run(words);
    }

    /// Command lines of everything that runs in the container.
    pub fn processes(self, container: &str) -> Vec<String> {
        let words: &[&str] = match self {
            Client::Docker => &["top", container, "-o", "pid,args"],
            Client::Podman => &["top", container, "pid", "args"],
        };
        self.run(words)
            .lines()
            .skip(1)
            .map(|line| line.trim_end().to_owned())
            .collect()
    }
}

fn docker_answers() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    let answers = *ANSWER.get_or_init(|| succeeds(Command::new("docker").arg("version")));
    let required = std::env::var("CI").is_ok_and(|v| v == "true")
        || std::env::var("HERMES_TEST_ENGINE").is_ok_and(|v| v == "required");
    assert!(
        answers || !required,
        "a container engine is required here and `docker version` fails"
    );
    answers
}

#[derive(Clone, Debug)]
enum Podman {
    Plain,
    /// With the settings of this file.
    Careful(PathBuf),
}

/// How podman runs a container here; found out once per machine and remembered in the
/// temporary directory, because every test is a process of its own.
fn podman() -> Option<&'static Podman> {
    static ANSWER: OnceLock<Option<Podman>> = OnceLock::new();
    ANSWER.get_or_init(find_podman).as_ref()
}

fn find_podman() -> Option<Podman> {
    find_opt("podman")?;
    let user = nix::unistd::geteuid();
    let known = std::env::temp_dir().join(format!("hermes-test-podman-{user}"));
    let careful = known.join("containers.conf");
    let plain = known.join("plain");
    if plain.exists() {
        return Some(Podman::Plain);
    }
    if careful.exists() {
        return Some(Podman::Careful(careful));
    }
    let image = || Command::new("podman");
    if !succeeds(image().args(["image", "inspect", BUSYBOX])) {
        import(BUSYBOX, image());
    }
    let trial = ["run", "--rm", "--init", BUSYBOX, "true"];
    std::fs::create_dir_all(&known).expect("a temporary directory");
    if succeeds(Command::new("podman").args(trial)) {
        std::fs::write(plain, "").expect("write");
        return Some(Podman::Plain);
    }
    let unsure = tempfile::NamedTempFile::new_in(&known).expect("a temporary file");
    std::fs::write(unsure.path(), CAREFUL_PODMAN).expect("write");
    if succeeds(
        Command::new("podman")
            .args(trial)
            .env("CONTAINERS_CONF", unsure.path()),
    ) {
        unsure.persist(&careful).expect("rename");
        return Some(Podman::Careful(careful));
    }
    // `./test` says so.
    None
}

fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
