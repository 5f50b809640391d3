//! `command_allowlist`: what a person allowed for good, kept in `config.yaml` and
//! shared with every other process that reads it.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use futures_util::future::BoxFuture;
use hermes_config::edit::{Change, change_config};
use hermes_config::{Config, ConfigError};
use hermes_home::{Environment, Home};
use serde_json::Value;

const KEY: &str = "command_allowlist";

/// Keys that a person allowed for good.
pub trait Allowlist: Send + Sync {
    fn contains(&self, key: &str) -> bool;
    /// Remembers the keys. What cannot be stored still holds in this process.
    fn add<'a>(&'a self, keys: &'a [String]) -> BoxFuture<'a, Result<(), String>>;
}

pub struct ConfigAllowlist {
    home: Home,
    environment: Environment,
    known: Mutex<BTreeSet<String>>,
}

impl ConfigAllowlist {
    pub fn read(
        home: Home,
        environment: Environment,
        config: &Config,
    ) -> Result<Self, ConfigError> {
        Ok(Self {
            home,
            environment,
            known: Mutex::new(config.strings(KEY)?.into_iter().collect()),
        })
    }

    fn known(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Allowlist for ConfigAllowlist {
    fn contains(&self, key: &str) -> bool {
        self.known().contains(key)
    }

    fn add<'a>(&'a self, keys: &'a [String]) -> BoxFuture<'a, Result<(), String>> {
        self.known().extend(keys.iter().cloned());
        let (home, environment, keys) =
            (self.home.clone(), self.environment.clone(), keys.to_vec());
        Box::pin(async move {
            tokio::task::spawn_blocking(move || store(&home, &environment, &keys))
                .await
                .map_err(|error| error.to_string())?
                .map_err(|error| error.to_string())
        })
    }
}

/// Adds to what the file says now, which another process may have changed; every
/// entry that is there stays, known to us or not.
fn store(home: &Home, environment: &Environment, keys: &[String]) -> Result<(), ConfigError> {
    let config = Config::load(home, environment, &[])?;
    let mut list: Vec<Value> = match config.raw().get(KEY) {
        Some(Value::Array(entries)) => entries.clone(),
        _ => Vec::new(),
    };
    for key in keys {
        if !list.iter().any(|entry| entry.as_str() == Some(key)) {
            list.push(Value::String(key.clone()));
        }
    }
    let change = Change::Set {
        path: KEY.to_owned(),
        value: Value::Array(list),
    };
    change_config(home, environment, &[change]).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn always_is_written_and_strange_entries_stay() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(directory.path(), directory.path());
        let text = "# mine\ncommand_allowlist:\n  - rm\\s+-rf # old\n  - 5\nmodel: {default: x}\n";
        std::fs::write(home.config_file(), text).unwrap();
        let environment = Environment::default();
        let config = Config::load(&home, &environment, &[]).unwrap();
        let list = ConfigAllowlist::read(home.clone(), environment.clone(), &config).unwrap();
        assert!(list.contains("rm\\s+-rf") && !list.contains("find -delete"));
        list.add(&["find -delete".to_owned(), "5".to_owned()])
            .await
            .unwrap();
        assert!(list.contains("find -delete"));
        let written = std::fs::read_to_string(home.config_file()).unwrap();
        assert!(written.starts_with("# mine\n"), "{written}");
        let again = Config::load(&home, &environment, &[]).unwrap();
        assert_eq!(
            again.strings(KEY).unwrap()[..3],
            ["rm\\s+-rf", "5", "find -delete"]
        );
    }
}
