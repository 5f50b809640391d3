//! What a container is made from: the settings, the hash that names them, and
//! how two sets differ.
//!
//! Secrets stay out: of `docker_env` only the names count.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::labels::short_hash;

/// Everything `docker run` needs to know, decided before any engine is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct ContainerSettings {
    pub image: String,
    /// Where commands start inside.
    pub working_directory: String,
    /// Cores; 0 is no limit.
    pub cpus: f64,
    /// Megabytes; 0 is no limit.
    pub memory_mb: u64,
    /// Megabytes; 0 is no limit.
    pub disk_mb: u64,
    /// `/root` and `/workspace` are directories of the host, not memory.
    pub persistent_files: bool,
    /// A directory of the host to appear as `/workspace`.
    pub host_workspace: Option<PathBuf>,
    /// `source:target[:mode]`, as `-v` takes them.
    pub volumes: Vec<String>,
    pub share: HomeShare,
    /// Literal variables for every process inside.
    pub environment: BTreeMap<String, String>,
    pub extra_arguments: Vec<String>,
    pub run_as: Option<HostUser>,
    pub network: bool,
}

/// What the sandbox may read of the home: skills, caches, credential files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HomeShare {
    pub home: PathBuf,
    pub external_skills: Vec<PathBuf>,
    /// Relative to the home.
    pub credential_files: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOnlyMount {
    pub source: PathBuf,
    pub target: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostUser {
    pub uid: u32,
    pub gid: u32,
}

/// How a container is shared, kept and given up.
#[derive(Clone, Debug, PartialEq)]
pub struct LifeSettings {
    pub persist: Persist,
    pub on_drift: OnDrift,
    pub orphan_reaper: bool,
    /// An idle environment is let go after this long.
    pub lifetime: Duration,
    /// Stop a running container that nobody used for this long.
    pub idle_stop: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persist {
    /// Found again by labels, left running when we exit.
    AcrossProcesses,
    /// Made for this process, removed with it.
    WithProcess,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDrift {
    Warn,
    Recreate,
}

/// Settings by name, as text: what is hashed, remembered and compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Spec(pub BTreeMap<String, String>);

/// One setting that a container does not have as configured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Drift {
    pub setting: String,
    pub container: String,
    pub config: String,
}

impl ContainerSettings {
    pub fn spec(&self) -> Spec {
        let mut volumes = self.volumes.clone();
        if let Some(directory) = &self.host_workspace {
            volumes.push(format!("{}:/workspace", directory.display()));
        }
        volumes.sort();
        let names: Vec<&str> = self.environment.keys().map(String::as_str).collect();
        let user = self.run_as.map_or_else(
            || "image default".to_owned(),
            |u| format!("{}:{}", u.uid, u.gid),
        );
        Spec(BTreeMap::from([
            ("docker_image".to_owned(), self.image.clone()),
            ("container_cpu".to_owned(), format!("{}", self.cpus)),
            ("container_memory".to_owned(), self.memory_mb.to_string()),
            ("container_disk".to_owned(), self.disk_mb.to_string()),
            (
                "container_persistent".to_owned(),
                self.persistent_files.to_string(),
            ),
            ("docker_volumes".to_owned(), volumes.join(" ")),
            ("docker_env names".to_owned(), names.join(" ")),
            (
                "docker_extra_args".to_owned(),
                self.extra_arguments.join(" "),
            ),
            ("docker_run_as_host_user".to_owned(), user),
            ("docker_network".to_owned(), self.network.to_string()),
        ]))
    }
}

impl Spec {
    /// The value of the label `hermes-spec`.
    pub fn hash(&self) -> String {
        let mut text = String::new();
        for (name, value) in &self.0 {
            text.push_str(&format!("{name}={}:{value}\n", value.len()));
        }
        short_hash(text.as_bytes())
    }

    /// What differs in `config`, of the settings that `self`, the container, is
    /// known to have.
    pub fn drift_to(&self, config: &Spec) -> Vec<Drift> {
        config
            .0
            .iter()
            .filter_map(|(setting, wanted)| {
                let has = self.0.get(setting)?;
                (has != wanted).then(|| Drift {
                    setting: setting.clone(),
                    container: has.clone(),
                    config: wanted.clone(),
                })
            })
            .collect()
    }
}

impl std::fmt::Display for Drift {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}: container has `{}`, configuration says `{}`",
            self.setting, self.container, self.config
        )
    }
}

#[cfg(test)]
pub(crate) fn plain_settings() -> ContainerSettings {
    ContainerSettings {
        image: "sandbox-image:latest".to_owned(),
        working_directory: "/root".to_owned(),
        cpus: 1.0,
        memory_mb: 5120,
        disk_mb: 0,
        persistent_files: true,
        host_workspace: None,
        volumes: Vec::new(),
        share: HomeShare::default(),
        environment: BTreeMap::new(),
        extra_arguments: Vec::new(),
        run_as: None,
        network: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_changed_limit_is_named_with_both_values() {
        let old = plain_settings();
        let mut new = old.clone();
        assert_eq!(old.spec().hash(), new.spec().hash());
        new.memory_mb = 8192;
        assert_ne!(old.spec().hash(), new.spec().hash());
        assert_eq!(
            old.spec().drift_to(&new.spec()),
            vec![Drift {
                setting: "container_memory".to_owned(),
                container: "5120".to_owned(),
                config: "8192".to_owned(),
            }]
        );
    }

    #[test]
    fn a_secret_value_is_in_no_spec_but_its_name_is() {
        let mut settings = plain_settings();
        settings
            .environment
            .insert("TOKEN".to_owned(), "hunter2".to_owned());
        let spec = settings.spec();
        assert_eq!(spec.0["docker_env names"], "TOKEN");
        assert!(!spec.0.values().any(|value| value.contains("hunter2")));
    }
}
