//! One value against one row of the table. Values come as YAML, as text of a
//! variable or of a flag; all of them end up as what the key's type says.

use serde_json::Value;

use crate::keys::{Key, Type};

/// The value as the key's type wants it, or `None` when it cannot be that.
/// Null passes: it means "as by default", or "no limit" where the key says so.
pub(crate) fn coerce(key: &Key, value: &Value) -> Option<Value> {
    if value.is_null() {
        return Some(Value::Null);
    }
    match key.kind {
        Type::Bool => boolean(value).map(Value::Bool),
        Type::Integer => integer(value).map(Value::from),
        Type::Float => float(value).map(Value::from),
        Type::String => {
            let text = string(key, value)?;
            let fits = text.is_empty() || key.choices.is_empty() || chosen(key, &text).is_some();
            fits.then(|| Value::String(chosen(key, &text).map_or(text, str::to_owned)))
        }
        Type::List => match value {
            Value::Array(_) => Some(value.clone()),
            Value::String(text) => json(text).filter(Value::is_array),
            _ => None,
        },
        Type::Map => match value {
            Value::Object(_) => Some(value.clone()),
            Value::String(text) => json(text).filter(Value::is_object),
            _ => None,
        },
        Type::Any => Some(value.clone()),
    }
}

/// What the key wants, for a sentence that ends in "must be …".
pub(crate) fn expected(key: &Key) -> String {
    if key.choices.is_empty() {
        return key.kind.expected().to_owned();
    }
    format!("one of {}", key.choices.join(", "))
}

/// Choices match in any case.
fn chosen(key: &Key, text: &str) -> Option<&'static str> {
    key.choices
        .iter()
        .copied()
        .find(|choice| choice.eq_ignore_ascii_case(text.trim()))
}

pub(crate) fn boolean(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(value) => Some(*value),
        Value::Number(number) => match number.as_i64() {
            Some(0) => Some(false),
            Some(1) => Some(true),
            _ => None,
        },
        Value::String(text) => truth(text),
        _ => None,
    }
}

pub(crate) fn truth(text: &str) -> Option<bool> {
    let is = |words: &[&str]| words.iter().any(|w| text.trim().eq_ignore_ascii_case(w));
    if is(&["1", "true", "yes", "on"]) {
        Some(true)
    } else if is(&["0", "false", "no", "off"]) {
        Some(false)
    } else {
        None
    }
}

pub(crate) fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| {
            let float = number.as_f64()?;
            (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64)
        }),
        Value::String(text) => {
            let text = text.trim();
            text.parse().ok().or_else(|| {
                let float: f64 = text.parse().ok()?;
                (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64)
            })
        }
        _ => None,
    }
}

pub(crate) fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok().filter(|v: &f64| v.is_finite()),
        _ => None,
    }
}

/// YAML 1.1 reads `off` as false; where a key has a choice of that name, it is meant.
fn string(key: &Key, value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(value) => {
            let words: &[&str] = if *value {
                &["on", "yes", "true"]
            } else {
                &["off", "no", "false"]
            };
            match words.iter().find(|word| key.choices.contains(word)) {
                Some(word) => Some((*word).to_owned()),
                None if key.choices.is_empty() => Some(value.to_string()),
                None => None,
            }
        }
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn json(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}
