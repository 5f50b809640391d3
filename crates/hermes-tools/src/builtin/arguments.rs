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

/// A number within limits; the default when absent or not a number. One beyond any
/// limit is the limit.
pub(super) fn number(arguments: &Value, key: &str, default: u64, from: u64, to: u64) -> u64 {
    let value = match arguments.get(key) {
        Some(Value::String(text)) => text.trim().parse::<f64>().ok(),
        Some(value) => value.as_f64(),
        None => None,
    };
    match arguments.get(key).and_then(Value::as_u64) {
        Some(number) => number,
        // A cast of a fraction cuts it, and stops at what fits.
        None => value.filter(|v| !v.is_nan()).map_or(default, |v| v as u64),
    }
    .clamp(from, to)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_bent_into_their_limits() {
        for (given, expected) in [
            (json!(7), 7),
            (json!(1e30), 100),
            (json!(-3), 1),
            (json!(2.9), 2),
            (json!("8"), 8),
            (json!("many"), 5),
            (json!(null), 5),
        ] {
            let arguments = json!({ "n": given });
            assert_eq!(number(&arguments, "n", 5, 1, 100), expected, "{arguments}");
        }
    }
}
