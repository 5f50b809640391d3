//! `-c key=value`.

use serde_json::{Map, Value};

use crate::coerce::{coerce, expected};
use crate::error::ConfigError;
use crate::files::line_of;
use crate::keys::{Known, Type, lookup, suggestion};
use crate::layers::at;
use crate::source::Source;
use crate::yaml::{Document, parse};

/// The value of `-c key=value`. A flag that nothing would read is a slip, and a slip
/// that is ignored runs commands in the wrong place.
pub(crate) fn flag_value(path: &str, text: &str) -> Result<Value, ConfigError> {
    let text_value = Value::String(text.to_owned());
    match lookup(path) {
        Known::Key(_) if path == "model" => Ok(Value::Object(Map::from_iter([(
            "default".to_owned(),
            text_value,
        )]))),
        Known::Key(key) if text == "null" && key.nullable => Ok(Value::Null),
        Known::Key(key) if key.kind == Type::Any => Ok(scalar(text)),
        Known::Key(key) => coerce(key, &text_value).ok_or_else(|| {
            ConfigError::wrong_type(path, format!("`{text}`"), &Source::Flag, expected(key))
        }),
        Known::Below(_) => Ok(scalar(text)),
        Known::Section => Err(ConfigError::wrong_type(
            path,
            format!("`{text}`"),
            &Source::Flag,
            "a section with keys of its own".to_owned(),
        )),
        Known::Unknown => Err(ConfigError::UnknownKey {
            key: path.to_owned(),
            suggestion: suggestion(path),
        }),
    }
}

/// A flag must not cover up that its section is no section: the other keys of that
/// section would then quietly be at their defaults.
pub(crate) fn check_way(
    effective: &Value,
    document: &Document,
    path: &str,
) -> Result<(), ConfigError> {
    for (end, _) in path.match_indices('.') {
        match at(effective, &path[..end]) {
            None | Some(Value::Null | Value::Object(_) | Value::Array(_)) => {}
            Some(value) => {
                let line = line_of(document, &path[..end]).unwrap_or(1);
                return Err(ConfigError::wrong_type(
                    &path[..end],
                    format!("`{value}`"),
                    &Source::File { line },
                    format!("a section with keys such as `{path}`"),
                ));
            }
        }
    }
    Ok(())
}

/// A value without a type in the table, as YAML would read it on one line.
fn scalar(text: &str) -> Value {
    parse(text)
        .and_then(|document| document.value())
        .unwrap_or_else(|_| Value::String(text.to_owned()))
}
