//! Models send `"5"` for 5 and `"true"` for true. Before a tool sees its
//! arguments they are brought to the types its schema names; what does not fit
//! is left as it is, for the tool to refuse in its own words.

use serde_json::{Map, Number, Value};

/// `arguments` with every top-level value coerced to the schema's types.
pub fn coerce(schema: &Value, arguments: Value) -> Value {
    let Value::Object(map) = arguments else {
        return arguments;
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    Value::Object(
        map.into_iter()
            .map(|(key, value)| {
                let value = match properties.and_then(|all| all.get(&key)) {
                    Some(property) => coerce_value(property, value),
                    None => value,
                };
                (key, value)
            })
            .collect::<Map<_, _>>(),
    )
}

fn coerce_value(schema: &Value, value: Value) -> Value {
    let types = types_of(schema);
    if types.is_empty() || types.iter().any(|kind| is_of(kind, &value)) {
        return value;
    }
    if let Value::String(text) = &value {
        let text = text.trim();
        if text == "null" && (types.contains(&"null") || is_nullable(schema)) {
            return Value::Null;
        }
        for kind in &types {
            if let Some(coerced) = from_text(kind, text) {
                return coerced;
            }
        }
    }
    if types.contains(&"array") && !value.is_array() && !value.is_object() && !value.is_null() {
        return Value::Array(vec![value]);
    }
    value
}

fn from_text(kind: &str, text: &str) -> Option<Value> {
    match kind {
        "integer" => text.parse::<i64>().ok().map(Value::from).or_else(|| {
            let number: f64 = text.parse().ok()?;
            let integral = number.is_finite() && number.fract() == 0.0 && number.abs() < 9e15;
            integral.then(|| Value::from(number as i64))
        }),
        "number" => text.parse::<i64>().ok().map(Value::from).or_else(|| {
            let number: f64 = text.parse().ok()?;
            Number::from_f64(number).map(Value::Number)
        }),
        "boolean" => match text.to_ascii_lowercase().as_str() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        },
        "array" => serde_json::from_str::<Value>(text)
            .ok()
            .filter(Value::is_array),
        "object" => serde_json::from_str::<Value>(text)
            .ok()
            .filter(Value::is_object),
        _ => None,
    }
}

fn types_of(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => vec![kind.as_str()],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => ["anyOf", "oneOf"]
            .iter()
            .filter_map(|key| schema.get(key).and_then(Value::as_array))
            .flatten()
            .flat_map(types_of)
            .collect(),
    }
}

fn is_nullable(schema: &Value) -> bool {
    schema.get("nullable").and_then(Value::as_bool) == Some(true)
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn one(property: Value, value: Value) -> Value {
        coerce(&json!({"properties": {"x": property}}), json!({"x": value}))["x"].clone()
    }

    #[test]
    fn each_type_is_read_from_text() {
        let cases = [
            (json!({"type": "integer"}), json!("5"), json!(5)),
            (json!({"type": "integer"}), json!("5.0"), json!(5)),
            (json!({"type": "integer"}), json!("5.5"), json!("5.5")),
            (json!({"type": "number"}), json!("5.5"), json!(5.5)),
            (json!({"type": "number"}), json!("NaN"), json!("NaN")),
            (json!({"type": "number"}), json!("inf"), json!("inf")),
            (json!({"type": "boolean"}), json!("True"), json!(true)),
            (json!({"type": "boolean"}), json!("yes"), json!("yes")),
            (json!({"type": "array"}), json!("[1,2]"), json!([1, 2])),
            (json!({"type": "array"}), json!("one"), json!(["one"])),
            (json!({"type": "array"}), json!(3), json!([3])),
            (
                json!({"type": "object"}),
                json!("{\"a\":1}"),
                json!({"a": 1}),
            ),
            (
                json!({"type": ["string", "null"]}),
                json!("null"),
                json!("null"),
            ),
            (
                json!({"type": ["integer", "null"]}),
                json!("null"),
                json!(null),
            ),
            (
                json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}),
                json!("7"),
                json!(7),
            ),
            (json!({"type": "string"}), json!("5"), json!("5")),
            (json!({}), json!("5"), json!("5")),
        ];
        for (property, value, expected) in cases {
            assert_eq!(
                one(property.clone(), value.clone()),
                expected,
                "{property} {value}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_value_of_the_right_type_is_never_changed(number in any::<i64>(), text in ".*", flag in any::<bool>()) {
            prop_assert_eq!(one(json!({"type": "integer"}), json!(number)), json!(number));
            prop_assert_eq!(one(json!({"type": "string"}), json!(text.clone())), json!(text));
            prop_assert_eq!(one(json!({"type": "boolean"}), json!(flag)), json!(flag));
        }

        #[test]
        fn coercing_twice_changes_nothing_more(text in ".{0,20}") {
            for kind in ["integer", "number", "boolean", "array", "object"] {
                let once = one(json!({"type": kind}), json!(text.clone()));
                prop_assert_eq!(one(json!({"type": kind}), once.clone()), once);
            }
        }
    }
}
