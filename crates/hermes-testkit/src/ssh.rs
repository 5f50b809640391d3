//! A real `sshd` on loopback with keys, port, configuration and home of its own.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use crate::PATIENCE;

const SSHD: &str = "/usr/sbin/sshd";

pub struct SshServer {
    directory: tempfile::TempDir,
    port: u16,
    daemon: Child,
}

impl SshServer {
    pub fn start() -> Self {
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
        std::fs::create_dir(at("home")).unwrap();
        // Privilege separation insists on it; it is empty.
        let _ = std::fs::create_dir_all("/run/sshd");
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nMaxSessions 64\nMaxStartups 64\nSetEnv HOME={}\n",
            at("host"),
            at("authorized"),
            at("home")
        );
        std::fs::write(at("config"), config).unwrap();
        let daemon = daemon(directory.path());
        let server = Self {
            directory,
            port,
            daemon,
        };
        server.wait();
        server
    }

    fn wait(&self) {
        let began = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(began.elapsed() < PATIENCE, "sshd does not listen");
            std::thread::yield_now();
        }
    }

    /// Ends the daemon and everything it serves.
    pub fn stop(&mut self) {
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

    /// After [`Self::stop`].
    pub fn start_again(&mut self) {
        self.daemon = daemon(self.directory.path());
        self.wait();
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Who logs in: whoever runs the tests.
    pub fn user(&self) -> String {
        let user = Command::new("id").arg("-un").output().unwrap();
        String::from_utf8(user.stdout).unwrap().trim().to_owned()
    }

    /// The key that may log in.
    pub fn key(&self) -> String {
        self.path("user").to_str().unwrap().to_owned()
    }

    /// A file of the server's own directory, which is short enough for sockets.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// `$HOME` of whoever logs in.
    pub fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// Options that keep the user's own files out of it.
    pub fn options(&self) -> Vec<String> {
        vec![
            format!("UserKnownHostsFile={}", self.path("known").display()),
            "IdentitiesOnly=yes".to_owned(),
        ]
    }

    /// A directory with an `ssh` that has these options: to be first in a path.
    pub fn client_directory(&self) -> PathBuf {
        let directory = self.path("bin");
        let _ = std::fs::create_dir(&directory);
        let options: String = self
            .options()
            .iter()
            .map(|option| format!(" -o {option}"))
            .collect();
        let script = format!("#!/bin/sh\nexec /usr/bin/ssh{options} \"$@\"\n");
        std::fs::write(directory.join("ssh"), script).unwrap();
        let runs = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(directory.join("ssh"), runs).unwrap();
        directory
    }
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

impl Drop for SshServer {
    fn drop(&mut self) {
        // Clients that stay connected would keep their sockets here.
        self.stop();
    }
}
