//! Tool schemas in the forms that servers can read.

use serde_json::{Map, Value, json};

use super::{Form, SchemaDialect};

/// The schema of a tool's arguments as this endpoint takes it.
pub(crate) fn for_form(parameters: &Value, form: &Form) -> Value {
    let mut schema = top_level(parameters);
    simplify(&mut schema);
    if form.mend.no_schema_patterns {
        strip(&mut schema, &["pattern", "format"]);
    }
    match form.schema {
        SchemaDialect::Plain => {}
        SchemaDialect::Moonshot => moonshot(&mut schema),
        SchemaDialect::Xai => {
            strip(&mut schema, &["pattern", "format"]);
            strip_slashed_enums(&mut schema);
        }
        SchemaDialect::Gemini => gemini(&mut schema),
    }
    schema
}

/// An object with properties, without combinators; `required` names only what
/// exists.
fn top_level(parameters: &Value) -> Value {
    let mut schema = parameters.as_object().cloned().unwrap_or_default();
    schema.insert("type".to_owned(), json!("object"));
    if !schema.get("properties").is_some_and(Value::is_object) {
        schema.insert("properties".to_owned(), json!({}));
    }
    for combinator in ["allOf", "anyOf", "oneOf", "enum", "not"] {
        schema.remove(combinator);
    }
    Value::Object(schema)
}

/// Runs `change` on every schema of the tree: properties, items and variants, but
/// not on the map of properties itself, whose keys are names.
fn walk(schema: &mut Value, change: &mut impl FnMut(&mut Map<String, Value>)) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    change(object);
    for (name, value) in object.iter_mut() {
        match name.as_str() {
            "properties" | "$defs" | "definitions" | "patternProperties" => {
                if let Some(children) = value.as_object_mut() {
                    children.values_mut().for_each(|child| walk(child, change));
                }
            }
            "items" | "additionalProperties" | "not" => walk(value, change),
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => {
                if let Some(children) = value.as_array_mut() {
                    children.iter_mut().for_each(|child| walk(child, change));
                }
            }
            _ => {}
        }
    }
}

/// `[T, null]` becomes T + nullable, a choice of one with null collapses, and
/// `required` is pruned.
fn simplify(schema: &mut Value) {
    walk(schema, &mut |object| {
        collapse_nullable_choice(object);
        if let Some(Value::Array(types)) = object.get("type") {
            let rest: Vec<&Value> = types.iter().filter(|t| *t != "null").collect();
            if let [single] = rest[..] {
                let nullable = types.len() > 1;
                let single = single.clone();
                object.insert("type".to_owned(), single);
                if nullable {
                    object.insert("nullable".to_owned(), json!(true));
                }
            }
        }
        let known: Vec<String> = object
            .get("properties")
            .and_then(Value::as_object)
            .map(|p| p.keys().cloned().collect())
            .unwrap_or_default();
        let is_object = object.contains_key("properties");
        if let Some(Value::Array(required)) = object.get_mut("required")
            && is_object
        {
            required.retain(|name| name.as_str().is_some_and(|n| known.iter().any(|k| k == n)));
            if required.is_empty() {
                object.remove("required");
            }
        }
    });
}

fn collapse_nullable_choice(object: &mut Map<String, Value>) {
    for key in ["anyOf", "oneOf"] {
        let Some(Value::Array(variants)) = object.get(key) else {
            continue;
        };
        let rest: Vec<&Value> = variants.iter().filter(|v| v["type"] != "null").collect();
        if let [Value::Object(single)] = rest[..] {
            let nullable = rest.len() < variants.len();
            let single = single.clone();
            object.remove(key);
            for (name, value) in single {
                // What stands beside the choice describes it better.
                object.entry(name).or_insert(value);
            }
            if nullable {
                object.insert("nullable".to_owned(), json!(true));
            }
        }
    }
}

fn strip(schema: &mut Value, keywords: &[&str]) {
    walk(schema, &mut |object| {
        for keyword in keywords {
            // A property may be called `format`; keywords are never objects.
            if object.get(*keyword).is_some_and(|v| !v.is_object()) {
                object.remove(*keyword);
            }
        }
    });
}

fn strip_slashed_enums(schema: &mut Value) {
    walk(schema, &mut |object| {
        let slashed = object
            .get("enum")
            .and_then(Value::as_array)
            .is_some_and(|values| {
                values
                    .iter()
                    .any(|v| v.as_str().is_some_and(|s| s.contains('/')))
            });
        if slashed {
            object.remove("enum");
        }
    });
}

/// Every schema has a type, a choice stands alone, and a reference has no
/// neighbours.
fn moonshot(schema: &mut Value) {
    walk(schema, &mut |object| {
        object.remove("nullable");
        if object.contains_key("$ref") {
            object.retain(|name, _| name == "$ref");
            return;
        }
        if object.contains_key("anyOf") {
            object.remove("type");
            return;
        }
        if !object.contains_key("type") {
            let guess = match object.get("enum").and_then(Value::as_array) {
                Some(values) if values.iter().all(Value::is_i64) => "integer",
                Some(values) if values.iter().all(Value::is_number) => "number",
                Some(values) if values.iter().all(Value::is_boolean) => "boolean",
                _ if object.contains_key("properties") => "object",
                _ if object.contains_key("items") => "array",
                _ => "string",
            };
            object.insert("type".to_owned(), json!(guess));
        }
    });
}

/// The keywords that Gemini's reader knows; anything else is an error there.
const GEMINI_KEYWORDS: [&str; 18] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "items",
    "maxItems",
    "minItems",
    "properties",
    "required",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "anyOf",
    "propertyOrdering",
    "default",
];

fn gemini(schema: &mut Value) {
    walk(schema, &mut |object| {
        if let Some(Value::Array(variants)) = object.remove("oneOf") {
            object.insert("anyOf".to_owned(), Value::Array(variants));
        }
        if let Some(value) = object.remove("const") {
            object.insert("enum".to_owned(), json!([value]));
        }
        object.retain(|name, _| GEMINI_KEYWORDS.contains(&name.as_str()));
        // Enumerations exist for texts only.
        if object.contains_key("enum") && object.get("type") != Some(&json!("string")) {
            let all_text = object["enum"]
                .as_array()
                .is_some_and(|values| values.iter().all(Value::is_string));
            if all_text {
                object.insert("type".to_owned(), json!("string"));
            } else {
                object.remove("enum");
            }
        }
        let format_known = matches!(
            object.get("format").and_then(Value::as_str),
            Some("enum" | "date-time" | "float" | "double" | "int32" | "int64")
        );
        if !format_known {
            object.remove("format");
        }
        if object.get("type") == Some(&json!("array")) && !object.contains_key("items") {
            object.insert("items".to_owned(), json!({"type": "string"}));
        }
    });
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn convert(schema: Value, dialect: SchemaDialect) -> Value {
        let form = Form {
            schema: dialect,
            ..Form::default()
        };
        for_form(&schema, &form)
    }

    #[test]
    fn schemas_become_plain_objects() {
        assert_eq!(
            convert(json!(null), SchemaDialect::Plain),
            json!({"type": "object", "properties": {}})
        );
        assert_eq!(
            convert(
                json!({
                    "anyOf": [{"required": ["a"]}],
                    "properties": {
                        "a": {"type": ["string", "null"], "description": "d"},
                        "b": {"anyOf": [{"type": "integer", "description": "inner"}, {"type": "null"}], "description": "outer"},
                        "c": {"type": ["string", "integer"]},
                    },
                    "required": ["a", "gone"],
                }),
                SchemaDialect::Plain
            ),
            json!({
                "properties": {
                    "a": {"type": "string", "description": "d", "nullable": true},
                    "b": {"description": "outer", "type": "integer", "nullable": true},
                    "c": {"type": ["string", "integer"]},
                },
                "required": ["a"],
                "type": "object",
            })
        );
    }

    #[test]
    fn a_property_named_like_a_keyword_survives() {
        let schema = json!({"type": "object", "properties": {
            "format": {"type": "string", "format": "uri", "pattern": "^h"},
            "kind": {"type": "string", "enum": ["a/b", "c"]},
        }});
        assert_eq!(
            convert(schema, SchemaDialect::Xai)["properties"],
            json!({"format": {"type": "string"}, "kind": {"type": "string"}})
        );
    }

    #[test]
    fn gemini_sees_only_what_it_reads() {
        let schema = json!({"type": "object", "additionalProperties": false, "properties": {
            "n": {"type": "integer", "enum": [1, 2], "exclusiveMinimum": 0},
            "list": {"type": "array"},
            "one": {"oneOf": [{"const": "x"}, {"type": "integer", "format": "int64"}]},
        }});
        assert_eq!(
            convert(schema, SchemaDialect::Gemini),
            json!({"type": "object", "properties": {
                "n": {"type": "integer"},
                "list": {"type": "array", "items": {"type": "string"}},
                "one": {"anyOf": [{"enum": ["x"], "type": "string"}, {"type": "integer", "format": "int64"}]},
            }})
        );
    }

    #[test]
    fn moonshot_gets_a_type_everywhere() {
        let schema = json!({"type": "object", "properties": {
            "a": {"enum": [1, 2]},
            "b": {"type": "string", "anyOf": [{"type": "string"}, {"items": {}}]},
        }});
        assert_eq!(
            convert(schema, SchemaDialect::Moonshot)["properties"],
            json!({
                "a": {"enum": [1, 2], "type": "integer"},
                "b": {"anyOf": [{"type": "string"}, {"items": {"type": "string"}, "type": "array"}]},
            })
        );
    }
}
