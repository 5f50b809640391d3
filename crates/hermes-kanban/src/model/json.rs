//! JSON as the reference writes it: `": "` and `", "` between parts in stored
//! text, two spaces per level on the screen, nothing escaped that need not be.

use std::io;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        w: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { w.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        w: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { w.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, w: &mut W) -> io::Result<()> {
        w.write_all(b": ")
    }
}

/// One line with spaces after separators.
pub fn python<T: Serialize + ?Sized>(value: &T) -> String {
    let mut bytes = Vec::with_capacity(128);
    // Values and our own structs cannot fail to serialise into memory.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut bytes, Spaced));
    String::from_utf8(bytes).unwrap_or_default()
}

/// The same with the keys of every object in order.
pub fn python_sorted(value: &Value) -> String {
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Object(map) => {
                let mut pairs: Vec<_> = map.iter().collect();
                pairs.sort_by(|a, b| a.0.cmp(b.0));
                Value::Object(
                    pairs
                        .into_iter()
                        .map(|(key, value)| (key.clone(), sorted(value)))
                        .collect(),
                )
            }
            Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
            other => other.clone(),
        }
    }
    python(&sorted(value))
}

/// For people and scripts: two spaces per level.
pub fn pretty<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// A JSON column. Text that is not JSON, or null, is absent.
pub fn from_stored(text: Option<String>) -> Option<Value> {
    text.and_then(|t| serde_json::from_str(&t).ok())
        .filter(|value: &Value| !value.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn stored_json_has_the_spacing_of_the_reference() {
        let value = json!({"b": [1, "ü"], "a": {"y": null, "x": true}});
        assert_eq!(
            python(&value),
            r#"{"b": [1, "ü"], "a": {"y": null, "x": true}}"#
        );
        assert_eq!(
            python_sorted(&value),
            r#"{"a": {"x": true, "y": null}, "b": [1, "ü"]}"#
        );
        assert_eq!(python(&json!({})), "{}");
        assert_eq!(python(&json!([])), "[]");
    }
}
