//! From an older layout of `config.yaml` to the newest. A migration writes only what
//! one of its steps changes, and the version; defaults are never written out.
//!
//! Steps below version 20 are not carried over: what they moved is still read where
//! it stands, or is named by [`Migration::notes`].

use std::fs;

use hermes_home::Home;
use serde_json::Value;

use crate::config::Config;
use crate::edit::Change;
use crate::keys::CONFIG_VERSION;
use crate::layers::at;

/// What has to happen to reach the newest layout.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Migration {
    pub from: i64,
    pub to: i64,
    pub changes: Vec<Change>,
    /// What each step does, in words.
    pub steps: Vec<String>,
    /// Old keys that nothing moves any more.
    pub notes: Vec<String>,
}

/// The version of the layout that this program writes.
pub fn newest() -> i64 {
    CONFIG_VERSION
}

/// The version that a file declares; a file without one is version 0, and a home
/// without a file is up to date.
pub fn version(config: &Config, home: &Home) -> i64 {
    if !home.config_file().exists() {
        return CONFIG_VERSION;
    }
    match config.raw().get("_config_version") {
        Some(Value::Number(number)) => number.as_i64().unwrap_or(0),
        Some(Value::String(text)) => text.trim().parse().unwrap_or(0),
        _ => 0,
    }
}

/// Plans the migration of a home's file; nothing is changed yet.
pub fn plan(config: &Config, home: &Home) -> Migration {
    let from = version(config, home);
    let mut migration = Migration {
        from,
        to: CONFIG_VERSION.max(from),
        ..Migration::default()
    };
    if from >= CONFIG_VERSION {
        return migration;
    }
    let raw = config.raw();
    if from < 20 {
        migration.notes = old_keys(raw);
    }
    if from < 21 {
        enable_installed_plugins(raw, home, &mut migration);
    }
    if from < 25 && at(raw, "model_catalog.ttl_hours").and_then(Value::as_i64) == Some(24) {
        migration.set("model_catalog.ttl_hours", Value::from(1));
        migration
            .steps
            .push("`model_catalog.ttl_hours` goes from 24 to 1".to_owned());
    }
    migration.set("_config_version", Value::from(CONFIG_VERSION));
    migration
}

impl Migration {
    fn set(&mut self, path: &str, value: Value) {
        self.changes.push(Change::Set {
            path: path.to_owned(),
            value,
        });
    }
}

/// Plugins became opt-in; those that are installed stay enabled.
fn enable_installed_plugins(raw: &Value, home: &Home, migration: &mut Migration) {
    if at(raw, "plugins.enabled").is_some_and(|value| !value.is_null()) {
        return;
    }
    let disabled: Vec<&str> = at(raw, "plugins.disabled")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let Ok(entries) = fs::read_dir(home.join("plugins")) else {
        return;
    };
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok())
        // Providers of models are no plugins that are switched on.
        .filter(|name| !name.starts_with(['.', '_']) && name != "model-providers")
        .filter(|name| !disabled.contains(&name.as_str()))
        .collect();
    if names.is_empty() {
        return;
    }
    names.sort();
    migration.steps.push(format!(
        "`plugins.enabled` lists the installed plugins: {}",
        names.join(", ")
    ));
    migration.set("plugins.enabled", Value::from(names));
}

fn old_keys(raw: &Value) -> Vec<String> {
    const MOVED: [(&str, &str); 6] = [
        ("custom_providers", "providers"),
        ("stt.model", "stt.<provider>.model"),
        (
            "display.tool_progress_overrides",
            "display.platforms.<name>.tool_progress",
        ),
        ("compression.summary_model", "auxiliary.compression.model"),
        (
            "compression.summary_provider",
            "auxiliary.compression.provider",
        ),
        (
            "compression.summary_base_url",
            "auxiliary.compression.base_url",
        ),
    ];
    MOVED
        .iter()
        .filter(|(old, _)| at(raw, old).is_some())
        .map(|(old, new)| format!("`{old}` is an old name; the new one is `{new}`"))
        .collect()
}
