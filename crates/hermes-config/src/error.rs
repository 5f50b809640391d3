//! What can go wrong with configuration, each as one sentence that names the place
//! and the remedy.

use std::io;
use std::path::PathBuf;

use crate::Source;

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{}:{line}:{column}: {reason}", file.display())]
    Broken {
        file: PathBuf,
        line: usize,
        column: usize,
        reason: String,
    },
    #[error("cannot read {}: {error}", file.display())]
    Unreadable { file: PathBuf, error: io::Error },
    #[error("cannot write {}: {error}", file.display())]
    Unwritable { file: PathBuf, error: io::Error },
    #[error("`{key}` is {value} ({source_text}), but must be {expected}")]
    WrongType {
        key: String,
        value: String,
        source_text: String,
        expected: String,
    },
    #[error("`{value}` does not fit `{key}`, which must be {expected}")]
    NotAccepted {
        key: String,
        value: String,
        expected: String,
    },
    #[error("`{key}` is not set and has no default")]
    Missing { key: String },
    #[error("unknown key `{key}`{}", did_you_mean(*suggestion))]
    UnknownKey {
        key: String,
        suggestion: Option<&'static str>,
    },
    #[error("`{text}` is not of the form `key=value`")]
    BadOverride { text: String },
    #[error("`{key}` is not a usable key: {reason}")]
    BadKey { key: String, reason: String },
    #[error("`{key}` cannot be changed without rewriting other lines of {}; change it by hand with `hermes config edit`", file.display())]
    NotEditable { key: String, file: PathBuf },
    #[error("`{name}` cannot be kept in .env: {reason}")]
    RefusedVariable { name: String, reason: &'static str },
    #[error(
        "this installation is managed by {manager}, which owns its configuration; change it there"
    )]
    Managed { manager: String },
}

fn did_you_mean(suggestion: Option<&'static str>) -> String {
    suggestion.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

impl ConfigError {
    pub(crate) fn wrong_type(key: &str, shown: String, source: &Source, expected: String) -> Self {
        ConfigError::WrongType {
            key: key.to_owned(),
            value: shown,
            source_text: source.to_string(),
            expected,
        }
    }
}
