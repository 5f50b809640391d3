//! One text for one value: sorted keys, no white space. The same history must
//! yield the same bytes in every process, or prefix caches are lost.

use std::fmt::Write;

use serde_json::Value;

/// The value as compact JSON with sorted keys.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            out.push('{');
            for (index, key) in keys.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                quoted(key, out);
                out.push(':');
                if let Some(value) = map.get(key) {
                    write(value, out);
                }
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::String(text) => quoted(text, out),
        // Numbers, booleans and null have one spelling.
        other => {
            let _ = write!(out, "{other}");
        }
    }
}

fn quoted(text: &str, out: &mut String) {
    let _ = write!(out, "{}", Value::String(text.to_owned()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_are_sorted_at_every_depth() {
        let value = json!({"b": [{"z": 1, "a": "x\ny"}], "a": null});
        assert_eq!(canonical(&value), r#"{"a":null,"b":[{"a":"x\ny","z":1}]}"#);
    }
}
