//! Arguments as models write them.

use hermes_types::TaskId;
use serde_json::{Map, Value};

/// What is wrong with a call; the model reads it.
pub(super) type Complaint = String;

pub(super) struct Arguments<'a>(pub(super) &'a Value);

impl Arguments<'_> {
    /// Trimmed; empty counts as absent.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        match self.0.get(key)? {
            Value::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    pub(super) fn required(&self, key: &str) -> Result<String, Complaint> {
        self.text(key).ok_or_else(|| format!("{key} is required"))
    }

    /// A list, or a single string in place of one.
    pub(super) fn list(&self, key: &str) -> Result<Vec<String>, Complaint> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::String(text)) if text.trim().is_empty() => Ok(Vec::new()),
            Some(Value::String(text)) => Ok(vec![text.trim().to_owned()]),
            Some(Value::Array(items)) => items
                .iter()
                .map(|item| match item {
                    Value::String(text) => Ok(text.trim().to_owned()),
                    other => Err(format!("{key} must be a list of strings, not {other}")),
                })
                .collect(),
            Some(other) => Err(format!("{key} must be a list of strings, not {other}")),
        }
    }

    pub(super) fn ids(&self, key: &str) -> Result<Vec<TaskId>, Complaint> {
        Ok(self.list(key)?.into_iter().map(TaskId::new).collect())
    }

    pub(super) fn flag(&self, key: &str) -> Result<bool, Complaint> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(value)) => Ok(*value),
            Some(Value::Number(number)) => Ok(number.as_f64() != Some(0.0)),
            Some(Value::String(text)) => match text.trim().to_lowercase().as_str() {
                "true" | "1" | "yes" => Ok(true),
                "false" | "0" | "no" | "" => Ok(false),
                other => Err(format!("{key} must be true or false, not {other:?}")),
            },
            Some(other) => Err(format!("{key} must be true or false, not {other}")),
        }
    }

    pub(super) fn integer(&self, key: &str) -> Result<Option<i64>, Complaint> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => crate::settings::integer(value)
                .map(Some)
                .ok_or_else(|| format!("{key} must be a whole number, not {value}")),
        }
    }

    pub(super) fn positive(&self, key: &str) -> Result<Option<i64>, Complaint> {
        match self.integer(key)? {
            Some(number) if number < 1 => Err(format!("{key} must be at least 1")),
            number => Ok(number),
        }
    }

    pub(super) fn object(&self, key: &str) -> Result<Option<Map<String, Value>>, Complaint> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(map)) => Ok(Some(map.clone())),
            Some(Value::String(text)) => match serde_json::from_str(text) {
                Ok(Value::Object(map)) => Ok(Some(map)),
                _ => Err(format!("{key} must be an object")),
            },
            Some(_) => Err(format!("{key} must be an object")),
        }
    }
}
