//! The docker part of `terminal.*` as values.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_config::{Config, ConfigError};
use hermes_home::Home;
use serde_json::Value;

use super::container::Plan;
use super::find::Whose;
use super::labels::Identity;
use super::place::Place;
use super::settings::{ContainerSettings, HomeShare, HostUser, LifeSettings, OnDrift, Persist};

const DEFAULT_DIRECTORY: &str = "/root";
const WORKSPACE: &str = "/workspace";

/// Words for "wherever Hermes was started", which means nothing in a container.
const PLACEHOLDERS: &[&str] = &["", ".", "auto", "cwd"];

/// Beginnings of paths that exist on hosts and not in containers.
const HOST_PREFIXES: &[&str] = &["/Users/", "/home/", "C:\\", "C:/"];

/// What the process that asks knows and configuration does not.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Where the process was started, if that still exists.
    pub directory: Option<PathBuf>,
    pub user: HostUser,
}

/// Configuration, read once.
#[derive(Clone, Debug)]
pub struct DockerConfig {
    pub plan: Plan,
    /// Variables for the first shell of a session: forwarded and literal ones.
    pub session_environment: Vec<(String, String)>,
    /// Entries that could not be used, as sentences.
    pub warnings: Vec<String>,
}

impl DockerConfig {
    pub fn read(
        config: &Config,
        home: &Home,
        container_key: &str,
        around: &Surroundings,
    ) -> Result<Self, ConfigError> {
        let mut warnings = Vec::new();
        let cwd = config.string("terminal.cwd")?;
        let mount_cwd = config.bool("terminal.docker_mount_cwd_to_workspace")?;
        let host_workspace = mount_cwd
            .then(|| host_workspace(&cwd, around.directory.as_deref()))
            .flatten();
        let working_directory = match &host_workspace {
            Some(_) => WORKSPACE.to_owned(),
            None => inside(&cwd),
        };
        let sandbox_dir = match config.optional_string("terminal.sandbox_dir")? {
            Some(text) => expand(&text, home.user_home()),
            None => home.join("sandboxes"),
        };
        let environment = literal_variables(config, &mut warnings);
        let settings = ContainerSettings {
            image: config.string("terminal.docker_image")?,
            working_directory,
            cpus: config.float("terminal.container_cpu")?,
            memory_mb: megabytes(config, "terminal.container_memory")?,
            disk_mb: megabytes(config, "terminal.container_disk")?,
            persistent_files: config.bool("terminal.container_persistent")?,
            host_workspace,
            volumes: volumes(config, &mut warnings)?,
            share: HomeShare::read(config, home)?,
            environment: environment.iter().cloned().collect(),
            extra_arguments: config.strings("terminal.docker_extra_args")?,
            run_as: config
                .bool("terminal.docker_run_as_host_user")?
                .then_some(around.user),
            network: config.bool("terminal.docker_network")?,
        };
        let mut session_environment = environment;
        forward(config, &mut session_environment)?;
        Ok(Self {
            plan: Plan {
                whose: Whose {
                    identity: Identity::new(container_key, &profile_label(home), home.path()),
                    home: home.path().to_owned(),
                    place: Place::new(&sandbox_dir, container_key),
                },
                settings,
                life: life(config)?,
            },
            session_environment,
            warnings,
        })
    }
}

impl HomeShare {
    pub fn read(config: &Config, home: &Home) -> Result<Self, ConfigError> {
        let external = config.strings("skills.external_dirs")?;
        Ok(Self {
            home: home.path().to_owned(),
            external_skills: external
                .iter()
                .map(|text| expand(text, home.user_home()))
                .collect(),
            credential_files: config.strings("terminal.credential_files")?,
        })
    }
}

/// The reference calls every home that is not below `profiles/` the default one.
fn profile_label(home: &Home) -> String {
    match home.profile_name() {
        name if name == "custom" => "default".to_owned(),
        name => name,
    }
}

fn life(config: &Config) -> Result<LifeSettings, ConfigError> {
    let lifetime = config.integer("terminal.lifetime_seconds")?;
    let idle_hours = config.float("terminal.docker_idle_stop_hours")?;
    Ok(LifeSettings {
        persist: match config.bool("terminal.docker_persist_across_processes")? {
            true => Persist::AcrossProcesses,
            false => Persist::WithProcess,
        },
        on_drift: match config.string("terminal.docker_on_drift")?.as_str() {
            "recreate" => OnDrift::Recreate,
            _ => OnDrift::Warn,
        },
        orphan_reaper: config.bool("terminal.docker_orphan_reaper")?,
        lifetime: Duration::from_secs(u64::try_from(lifetime).unwrap_or(0)),
        idle_stop: (idle_hours > 0.0)
            .then(|| Duration::try_from_secs_f64(idle_hours * 3600.0).ok())
            .flatten(),
    })
}

fn megabytes(config: &Config, key: &str) -> Result<u64, ConfigError> {
    Ok(u64::try_from(config.integer(key)?).unwrap_or(0))
}

/// Where commands start in a container, given what `terminal.cwd` says.
fn inside(cwd: &str) -> String {
    let usable = cwd.starts_with('/') && !HOST_PREFIXES.iter().any(|p| cwd.starts_with(p));
    if usable { cwd } else { DEFAULT_DIRECTORY }.to_owned()
}

/// The directory of the host that becomes `/workspace`.
fn host_workspace(cwd: &str, started_in: Option<&Path>) -> Option<PathBuf> {
    let source = if PLACEHOLDERS.contains(&cwd) {
        started_in?.to_owned()
    } else {
        PathBuf::from(cwd)
    };
    let inside_already = source.starts_with(WORKSPACE) || source.starts_with(DEFAULT_DIRECTORY);
    (source.is_absolute() && source.is_dir() && !inside_already).then_some(source)
}

fn expand(text: &str, user_home: &Path) -> PathBuf {
    match text.strip_prefix("~/") {
        Some(rest) => user_home.join(rest),
        None if text == "~" => user_home.to_owned(),
        None => PathBuf::from(text),
    }
}

fn volumes(config: &Config, warnings: &mut Vec<String>) -> Result<Vec<String>, ConfigError> {
    let mut usable = Vec::new();
    for entry in config.strings("terminal.docker_volumes")? {
        let entry = entry.trim().to_owned();
        if entry.contains(':') {
            usable.push(entry);
        } else if !entry.is_empty() {
            warnings.push(format!(
                "`terminal.docker_volumes`: `{entry}` is not of the form `host:container` and is left out"
            ));
        }
    }
    Ok(usable)
}

/// `docker_env`, sorted by name.
fn literal_variables(config: &Config, warnings: &mut Vec<String>) -> Vec<(String, String)> {
    let section = config.section("terminal.docker_env");
    let Value::Object(entries) = section else {
        return Vec::new();
    };
    let mut variables = Vec::new();
    for (name, value) in entries {
        let text = match value {
            Value::String(text) => text,
            Value::Number(number) => number.to_string(),
            Value::Bool(true) => "True".to_owned(),
            Value::Bool(false) => "False".to_owned(),
            _ => {
                warnings.push(format!(
                    "`terminal.docker_env`: the value of `{name}` is not a text and is left out"
                ));
                continue;
            }
        };
        if is_name(&name) {
            variables.push((name, text));
        } else {
            warnings.push(format!(
                "`terminal.docker_env`: `{name}` is not a name for a variable and is left out"
            ));
        }
    }
    variables.sort();
    variables
}

/// `docker_forward_env`: values from the environment or `.env`; empty ones stay out.
/// So do the variables that commands may see, unless they are credentials of ours.
fn forward(config: &Config, environment: &mut Vec<(String, String)>) -> Result<(), ConfigError> {
    let mut names = config.strings("terminal.docker_forward_env")?;
    let visible = config.strings("terminal.env_passthrough")?;
    names.extend(crate::settings::environment::passthrough(
        visible.iter().map(String::as_str),
    ));
    for name in names {
        let value = config.environment().get(&name).unwrap_or_default();
        if is_name(&name) && !value.is_empty() && !environment.iter().any(|(n, _)| *n == name) {
            environment.push((name, value.to_owned()));
        }
    }
    Ok(())
}

pub(crate) fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes
        .next()
        .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn read(yaml: &str, directory: Option<&Path>) -> DockerConfig {
        let config = Config::from_yaml(yaml).expect("yaml");
        let home = Home::at("/srv/h/profiles/builder", "/srv/h");
        let around = Surroundings {
            directory: directory.map(Path::to_owned),
            user: HostUser {
                uid: 1000,
                gid: 1001,
            },
        };
        DockerConfig::read(&config, &home, "default", &around).expect("reads")
    }

    #[test]
    fn the_defaults_are_those_of_the_table() {
        let read = read("", None);
        let settings = &read.plan.settings;
        assert_eq!(settings.working_directory, "/root");
        assert_eq!(
            (settings.cpus, settings.memory_mb, settings.disk_mb),
            (1.0, 5120, 51200)
        );
        assert!(settings.persistent_files && settings.network && settings.run_as.is_none());
        assert_eq!(read.plan.life.persist, Persist::AcrossProcesses);
        assert_eq!(read.plan.life.idle_stop, None);
        assert_eq!(read.plan.whose.identity.profile, "builder");
        assert_eq!(
            read.plan.whose.place.directory(),
            Path::new("/srv/h/profiles/builder/sandboxes/docker/default")
        );
        assert_eq!(read.warnings, Vec::<String>::new());
    }

    #[test]
    fn a_directory_of_the_host_is_not_one_of_the_container() {
        for (cwd, expected) in [
            (".", "/root"),
            ("/home/u/p", "/root"),
            ("src", "/root"),
            ("/srv/x", "/srv/x"),
        ] {
            let read = read(&format!("terminal: {{cwd: '{cwd}'}}"), None);
            assert_eq!(read.plan.settings.working_directory, expected, "{cwd}");
        }
        let project = tempfile::tempdir().expect("tempdir");
        let yaml = "terminal: {docker_mount_cwd_to_workspace: true}";
        let mounted = read(yaml, Some(project.path())).plan.settings;
        assert_eq!(mounted.working_directory, "/workspace");
        assert_eq!(mounted.host_workspace.as_deref(), Some(project.path()));
    }

    #[test]
    fn lists_may_be_json_texts_and_odd_entries_are_told() {
        let read = read(
            r#"
terminal:
  docker_volumes: '["/a:/b", "nonsense"]'
  docker_env: {ZED: 1, ALPHA: two words, FLAG: true, BAD-NAME: x, LIST: [1]}
  docker_extra_args: ["--hostname", "x"]
  docker_run_as_host_user: true
  docker_on_drift: recreate
  docker_idle_stop_hours: 1.5
"#,
            None,
        );
        let settings = &read.plan.settings;
        assert_eq!(settings.volumes, ["/a:/b"]);
        let names: Vec<(&str, &str)> = settings
            .environment
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(
            names,
            [("ALPHA", "two words"), ("FLAG", "True"), ("ZED", "1")]
        );
        assert_eq!(settings.extra_arguments, ["--hostname", "x"]);
        assert_eq!(
            settings.run_as,
            Some(HostUser {
                uid: 1000,
                gid: 1001
            })
        );
        assert_eq!(read.plan.life.on_drift, OnDrift::Recreate);
        assert_eq!(read.plan.life.idle_stop, Some(Duration::from_secs(5400)));
        assert_eq!(read.warnings.len(), 3);
    }
}
