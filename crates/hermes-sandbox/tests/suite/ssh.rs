//! Against a real `sshd` on loopback with keys, port and configuration of its own.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use hermes_home::Home;
use hermes_sandbox::background::{Owner, Processes, ProcessesOptions, StartRequest};
use hermes_sandbox::docker::HomeShare;
use hermes_sandbox::session::{Ending, RunRequest, SessionOptions, ShellSession};
use hermes_sandbox::ssh::{ShareRules, SshLogin, SshTarget};
use hermes_sandbox::{Files, NewFileMode, SandboxPath, ShellFiles};
use hermes_testkit::ssh::SshServer;
use pretty_assertions::assert_eq;

fn login(server: &SshServer) -> SshLogin {
    SshLogin {
        host: "127.0.0.1".to_owned(),
        user: server.user(),
        port: server.port(),
        key: Some(server.key()),
        program: "ssh".to_owned(),
        temp_dir: server.path("."),
        options: server.options(),
    }
}

struct Bed {
    session: Arc<ShellSession>,
    target: Arc<SshTarget>,
    server: SshServer,
}

fn bed() -> Bed {
    let server = SshServer::start();
    let target = Arc::new(SshTarget::new(login(&server)));
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
async fn state_lasts_and_the_control_socket_is_private() {
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
    let directory = login(&bed.server).control_directory();
    let mode = std::fs::metadata(directory).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[tokio::test]
async fn a_timeout_ends_the_tree_over_there() {
    let bed = bed();
    let marker = bed.server.path("alive");
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
    let place = bed.server.path("new\nline 'ü'");
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
    let error = bed
        .session
        .run(RunRequest::new("true"))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("SSH connection failed"), "{error}");
    bed.server.start_again();
    assert_eq!(bed.out("pwd").await.0, "/usr\n");
}

#[tokio::test]
async fn a_wrong_key_is_said() {
    let server = SshServer::start();
    let mut login = login(&server);
    login.key = Some(server.path("host").to_str().unwrap().to_owned());
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
async fn background_processes_start_and_live_on() {
    let bed = bed();
    bed.out("true").await;
    let processes = Processes::new(ProcessesOptions { checkpoint: None });
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
    let alive = "pgrep -fc '[e]cho up; sleep 300'; true";
    assert_ne!(bed.out(alive).await.0.trim(), "0");
    processes.kill(&started.id, "t").await.unwrap();
    assert_eq!(bed.out("pgrep -fc '[s]leep 300'; true").await.0.trim(), "0");
}

struct Shared {
    server: SshServer,
    home: tempfile::TempDir,
}

impl Shared {
    fn new() -> Self {
        let shared = Self {
            server: SshServer::start(),
            home: tempfile::tempdir().unwrap(),
        };
        shared.put("skills/a/SKILL.md", "one");
        shared.put("token.json", "secret");
        shared.put("config.yaml", "not shared");
        shared
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn here(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.home.path().join(name)).ok()
    }

    fn there(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.server.home().join(".hermes").join(name)).ok()
    }

    /// As a process would have it.
    fn target(&self, back: bool) -> Arc<SshTarget> {
        let rules = ShareRules {
            share: HomeShare {
                home: self.home.path().to_owned(),
                external_skills: Vec::new(),
                credential_files: vec!["token.json".to_owned(), "../outside".to_owned()],
            },
            back,
            always: true,
        };
        let home = Home::at(self.home.path(), self.home.path());
        Arc::new(SshTarget::new(login(&self.server)).sharing(home, rules))
    }
}

async fn run(target: &Arc<SshTarget>, command: &str) -> String {
    let session = ShellSession::new(target.clone(), SessionOptions::starting_in("~"));
    let outcome = session.run(RunRequest::new(command)).await.unwrap();
    assert_eq!(outcome.ending.code(), 0, "{}", outcome.output.joined());
    outcome.output.joined()
}

#[tokio::test]
async fn files_go_to_the_host_before_a_command_and_only_what_changed() {
    let shared = Shared::new();
    let long = format!("skills/{}/{}/x", "d".repeat(90), "ü".repeat(60));
    shared.put(&long, "long");
    std::os::unix::fs::symlink("/etc/passwd", shared.home.path().join("skills/link")).unwrap();
    let target = shared.target(true);
    let home_mode = || {
        let meta = std::fs::metadata(shared.server.home()).unwrap();
        meta.permissions().mode() & 0o7777
    };
    let before = home_mode();
    assert_eq!(run(&target, "cat ~/.hermes/skills/a/SKILL.md").await, "one");
    assert_eq!(
        run(&target, "stat -c %a ~/.hermes/token.json").await,
        "600\n"
    );
    assert_eq!(home_mode(), before);
    assert_eq!(shared.there(&long).as_deref(), Some("long"));
    for name in ["config.yaml", "skills/link", "../outside"] {
        assert_eq!(shared.there(name), None, "{name}");
    }
    // Changed, new and gone; what did not change is not sent again.
    std::fs::write(shared.server.home().join(".hermes").join(&long), "theirs").unwrap();
    shared.put("skills/a/SKILL.md", "two!");
    shared.put("skills/b", "new");
    std::fs::remove_file(shared.home.path().join("token.json")).unwrap();
    let seen = "cat ~/.hermes/skills/a/SKILL.md ~/.hermes/skills/b; ls ~/.hermes/token.json 2>/dev/null; true";
    assert_eq!(run(&target, seen).await, "two!new");
    assert_eq!(shared.there(&long).as_deref(), Some("theirs"));
    // Another process of the same home knows what is there.
    let another = shared.target(false);
    std::fs::remove_file(shared.home.path().join("skills/b")).unwrap();
    run(&another, "true").await;
    assert_eq!(shared.there("skills/b"), None);
    assert_eq!(shared.there(&long).as_deref(), Some("theirs"));
}

#[tokio::test]
async fn what_the_host_changed_comes_back_but_never_a_credential() {
    let shared = Shared::new();
    let target = shared.target(true);
    run(
        &target,
        "cd ~/.hermes && echo changed > skills/a/SKILL.md && mkdir -p 'skills/n w' cache/images && echo new > 'skills/n w/x' && echo pic > cache/images/p && echo stolen > token.json && echo y > config.yaml && ln -s /etc/passwd skills/pw",
    )
    .await;
    target.close().await;
    assert_eq!(
        shared.here("skills/a/SKILL.md").as_deref(),
        Some("changed\n")
    );
    assert_eq!(shared.here("skills/n w/x").as_deref(), Some("new\n"));
    assert_eq!(shared.here("cache/images/p").as_deref(), Some("pic\n"));
    assert_eq!(shared.here("token.json").as_deref(), Some("secret"));
    assert_eq!(shared.here("config.yaml").as_deref(), Some("not shared"));
    assert_eq!(shared.here("skills/pw"), None);

    let closed = shared.target(false);
    run(&closed, "echo again > ~/.hermes/skills/a/SKILL.md").await;
    closed.close().await;
    assert_eq!(
        shared.here("skills/a/SKILL.md").as_deref(),
        Some("changed\n")
    );
}

#[tokio::test]
async fn trouble_with_files_fails_no_command() {
    let shared = Shared::new();
    std::fs::write(shared.server.home().join(".hermes"), "in the way").unwrap();
    let target = shared.target(true);
    assert_eq!(run(&target, "echo fine").await, "fine\n");
    target.close().await;
    // Tried again, and done when it can be.
    std::fs::remove_file(shared.server.home().join(".hermes")).unwrap();
    let target = shared.target(true);
    assert_eq!(run(&target, "cat ~/.hermes/skills/a/SKILL.md").await, "one");
}

#[tokio::test]
async fn a_connection_that_breaks_under_a_command_is_told_and_the_command_not_repeated() {
    let mut bed = bed();
    bed.out("true").await;
    let marker = bed.server.path("count");
    let command = format!("echo x >> {}; echo begun; sleep 60", marker.display());
    let (sender, mut lines) = tokio::sync::mpsc::channel(8);
    let request = RunRequest {
        tee: Some(hermes_sandbox::session::Tee::Sample(sender)),
        ..RunRequest::new(command)
    };
    let session = bed.session.clone();
    let running = tokio::spawn(async move { session.run(request).await });
    let heard = lines.recv().await.unwrap();
    assert!(heard.starts_with(b"begun"), "{heard:?}");
    bed.server.stop();
    let outcome = running.await.unwrap().unwrap();
    assert!(
        matches!(outcome.ending, Ending::Lost(_)),
        "{:?}",
        outcome.ending
    );
    assert!(outcome.output.joined().contains("begun"));
    bed.server.start_again();
    assert_eq!(bed.out("echo back").await.0, "back\n");
    assert_eq!(std::fs::read_to_string(marker).unwrap(), "x\n");
}
