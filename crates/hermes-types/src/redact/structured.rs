//! Results that are JSON: the rules look at each text as it is, not at its escaped
//! form, where a line break is two letters that belong to the word beside them.

use std::borrow::Cow;

use serde_json::Value;

use super::{Redaction, mask, redact, scan};

/// Fields whose text is a secret whatever it looks like, when names may be trusted.
const FIELDS: &[&str] = &[
    "apikey",
    "api_key",
    "token",
    "secret",
    "password",
    "access_token",
    "refresh_token",
    "auth_token",
    "bearer",
    "secret_value",
    "raw_secret",
    "secret_input",
    "key_material",
];

/// Masks a tool's result: a JSON value, with or without words after it, or plain
/// text. What holds no secret comes back byte for byte.
pub fn redact_result(text: &str, mode: Redaction) -> Cow<'_, str> {
    if !scan::may_hold_secret(text, mode) {
        return Cow::Borrowed(text);
    }
    if !text.trim_start().starts_with(['{', '[']) {
        return redact(text, mode);
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let Some(Ok(mut value)) = values.next() else {
        return redact(text, mode);
    };
    let (head, tail) = text.split_at(values.byte_offset());
    let rest = redact(tail, mode);
    match (masked(&mut value, mode), &rest) {
        (false, Cow::Borrowed(_)) => Cow::Borrowed(text),
        (false, Cow::Owned(rest)) => Cow::Owned(format!("{head}{rest}")),
        (true, rest) => Cow::Owned(format!("{value}{rest}")),
    }
}

/// Whether anything had to be masked.
fn masked(value: &mut Value, mode: Redaction) -> bool {
    match value {
        Value::String(text) => {
            let Cow::Owned(clean) = redact(text, mode) else {
                return false;
            };
            *text = clean;
            true
        }
        Value::Array(items) => {
            let mut any = false;
            for item in items {
                any |= masked(item, mode);
            }
            any
        }
        Value::Object(fields) => {
            let mut any = false;
            for (name, field) in fields {
                let named = mode == Redaction::Text
                    && FIELDS
                        .iter()
                        .any(|secret| name.eq_ignore_ascii_case(secret));
                match field {
                    Value::String(text) if named && !text.is_empty() && !is_mask(text) => {
                        *text = mask(text);
                        any = true;
                    }
                    field => any |= masked(field, mode),
                }
            }
            any
        }
        _ => false,
    }
}

fn is_mask(text: &str) -> bool {
    text == "***" || (text.len() == 13 && text.get(6..9) == Some("..."))
}
