//! Reading arguments: what is missing or of the wrong kind is said in words.

use serde_json::Value;

pub(super) fn text<'a>(arguments: &'a Value, key: &str) -> Option<&'a str> {
    arguments.get(key).and_then(Value::as_str)
}

pub(super) fn required<'a>(arguments: &'a Value, key: &str) -> Result<&'a str, String> {
    text(arguments, key).ok_or_else(|| format!("{key} is missing"))
}

pub(super) fn flag(arguments: &Value, key: &str) -> bool {
    arguments.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// A number within limits; the default when absent or not a number.
pub(super) fn number(arguments: &Value, key: &str, default: u64, from: u64, to: u64) -> u64 {
    arguments
        .get(key)
        .and_then(Value::as_u64)
        .unwrap_or(default)
        .clamp(from, to)
}
