//! What is to be said about a profile, gathered once for text and JSON.

use std::fs;
use std::path::Path;

use hermes_config::{Config, ConfigError, yaml};
use hermes_home::profile::Wrappers;
use hermes_home::{Environment, Home};
use hermes_types::ProfileName;
use serde::Serialize;
use serde_json::Value;

use crate::gateway_process;
use crate::{CommandError, Context};

#[derive(Debug, Serialize)]
pub(crate) struct Facts {
    pub(crate) name: String,
    pub(crate) path: String,
    /// The profile that this call works in.
    pub(crate) current: bool,
    pub(crate) model: Option<String>,
    pub(crate) provider: Option<String>,
    pub(crate) gateway: Gateway,
    pub(crate) skills: usize,
    pub(crate) alias: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) distribution: Option<Distribution>,
    /// Whether `.env` and `SOUL.md` are there.
    pub(crate) env_file: bool,
    pub(crate) soul: bool,
    /// Why the config could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) config_error: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Gateway {
    pub(crate) running: bool,
    pub(crate) pid: Option<i32>,
}

impl Gateway {
    pub(crate) fn of(home: &Home) -> Self {
        let pid = gateway_process::running(home).map(|identity| identity.pid);
        Self {
            running: pid.is_some(),
            pid,
        }
    }

    pub(crate) fn text(&self) -> String {
        match self.pid {
            Some(pid) => format!("running (pid {pid})"),
            None => "stopped".to_owned(),
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Distribution {
    pub(crate) name: String,
    pub(crate) version: Option<String>,
    pub(crate) source: Option<String>,
}

impl Facts {
    pub(crate) fn gather(name: &ProfileName, context: &Context) -> Self {
        let home = context.home.of_profile(name);
        let (model, provider, config_error) = match model_of(&home, &context.environment) {
            Ok((model, provider)) => (model, provider, None),
            Err(error) => (None, None, Some(error.to_string())),
        };
        Self {
            name: name.to_string(),
            path: home.path().display().to_string(),
            current: context.home.path() == home.path(),
            model,
            provider,
            gateway: Gateway::of(&home),
            skills: count_skills(&home.join("skills")),
            alias: Wrappers::new(&home, &context.environment).alias_of(name),
            description: description(&home).unwrap_or_default(),
            distribution: distribution(&home),
            env_file: home.env_file().is_file(),
            soul: home.join("SOUL.md").is_file(),
            config_error,
        }
    }

    pub(crate) fn model_text(&self) -> Option<String> {
        let model = self.model.as_ref()?;
        Some(match &self.provider {
            Some(provider) => format!("{model} ({provider})"),
            None => model.clone(),
        })
    }
}

impl Distribution {
    pub(crate) fn text(&self) -> String {
        match &self.version {
            Some(version) => format!("{} {version}", self.name),
            None => self.name.clone(),
        }
    }
}

/// The model and provider that a profile's own files choose.
fn model_of(
    home: &Home,
    environment: &Environment,
) -> Result<(Option<String>, Option<String>), ConfigError> {
    let config = Config::load(home, environment, &[])?;
    let text = |key: &str| match config.get(key) {
        Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
        _ => None,
    };
    // `model` may be the id itself or a map with the id under either name.
    let model = text("model")
        .or_else(|| text("model.default"))
        .or_else(|| text("model.model"));
    Ok((model, text("model.provider")))
}

/// How many skills a directory holds. Hidden directories are archives and caches.
pub(crate) fn count_skills(directory: &Path) -> usize {
    /// Category, group, skill; nothing is nested deeper.
    const DEPTH: usize = 6;
    fn walk(directory: &Path, depth: usize) -> usize {
        let Ok(entries) = fs::read_dir(directory) else {
            return 0;
        };
        entries
            .flatten()
            .map(|entry| {
                let name = entry.file_name();
                if name == "SKILL.md" {
                    1
                } else if depth > 0
                    && !name.to_string_lossy().starts_with('.')
                    && entry
                        .file_type()
                        .is_ok_and(|kind| kind.is_dir() || kind.is_symlink())
                {
                    walk(&entry.path(), depth - 1)
                } else {
                    0
                }
            })
            .sum()
    }
    walk(directory, DEPTH)
}

/// `description` of `profile.yaml`.
pub(super) fn description(home: &Home) -> Result<Option<String>, CommandError> {
    let map = read_map(&home.join("profile.yaml"))?;
    let text = map
        .get("description")
        .and_then(Value::as_str)
        .map(str::trim);
    Ok(text.filter(|text| !text.is_empty()).map(str::to_owned))
}

fn distribution(home: &Home) -> Option<Distribution> {
    let path = home.join("distribution.yaml");
    if !path.is_file() {
        return None;
    }
    let map = read_map(&path).unwrap_or_default();
    let text = |key: &str| match map.get(key) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    Some(Distribution {
        name: text("name").unwrap_or_else(|| home.profile_name()),
        version: text("version"),
        source: text("source"),
    })
}

/// The map in a small YAML file; empty when there is none.
pub(super) fn read_map(path: &Path) -> Result<serde_json::Map<String, Value>, CommandError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Default::default()),
        Err(error) => {
            return Err(
                CommandError::from(error).context(format!("cannot read {}", path.display()))
            );
        }
    };
    let value = yaml::parse(&text)
        .and_then(|document| document.value())
        .map_err(|syntax| {
            CommandError::user(format!(
                "{}:{}:{}: {}",
                path.display(),
                syntax.line,
                syntax.column,
                syntax.reason
            ))
        })?;
    match value {
        Value::Object(map) => Ok(map),
        Value::Null => Ok(Default::default()),
        _ => Err(CommandError::user(format!(
            "{} does not hold `key: value` lines",
            path.display()
        ))),
    }
}
