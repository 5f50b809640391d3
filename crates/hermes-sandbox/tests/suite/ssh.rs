//! Against a real `sshd` on loopback with keys, port and configuration of its own.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_sandbox::background::{Owner, Processes, ProcessesOptions, StartRequest};
use hermes_sandbox::session::{Ending, RunRequest, SessionOptions, ShellSession};
use hermes_sandbox::ssh::{SshLogin, SshTarget};
use hermes_sandbox::{Files, NewFileMode, SandboxPath, ShellFiles};
use pretty_assertions::assert_eq;

const SSHD: &str = "/usr/sbin/sshd";

struct Server {
    directory: tempfile::TempDir,
    port: u16,
    daemon: Child,
}

impl Server {
    fn start() -> Self {
        assert!(
            Path::new(SSHD).exists(),
            "install openssh-server: {SSHD} is missing"
        );
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        for name in ["host", "user"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f", &at(name)])
                .status();
            assert!(made.unwrap().success());
        }
        std::fs::copy(at("user.pub"), at("authorized")).unwrap();
        std::fs::set_permissions(at("authorized"), std::fs::Permissions::from_mode(0o600)).unwrap();
        // Privilege separation insists on it; it is empty.
        let _ = std::fs::create_dir_all("/run/sshd");
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nMaxSessions 64\nMaxStartups 64\n",
            at("host"),
            at("authorized")
        );
        std::fs::write(at("config"), config).unwrap();
        let daemon = Self::daemon(directory.path());
        let server = Self {
            directory,
            port,
            daemon,
        };
        server.wait();
        server
    }

    fn daemon(directory: &Path) -> Child {
        Command::new(SSHD)
            .args(["-D", "-e", "-f"])
            .arg(directory.join("config"))
            .stdin(Stdio::null())
            .stderr(std::fs::File::create(directory.join("log")).unwrap())
            .spawn()
            .unwrap()
    }

    fn wait(&self) {
        let began = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "sshd does not listen"
            );
            std::thread::yield_now();
        }
    }

    /// Ends the daemon and everything it serves.
    fn stop(&mut self) {
        let children = Command::new("pgrep")
            .args(["-P", &self.daemon.id().to_string()])
            .output()
            .unwrap();
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
        for pid in String::from_utf8_lossy(&children.stdout).split_whitespace() {
            let _ = Command::new("kill").args(["-9", pid]).status();
        }
    }

    fn login(&self) -> SshLogin {
        let user = Command::new("id").arg("-un").output().unwrap();
        let file = |name: &str| {
            self.directory
                .path()
                .join(name)
                .to_str()
                .unwrap()
                .to_owned()
        };
        SshLogin {
            host: "127.0.0.1".to_owned(),
            user: String::from_utf8(user.stdout).unwrap().trim().to_owned(),
            port: self.port,
            key: Some(file("user")),
            program: "ssh".to_owned(),
            temp_dir: self.directory.path().to_owned(),
            options: vec![
                format!("UserKnownHostsFile={}", file("known")),
                "IdentitiesOnly=yes".to_owned(),
            ],
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let socket = self.login().control_path();
        let _ = Command::new("ssh")
            .args([
                "-o",
                &format!("ControlPath={}", socket.display()),
                "-O",
                "exit",
                "x",
            ])
            .stderr(Stdio::null())
            .status();
        self.stop();
    }
}

struct Bed {
    session: Arc<ShellSession>,
    target: Arc<SshTarget>,
    server: Server,
}

fn bed() -> Bed {
    let server = Server::start();
    let target = Arc::new(SshTarget::new(server.login()));
    let session = Arc::new(ShellSession::new(
        target.clone(),
        SessionOptions::starting_in("~"),
    ));
    Bed {
        session,
        target,
        server,
    }
}

impl Bed {
    async fn out(&self, command: &str) -> (String, i32) {
        let outcome = self.session.run(RunRequest::new(command)).await.unwrap();
        (outcome.output.joined(), outcome.ending.code())
    }
}

#[tokio::test]
async fn state_lasts_and_a_command_costs_little() {
    let bed = bed();
    assert_eq!(bed.out("cd /usr; export A=1; f() { echo f; }").await.1, 0);
    assert_eq!(
        bed.out("pwd; echo $A; f; exit 3").await,
        ("/usr\n1\nf\n".to_owned(), 3)
    );
    assert!(
        bed.out("echo $SSH_CONNECTION")
            .await
            .0
            .starts_with("127.0.0.1 ")
    );
    let mut best = Duration::MAX;
    for _ in 0..20 {
        let began = Instant::now();
        bed.out("true").await;
        best = best.min(began.elapsed());
    }
    println!("true over ssh: {best:?}");
    assert!(best < Duration::from_millis(30), "{best:?}");
    let directory = bed.server.login().control_directory();
    let mode = std::fs::metadata(directory).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[tokio::test]
async fn a_timeout_ends_the_tree_over_there() {
    let bed = bed();
    let marker = bed.server.directory.path().join("alive");
    let command = format!(
        "(sleep 2; touch {0}) & sleep 2; touch {0}",
        marker.display()
    );
    let request = RunRequest {
        timeout: Duration::from_millis(400),
        ..RunRequest::new(command)
    };
    let outcome = bed.session.run(request).await.unwrap();
    assert!(
        matches!(outcome.ending, Ending::TimedOut { .. }),
        "{:?}",
        outcome.ending
    );
    let left = bed.out("pgrep -fc '[s]leep 2; touch'; true").await;
    assert_eq!(left.0.trim(), "0");
    assert!(!marker.exists());
}

#[tokio::test]
async fn files_are_read_and_written_over_there() {
    let bed = bed();
    let files = ShellFiles::new(bed.target.clone());
    let place = bed.server.directory.path().join("new\nline 'ü'");
    let path = SandboxPath::absolute(place.to_str().unwrap()).unwrap();
    let bytes: Vec<u8> = (0..200_000u32).map(|n| (n % 251) as u8).collect();
    files
        .write(&path, bytes.clone(), NewFileMode::Ordinary)
        .await
        .unwrap();
    assert_eq!(std::fs::read(&place).unwrap(), bytes);
    assert_eq!(files.read(&path, 0, 1 << 20).await.unwrap(), bytes);
}

#[tokio::test]
async fn a_host_that_hangs_up_is_called_again_and_one_that_is_gone_is_an_error() {
    let mut bed = bed();
    assert_eq!(bed.out("cd /usr; echo one").await.0, "one\n");
    bed.target.hang_up().await;
    assert_eq!(bed.out("pwd").await.0, "/usr\n");
    bed.server.stop();
    let began = Instant::now();
    let error = bed
        .session
        .run(RunRequest::new("true"))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("SSH connection failed"), "{error}");
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
    bed.server.daemon = Server::daemon(bed.server.directory.path());
    bed.server.wait();
    assert_eq!(bed.out("pwd").await.0, "/usr\n");
}

#[tokio::test]
async fn a_wrong_key_is_said() {
    let server = Server::start();
    let mut login = server.login();
    login.key = Some(
        server
            .directory
            .path()
            .join("host")
            .to_str()
            .unwrap()
            .to_owned(),
    );
    let target = Arc::new(SshTarget::new(login));
    let session = ShellSession::new(target, SessionOptions::starting_in("~"));
    let error = session
        .run(RunRequest::new("true"))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("SSH connection failed") && error.contains("Permission denied"),
        "{error}"
    );
}

#[tokio::test]
async fn background_processes_start_at_once_and_live_on() {
    let bed = bed();
    bed.out("true").await;
    let processes = Processes::new(ProcessesOptions { checkpoint: None });
    let began = Instant::now();
    let started = processes
        .start(StartRequest {
            session: bed.session.clone(),
            command: "echo up; sleep 300".to_owned(),
            workdir: None,
            terminal: None,
            notify_on_complete: false,
            watch_patterns: Vec::new(),
            owner: Owner {
                task: "t".to_owned(),
                ..Owner::default()
            },
        })
        .await
        .unwrap();
    let took = began.elapsed();
    println!("background start over ssh: {took:?}");
    assert!(took < Duration::from_millis(500), "{took:?}");
    let alive = "pgrep -fc '[e]cho up; sleep 300'; true";
    assert_ne!(bed.out(alive).await.0.trim(), "0");
    processes.kill(&started.id, "t").await.unwrap();
    assert_eq!(bed.out("pgrep -fc '[s]leep 300'; true").await.0.trim(), "0");
}
