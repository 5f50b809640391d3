//! Images that need no registry, and what tests do with a real docker.
//!
//! Images are made from what the machine has: one from a static busybox (no
//! bash), one that adds bash, dash and a few programs with their libraries. Made
//! once and kept; the tag names their content.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::PATIENCE;
use crate::engine::Client;

/// Busybox and nothing else: POSIX `sh`, no bash.
pub const BUSYBOX: &str = "hermes-test/busybox:2";
/// The same with bash as bash and dash as `sh`.
pub const BASH: &str = "hermes-test/bash:2";
/// No shell at all: one static program that sleeps.
pub const BARE: &str = "hermes-test/bare:2";

/// The bash image with the machine's Python in it.
pub const PYTHON: &str = "hermes-test/python:1";

/// Programs of the machine that the bash image has beside busybox.
const PROGRAMS: &[&str] = &["bash", "dash", "setsid", "cat", "env", "sleep"];

/// Whether an engine answers. Panics where one is required (`CI=true` or
/// `HERMES_TEST_ENGINE=required`), so that no suite is skipped in silence.
pub fn available() -> bool {
    Client::Docker.available()
}

/// Runs `docker` and returns its output; panics when it fails.
pub fn docker(arguments: &[&str]) -> String {
    Client::Docker.run(arguments)
}

/// The same where failure is an answer.
pub fn try_docker(arguments: &[&str]) -> Option<String> {
    Client::Docker.try_run(arguments)
}

/// Makes an image if docker does not have it, and returns its name.
pub fn image(name: &'static str) -> &'static str {
    Client::Docker.image(name)
}

/// Command lines of everything that runs in a container of docker's.
pub fn processes(container: &str) -> Vec<String> {
    Client::Docker.processes(container)
}

pub(crate) fn succeed(mut client: Command, arguments: &[&str]) -> String {
    let output = client
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("run the engine's client");
    assert!(
        output.status.success(),
        "{client:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

pub(crate) fn import(name: &str, mut client: Command) {
    let directory = tempfile::tempdir().expect("temporary directory");
    let root = directory.path();
    match name {
        BUSYBOX => busybox_root(root, "busybox"),
        BASH => bash_root(root),
        BARE => bare_root(root),
        PYTHON => python_root(root),
        other => panic!("no recipe for image {other}"),
    }
    let mut tar = Command::new("tar")
        .arg("-C")
        .arg(root)
        .args(["--owner=0", "--group=0", "-c", "."])
        .stdout(Stdio::piped())
        .spawn()
        .expect("run tar");
    let imported = client
        .args(["import", "-", name])
        .stdin(tar.stdout.take().expect("tar writes to a pipe"))
        .output()
        .expect("run docker import");
    assert!(tar.wait().expect("wait for tar").success(), "tar failed");
    assert!(
        imported.status.success(),
        "docker import {name}: {}",
        String::from_utf8_lossy(&imported.stderr)
    );
}

fn busybox_root(root: &Path, shell: &str) {
    for directory in [
        "bin", "etc", "tmp", "root", "proc", "sys", "dev", "usr", "var/tmp", "run",
    ] {
        fs::create_dir_all(root.join(directory)).expect("make a directory");
    }
    let busybox = find("busybox");
    fs::copy(&busybox, root.join("bin/busybox")).expect("copy busybox");
    let list = Command::new(&busybox)
        .arg("--list")
        .output()
        .expect("busybox --list");
    for applet in String::from_utf8_lossy(&list.stdout).lines() {
        if applet != "busybox" && applet != "sh" {
            symlink("busybox", root.join("bin").join(applet)).expect("link an applet");
        }
    }
    symlink(shell, root.join("bin/sh")).expect("link sh");
    fs::write(
        root.join("etc/passwd"),
        "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n",
    )
    .expect("write passwd");
    fs::write(root.join("etc/group"), "root:x:0:\nnogroup:x:65534:\n").expect("write group");
}

fn bash_root(root: &Path) {
    busybox_root(root, "dash");
    for name in PROGRAMS {
        let program = find(name);
        let inside = root.join("bin").join(name);
        add_program(root, &program, &inside);
    }
}

fn add_program(root: &Path, program: &Path, inside: &Path) {
    let _ = fs::remove_file(inside);
    fs::copy(program, inside).expect("copy a program");
    add_libraries(root, program);
}

fn add_libraries(root: &Path, program: &Path) {
    for library in libraries(program) {
        let inside = root.join(library.strip_prefix("/").expect("absolute"));
        fs::create_dir_all(inside.parent().expect("has a parent")).expect("make a directory");
        fs::copy(&library, &inside).expect("copy a library");
    }
}

fn python_root(root: &Path) {
    bash_root(root);
    let program = Path::new("/usr/bin/python3")
        .canonicalize()
        .expect("python3 is needed for tests with containers");
    add_program(root, &program, &root.join("bin/python3"));
    let version = program.file_name().expect("a name").to_owned();
    let library = Path::new("/usr/lib").join(version);
    let inside = root.join("usr/lib");
    fs::create_dir_all(&inside).expect("make a directory");
    let copied = Command::new("cp")
        .arg("-a")
        .arg(&library)
        .arg(&inside)
        .status()
        .expect("run cp");
    assert!(copied.success(), "cp failed");
    // Modules that are libraries need others in turn.
    let modules = inside
        .join(library.file_name().expect("a name"))
        .join("lib-dynload");
    for entry in fs::read_dir(modules).into_iter().flatten().flatten() {
        add_libraries(root, &entry.path());
    }
}

fn bare_root(root: &Path) {
    fs::create_dir_all(root.join("bin")).expect("make a directory");
    fs::copy(find("busybox"), root.join("bin/sleep")).expect("copy busybox");
}

/// Shared libraries of a program, as the loader finds them.
fn libraries(program: &Path) -> Vec<PathBuf> {
    let output = Command::new("ldd").arg(program).output().expect("run ldd");
    String::from_utf8_lossy(&output.stdout)
        .split_whitespace()
        .filter(|word| word.starts_with('/'))
        .map(PathBuf::from)
        .collect()
}

fn find(name: &str) -> PathBuf {
    find_opt(name).unwrap_or_else(|| panic!("{name} is needed for tests with containers"))
}

pub(crate) fn find_opt(name: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    std::env::split_paths(&format!("{path}:/usr/bin:/bin:/usr/sbin:/sbin"))
        .map(|directory| directory.join(name))
        .find(|candidate| candidate.is_file())
        .and_then(|found| found.canonicalize().ok())
}

/// Removes every container with this label when dropped, and before it starts.
pub struct Sweep {
    client: Client,
    label: String,
}

impl Sweep {
    pub fn new(label: impl Into<String>) -> Self {
        Self::on(Client::Docker, label)
    }

    pub fn on(client: Client, label: impl Into<String>) -> Self {
        let sweep = Self {
            client,
            label: label.into(),
        };
        sweep.remove();
        sweep
    }

    /// Ids of the containers, in any state.
    pub fn containers(&self) -> Vec<String> {
        let filter = format!("label={}", self.label);
        self.client
            .run(&["ps", "-a", "-q", "--no-trunc", "--filter", &filter])
            .lines()
            .map(str::to_owned)
            .collect()
    }

    fn remove(&self) {
        for id in self.containers() {
            self.client.discard(&id);
        }
    }
}

impl Drop for Sweep {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Waits until the condition holds; the engine offers no event for most of what
/// tests wait for. Panics with `what` when it never does.
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A daemon of the test's own, which it may stop, start and kill. Root only.
pub struct PrivateEngine {
    directory: tempfile::TempDir,
    daemon: Option<std::process::Child>,
}

impl PrivateEngine {
    /// `None` where no daemon can be started and none is required.
    pub fn start() -> Option<Self> {
        let required = std::env::var("HERMES_TEST_ENGINE").is_ok_and(|v| v == "required");
        let possible = nix::unistd::geteuid().is_root() && find_opt("dockerd").is_some();
        if !possible {
            assert!(!required, "a daemon of our own needs root and `dockerd`");
            return None;
        }
        let directory = tempfile::tempdir().expect("temporary directory");
        let mut engine = Self {
            directory,
            daemon: None,
        };
        engine.up();
        Some(engine)
    }

    /// Value for `DOCKER_HOST`.
    pub fn host(&self) -> String {
        format!("unix://{}", self.directory.path().join("s.sock").display())
    }

    pub fn image(&self, name: &'static str) -> &'static str {
        import(name, self.client());
        name
    }

    pub fn docker(&self, arguments: &[&str]) -> String {
        succeed(self.client(), arguments)
    }

    fn client(&self) -> Command {
        let mut client = Command::new("docker");
        client
            .env("DOCKER_HOST", self.host())
            .env_remove("DOCKER_CONTEXT");
        client
    }

    /// Starts the daemon and waits until it answers.
    pub fn up(&mut self) {
        let path = |name: &str| self.directory.path().join(name);
        let log = fs::File::create(path("log")).expect("create the log");
        // In a network of its own: two daemons would fight over the default bridge.
        let daemon = Command::new("unshare")
            .arg("--net")
            .arg(find("dockerd"))
            .args(["--iptables=false", "--ip6tables=false"])
            .arg("--data-root")
            .arg(path("data"))
            .arg("--exec-root")
            .arg(path("exec"))
            .arg("--pidfile")
            .arg(path("pid"))
            .arg("--host")
            .arg(self.host())
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a second handle"))
            .stderr(log)
            .spawn()
            .expect("start dockerd");
        self.daemon = Some(daemon);
        wait_until("the private daemon answers", || {
            let answer = self.client().arg("version").stdin(Stdio::null()).output();
            answer.is_ok_and(|output| output.status.success())
        });
    }

    /// Stops the daemon in order; its containers stop with it.
    pub fn down(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            let pid = i32::try_from(daemon.id()).expect("process ids fit");
            let _ = nix::sys::signal::kill(
                nix::unistd::Pid::from_raw(pid),
                nix::sys::signal::Signal::SIGTERM,
            );
            let _ = daemon.wait();
        }
    }
}

impl Drop for PrivateEngine {
    fn drop(&mut self) {
        self.down();
    }
}
