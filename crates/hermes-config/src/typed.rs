//! Reading one key as the type it has. A value that does not fit is an error that
//! names key, value, origin and what was expected; it is never replaced by a default.

use serde_json::Value;

use crate::coerce::{boolean, coerce, expected, float, integer};
use crate::config::Config;
use crate::error::ConfigError;
use crate::keys::{Key, Type, key};
use crate::source::Source;

impl Config {
    /// Text; empty when the key is unset or null.
    pub fn string(&self, path: &str) -> Result<String, ConfigError> {
        Ok(self.optional_string(path)?.unwrap_or_default())
    }

    /// Text; `None` when the key is unset, null or empty.
    pub fn optional_string(&self, path: &str) -> Result<Option<String>, ConfigError> {
        let Some(value) = self.checked(path)? else {
            return Ok(None);
        };
        match value {
            Value::String(text) => Ok(Some(text).filter(|text| !text.is_empty())),
            Value::Bool(value) => Ok(Some(value.to_string())),
            Value::Number(value) => Ok(Some(value.to_string())),
            other => Err(self.refuse(path, &other, Type::String)),
        }
    }

    /// A truth value; false when the key is unset and has no default.
    pub fn bool(&self, path: &str) -> Result<bool, ConfigError> {
        Ok(self.optional_bool(path)?.unwrap_or(false))
    }

    pub fn optional_bool(&self, path: &str) -> Result<Option<bool>, ConfigError> {
        self.converted(path, boolean, Type::Bool)
    }

    /// A whole number; an error when the key is unset and has no default.
    pub fn integer(&self, path: &str) -> Result<i64, ConfigError> {
        self.optional_integer(path)?.ok_or_else(|| missing(path))
    }

    pub fn optional_integer(&self, path: &str) -> Result<Option<i64>, ConfigError> {
        self.converted(path, integer, Type::Integer)
    }

    /// A number; an error when the key is unset and has no default.
    pub fn float(&self, path: &str) -> Result<f64, ConfigError> {
        self.optional_float(path)?.ok_or_else(|| missing(path))
    }

    pub fn optional_float(&self, path: &str) -> Result<Option<f64>, ConfigError> {
        self.converted(path, float, Type::Float)
    }

    /// A list of texts; empty when the key is unset.
    pub fn strings(&self, path: &str) -> Result<Vec<String>, ConfigError> {
        let Some(value) = self.checked(path)? else {
            return Ok(Vec::new());
        };
        let Value::Array(items) = &value else {
            return Err(self.refuse(path, &value, Type::List));
        };
        items
            .iter()
            .map(|item| match item {
                Value::String(text) => Ok(text.clone()),
                Value::Number(number) => Ok(number.to_string()),
                Value::Bool(value) => Ok(value.to_string()),
                _ => Err(ConfigError::wrong_type(
                    path,
                    shown(&value, false),
                    &self.source(path),
                    "a list of texts".to_owned(),
                )),
            })
            .collect()
    }

    /// Values by name; empty when the key is unset.
    pub fn map(&self, path: &str) -> Result<serde_json::Map<String, Value>, ConfigError> {
        match self.checked(path)? {
            None => Ok(serde_json::Map::new()),
            Some(Value::Object(map)) => Ok(map),
            Some(other) => Err(self.refuse(path, &other, Type::Map)),
        }
    }

    /// Everything that does not fit its type: sections that are none, and keys.
    pub fn misfits(&self) -> Vec<ConfigError> {
        let mut misfits: Vec<ConfigError> = Vec::new();
        for row in crate::keys() {
            let error = match self.check_parents(row.name) {
                Err(error) => Some(error),
                Ok(()) if self.is_set(row.name) => self.checked(row.name).err(),
                Ok(()) => None,
            };
            // One section in the wrong shape stands for all of its keys.
            if let Some(error) = error
                && !misfits.iter().any(|known| same_key(known, &error))
            {
                misfits.push(error);
            }
        }
        misfits
    }

    fn converted<T>(
        &self,
        path: &str,
        convert: impl Fn(&Value) -> Option<T>,
        kind: Type,
    ) -> Result<Option<T>, ConfigError> {
        match self.checked(path)? {
            None => Ok(None),
            Some(value) => match convert(&value) {
                Some(converted) => Ok(Some(converted)),
                None => Err(self.refuse(path, &value, kind)),
            },
        }
    }

    /// The value as the table's type wants it; an explicit null means the default.
    fn checked(&self, path: &str) -> Result<Option<Value>, ConfigError> {
        self.check_parents(path)?;
        let row = key(path);
        let Some(value) = self.get(path) else {
            return Ok(row
                .filter(|row| !row.nullable)
                .and_then(|row| row.default.value())
                .filter(|value| !value.is_null()));
        };
        let Some(row) = row else {
            return Ok(Some(value.clone()));
        };
        match coerce(row, value) {
            // Where only some words count, none is as good as unset.
            Some(Value::String(text)) if text.is_empty() && !row.choices.is_empty() => {
                Ok(row.default.value())
            }
            Some(value) => Ok(Some(value)),
            None => Err(ConfigError::wrong_type(
                path,
                shown(value, row.secret),
                &self.source(path),
                expected(row),
            )),
        }
    }

    /// `terminal: docker` hides every key of that section; reading one of them must
    /// not quietly yield a default.
    fn check_parents(&self, path: &str) -> Result<(), ConfigError> {
        for (end, _) in path.match_indices('.') {
            let parent = &path[..end];
            match self.get(parent) {
                None | Some(Value::Object(_) | Value::Array(_)) => {}
                Some(value) => {
                    return Err(ConfigError::wrong_type(
                        parent,
                        shown(value, false),
                        &self.source(parent),
                        format!("a section with keys such as `{path}`"),
                    ));
                }
            }
        }
        Ok(())
    }

    fn refuse(&self, path: &str, value: &Value, kind: Type) -> ConfigError {
        let secret = key(path).is_some_and(|row: &Key| row.secret);
        ConfigError::wrong_type(
            path,
            shown(value, secret),
            &self.source(path),
            kind.expected().to_owned(),
        )
    }
}

impl Source {
    /// Whether the value is one that somebody chose.
    pub fn is_explicit(&self) -> bool {
        *self != Source::Default
    }
}

fn same_key(left: &ConfigError, right: &ConfigError) -> bool {
    matches!(
        (left, right),
        (ConfigError::WrongType { key: left, .. }, ConfigError::WrongType { key: right, .. })
            if left == right
    )
}

fn missing(path: &str) -> ConfigError {
    ConfigError::Missing {
        key: path.to_owned(),
    }
}

/// A value in a sentence: short, and never a secret.
fn shown(value: &Value, secret: bool) -> String {
    const LONGEST: usize = 60;
    if secret {
        return "set to something else".to_owned();
    }
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.chars().count() > LONGEST {
        let start: String = text.chars().take(LONGEST).collect();
        return format!("`{start}…`");
    }
    format!("`{text}`")
}
