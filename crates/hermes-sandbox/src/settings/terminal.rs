//! The `terminal.*` keys that every backend shares, as fields. Those of docker are
//! read where they are used, in `docker/config.rs`.

use std::path::PathBuf;
use std::time::Duration;

use hermes_config::{Config, ConfigError};
use hermes_home::{Environment, Home};

/// The longest a foreground command may ask for, unless the variable says otherwise.
const MAX_FOREGROUND: u64 = 600;
const MAX_FOREGROUND_VARIABLE: &str = hermes_home::env::TERMINAL_MAX_FOREGROUND_TIMEOUT;
/// Read by name, because an empty value counts as a password and a key cannot say so.
const SUDO_PASSWORD: &str = "SUDO_PASSWORD";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backend {
    Local,
    Docker,
    Ssh,
    Singularity,
    Modal,
    Daytona,
}

impl Backend {
    pub const ALL: [Backend; 6] = [
        Backend::Local,
        Backend::Docker,
        Backend::Ssh,
        Backend::Singularity,
        Backend::Modal,
        Backend::Daytona,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Backend::Local => "local",
            Backend::Docker => "docker",
            Backend::Ssh => "ssh",
            Backend::Singularity => "singularity",
            Backend::Modal => "modal",
            Backend::Daytona => "daytona",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|backend| backend.as_str() == text)
    }

    /// Paths of this machine mean nothing there.
    pub fn is_container(self) -> bool {
        !matches!(self, Backend::Local | Backend::Ssh)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshKeys {
    pub host: Option<String>,
    pub user: Option<String>,
    pub port: u16,
    pub key: Option<String>,
    /// What changed over there comes back.
    pub sync_back: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalSettings {
    pub backend: Backend,
    /// As configured; [`super::directory`] says what it means.
    pub cwd: String,
    pub timeout: Duration,
    pub max_foreground_timeout: Duration,
    /// An environment that nobody used for this long is let go.
    pub lifetime: Duration,
    pub env_passthrough: Vec<String>,
    pub credential_files: Vec<String>,
    pub shell_init_files: Vec<String>,
    pub auto_source_bashrc: bool,
    pub sandbox_dir: PathBuf,
    /// `Some("")` is a password too: an empty one.
    pub sudo_password: Option<String>,
    /// Characters of output that a result may have.
    pub max_output_chars: usize,
    pub ssh: SshKeys,
}

impl TerminalSettings {
    pub fn read(config: &Config, home: &Home) -> Result<Self, ConfigError> {
        let backend = config.string("terminal.backend")?;
        let backend = Backend::parse(&backend).unwrap_or(Backend::Local);
        let expand = |text: String| expand_home(&text, home);
        Ok(Self {
            backend,
            cwd: config.string("terminal.cwd")?,
            timeout: at_least_a_second(config, "terminal.timeout")?,
            max_foreground_timeout: max_foreground(config.environment()),
            lifetime: seconds(config.integer("terminal.lifetime_seconds")?),
            env_passthrough: config.strings("terminal.env_passthrough")?,
            credential_files: config.strings("terminal.credential_files")?,
            shell_init_files: config
                .strings("terminal.shell_init_files")?
                .into_iter()
                .map(expand)
                .collect(),
            auto_source_bashrc: config.bool("terminal.auto_source_bashrc")?,
            sandbox_dir: match config.optional_string("terminal.sandbox_dir")? {
                Some(path) => PathBuf::from(expand_home(&path, home)),
                None => home.join("sandboxes"),
            },
            sudo_password: match config.optional_string("terminal.sudo_password")? {
                Some(password) => Some(password),
                None => config.environment().get(SUDO_PASSWORD).map(str::to_owned),
            },
            max_output_chars: config
                .optional_integer("tool_output.max_bytes")
                .ok()
                .flatten()
                .and_then(|limit| usize::try_from(limit).ok())
                .filter(|limit| *limit > 0)
                .unwrap_or(50_000),
            ssh: SshKeys {
                host: config.optional_string("terminal.ssh_host")?,
                user: config.optional_string("terminal.ssh_user")?,
                port: u16::try_from(config.integer("terminal.ssh_port")?).unwrap_or(22),
                key: config
                    .optional_string("terminal.ssh_key")?
                    .map(|path| expand_home(&path, home)),
                sync_back: config
                    .optional_bool("terminal.ssh_sync_back")?
                    .unwrap_or(true),
            },
        })
    }
}

/// Nothing runs in no time at all, so 0 is a mistake and not a wish.
fn at_least_a_second(config: &Config, key: &str) -> Result<Duration, ConfigError> {
    match config.integer(key)? {
        count @ 1.. => Ok(seconds(count)),
        count => Err(ConfigError::NotAccepted {
            key: key.to_owned(),
            value: count.to_string(),
            expected: "a number of seconds above 0".to_owned(),
        }),
    }
}

fn seconds(count: i64) -> Duration {
    Duration::from_secs(u64::try_from(count).unwrap_or(0))
}

/// A bad value is not worth failing for: the cap is a convenience.
fn max_foreground(environment: &Environment) -> Duration {
    let configured = environment.get_non_empty(MAX_FOREGROUND_VARIABLE);
    let seconds = configured
        .and_then(|text| text.parse().ok())
        .filter(|seconds| *seconds > 0);
    if configured.is_some() && seconds.is_none() {
        tracing::warn!(
            "{MAX_FOREGROUND_VARIABLE} is not a whole number above 0; using {MAX_FOREGROUND}"
        );
    }
    Duration::from_secs(seconds.unwrap_or(MAX_FOREGROUND))
}

pub(super) fn is_variable_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// `~` and `~/x` of this machine.
pub(super) fn expand_home(text: &str, home: &Home) -> String {
    match text.strip_prefix('~') {
        Some("") => home.user_home().display().to_string(),
        Some(rest) if rest.starts_with('/') => {
            format!("{}{rest}", home.user_home().display())
        }
        _ => text.to_owned(),
    }
}
