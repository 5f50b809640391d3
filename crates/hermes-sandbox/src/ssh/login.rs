//! Who logs in where, and the options of every `ssh`.

use std::fmt::Write as _;
use std::path::PathBuf;

use hermes_home::Environment;
use sha2::{Digest, Sha256};

use crate::settings::TerminalSettings;

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SshError {
    #[error("the ssh backend needs `terminal.ssh_host` and `terminal.ssh_user`")]
    Incomplete,
    #[error("`{0}` is not a host or user name that ssh could take")]
    Name(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshLogin {
    pub host: String,
    pub user: String,
    pub port: u16,
    pub key: Option<String>,
    /// The program, found in the path.
    pub program: String,
    /// For the control socket; one directory per user below it.
    pub temp_dir: PathBuf,
    /// Further `-o` options; the user's own configuration is read anyway.
    pub options: Vec<String>,
}

impl SshLogin {
    pub fn read(settings: &TerminalSettings, environment: &Environment) -> Result<Self, SshError> {
        let keys = &settings.ssh;
        let set = |value: &Option<String>| value.clone().filter(|text| !text.is_empty());
        let (Some(host), Some(user)) = (set(&keys.host), set(&keys.user)) else {
            return Err(SshError::Incomplete);
        };
        for name in [&host, &user] {
            // A leading dash would be an option.
            if name.starts_with('-') || name.contains(|c: char| c.is_whitespace() || c == '\0') {
                return Err(SshError::Name(name.clone()));
            }
        }
        let temp_dir = environment
            .get_non_empty("TMPDIR")
            .filter(|path| path.starts_with('/'))
            .unwrap_or("/tmp");
        Ok(Self {
            host,
            user,
            port: keys.port,
            key: keys.key.clone(),
            program: "ssh".to_owned(),
            temp_dir: PathBuf::from(temp_dir),
            options: Vec::new(),
        })
    }

    /// `user@host:port`, for people.
    pub fn name(&self) -> String {
        format!("{}@{}:{}", self.user, self.host, self.port)
    }

    /// Short, because socket paths are.
    pub fn socket_name(&self) -> String {
        let digest = Sha256::digest(self.name().as_bytes());
        let mut hex = String::with_capacity(21);
        for byte in &digest[..8] {
            let _ = write!(hex, "{byte:02x}");
        }
        hex.push_str(".sock");
        hex
    }

    pub fn control_directory(&self) -> PathBuf {
        let user = nix::unistd::getuid();
        self.temp_dir.join(format!("hermes-ssh-{user}"))
    }

    pub fn control_path(&self) -> PathBuf {
        self.control_directory().join(self.socket_name())
    }

    /// Everything before the remote command. `master` is the value of
    /// `ControlMaster`.
    pub(super) fn arguments(&self, master: &str) -> Vec<String> {
        let mut arguments = Vec::new();
        let mut option = |text: String| arguments.extend(["-o".to_owned(), text]);
        option(format!("ControlPath={}", self.control_path().display()));
        option(format!("ControlMaster={master}"));
        option("ControlPersist=300".to_owned());
        option("BatchMode=yes".to_owned());
        option("StrictHostKeyChecking=accept-new".to_owned());
        option("ConnectTimeout=10".to_owned());
        // A host that is unplugged is noticed.
        option("ServerAliveInterval=15".to_owned());
        option("ServerAliveCountMax=3".to_owned());
        for text in &self.options {
            option(text.clone());
        }
        if self.port != 22 {
            arguments.extend(["-p".to_owned(), self.port.to_string()]);
        }
        if let Some(key) = &self.key {
            arguments.extend(["-i".to_owned(), key.clone()]);
        }
        arguments
    }

    pub(super) fn destination(&self) -> String {
        format!("{}@{}", self.user, self.host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(host: &str, user: &str) -> Result<SshLogin, SshError> {
        let yaml = format!("terminal: {{ssh_host: '{host}', ssh_user: '{user}'}}");
        let config = hermes_config::Config::from_yaml(&yaml).unwrap();
        let home = hermes_home::Home::at("/h", "/h");
        let settings = TerminalSettings::read(&config, &home).unwrap();
        SshLogin::read(&settings, &Environment::default())
    }

    #[test]
    fn the_socket_is_named_as_the_reference_names_it() {
        let login = login("example.com", "root").unwrap();
        assert_eq!(login.socket_name(), "4ec4e7fe8152c5a0.sock");
    }

    #[test]
    fn names_cannot_be_options() {
        assert_eq!(login("", "x"), Err(SshError::Incomplete));
        assert_eq!(
            login("-oProxyCommand=evil", "x"),
            Err(SshError::Name("-oProxyCommand=evil".to_owned()))
        );
    }
}
