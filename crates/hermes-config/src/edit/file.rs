//! Changes to the files of a home: under a lock, whole or absent, through symlinks.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Local};
use hermes_home::{Environment, FilePolicy, Home, HomeError, Lock, LockKind, write_atomic};
use serde_json::Value;

use super::{Refusal, set, unset};
use crate::dotenv;
use crate::error::ConfigError;
use crate::expand::keep_templates;
use crate::files::{LOCK, read_bytes, read_file, read_map};
use crate::layers::at;

/// One change to `config.yaml`.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    Set { path: String, value: Value },
    Unset { path: String },
}

/// Whether the file was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    Written,
    /// The file already said so.
    Unchanged,
}

/// Applies all changes to `config.yaml`, or none of them.
pub fn change_config(
    home: &Home,
    environment: &Environment,
    changes: &[Change],
) -> Result<Applied, ConfigError> {
    let policy = writable(home, environment)?;
    let file = home.config_file();
    let _lock = lock(home)?;
    let before = read_file(&file)?;
    let mut text = before.clone();
    for change in changes {
        // A file that cannot be read is not a file to start over from.
        let (_, tree) = read_map(&text, &file)?;
        text = apply(&text, &Value::Object(tree), environment, change).map_err(|refusal| {
            let (Change::Set { path, .. } | Change::Unset { path }) = change;
            refused(refusal, path, &file)
        })?;
    }
    if text == before {
        return Ok(Applied::Unchanged);
    }
    write(&file, text.as_bytes(), &policy)?;
    Ok(Applied::Written)
}

fn apply(
    text: &str,
    tree: &Value,
    environment: &Environment,
    change: &Change,
) -> Result<String, Refusal> {
    match change {
        Change::Set { path, value } => {
            let mut value = value.clone();
            if let Some(current) = at(tree, path) {
                keep_templates(&mut value, current, environment);
                if value == *current {
                    return Ok(text.to_owned());
                }
            }
            set(text, path, &value)
        }
        Change::Unset { path } => Ok(unset(text, path)?.unwrap_or_else(|| text.to_owned())),
    }
}

/// Sets (or, with `None`, removes) variables in `.env`.
pub fn change_dotenv(
    home: &Home,
    environment: &Environment,
    changes: &[(&str, Option<&str>)],
) -> Result<Applied, ConfigError> {
    let policy = writable(home, environment)?;
    let file = home.env_file();
    let _lock = lock(home)?;
    let bytes = read_bytes(&file)?;
    // A file in an older encoding keeps it: every byte is one character.
    let (before, older) = match String::from_utf8(bytes) {
        Ok(text) => (text, false),
        Err(error) => (
            error.as_bytes().iter().map(|b| char::from(*b)).collect(),
            true,
        ),
    };
    let mut text = dotenv::repair(&before).unwrap_or_else(|| before.clone());
    for (name, value) in changes {
        text = match value {
            Some(value) => dotenv::set(&text, name, value)?,
            None => dotenv::remove(&text, name).unwrap_or(text),
        };
    }
    if text == before {
        return Ok(Applied::Unchanged);
    }
    let bytes = if older {
        let bytes: Result<Vec<u8>, _> = text.chars().map(|c| u8::try_from(u32::from(c))).collect();
        bytes.map_err(|_| ConfigError::Broken {
            file: file.clone(),
            line: 1,
            column: 1,
            reason: "the file is not UTF-8 text and cannot hold the new value".to_owned(),
        })?
    } else {
        text.into_bytes()
    };
    write(&file, &bytes, &policy)?;
    Ok(Applied::Written)
}

/// Copies a `config.yaml` that cannot be read to `config.yaml.corrupt.<time>.bak`,
/// unless it is a symlink, empty, or a copy of the same size is there already.
pub fn backup_broken(home: &Home, now: DateTime<Local>) -> io::Result<Option<PathBuf>> {
    let file = home.config_file();
    let meta = file.symlink_metadata()?;
    if !meta.is_file() || meta.len() == 0 {
        return Ok(None);
    }
    for entry in fs::read_dir(home.path())? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("config.yaml.corrupt.")
            && name.ends_with(".bak")
            && entry.metadata()?.len() == meta.len()
        {
            return Ok(None);
        }
    }
    let copy = home.join(format!(
        "config.yaml.corrupt.{}.bak",
        now.format("%Y%m%d-%H%M%S")
    ));
    fs::copy(&file, &copy)?;
    Ok(Some(copy))
}

fn writable(home: &Home, environment: &Environment) -> Result<FilePolicy, ConfigError> {
    let policy = FilePolicy::of(environment, home);
    if let Some(managed) = policy.managed() {
        return Err(ConfigError::Managed {
            manager: managed.manager.clone(),
        });
    }
    policy
        .create_dir(home.path())
        .map_err(|error| ConfigError::Unwritable {
            file: home.path().to_owned(),
            error: match error {
                HomeError::Io { source, .. } => source,
                other => io::Error::other(other.to_string()),
            },
        })?;
    Ok(policy)
}

fn lock(home: &Home) -> Result<Lock, ConfigError> {
    let file = home.join(LOCK);
    Lock::acquire(&file, LockKind::Exclusive)
        .map_err(|error| ConfigError::Unwritable { file, error })
}

fn write(file: &Path, content: &[u8], policy: &FilePolicy) -> Result<(), ConfigError> {
    write_atomic(file, content, policy.secret_file()).map_err(|error| ConfigError::Unwritable {
        file: file.to_owned(),
        error,
    })?;
    policy.adopt(file);
    Ok(())
}

fn refused(refusal: Refusal, path: &str, file: &Path) -> ConfigError {
    match refusal {
        Refusal::Broken(syntax) => ConfigError::Broken {
            file: file.to_owned(),
            line: syntax.line,
            column: syntax.column,
            reason: syntax.reason,
        },
        Refusal::Path(reason) => ConfigError::BadKey {
            key: path.to_owned(),
            reason,
        },
        Refusal::NotEditable => ConfigError::NotEditable {
            key: path.to_owned(),
            file: file.to_owned(),
        },
    }
}
