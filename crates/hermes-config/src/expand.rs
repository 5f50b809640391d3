//! `${NAME}` in values. Unknown names stay as they are written, and keys are never
//! expanded.

use std::collections::BTreeSet;

use hermes_home::Environment;
use serde_json::Value;

/// Replaces `${NAME}` in every string of a tree.
pub(crate) fn expand(value: &mut Value, environment: &Environment) {
    match value {
        Value::String(text) => {
            if let Some(expanded) = expand_text(text, environment) {
                *text = expanded;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| expand(item, environment)),
        Value::Object(map) => map
            .values_mut()
            .for_each(|value| expand(value, environment)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// `None` when there is nothing to replace.
pub(crate) fn expand_text(text: &str, environment: &Environment) -> Option<String> {
    let mut rest = text;
    let mut out = String::new();
    let mut changed = false;
    while let Some(at) = rest.find("${") {
        let (before, template) = rest.split_at(at);
        out.push_str(before);
        let Some(end) = template.find('}') else {
            rest = template;
            break;
        };
        let name = &template[2..end];
        match environment.get(name) {
            Some(value) if !name.is_empty() => {
                out.push_str(value);
                changed = true;
            }
            _ => out.push_str(&template[..=end]),
        }
        rest = &template[end + 1..];
    }
    out.push_str(rest);
    changed.then_some(out)
}

/// Puts templates back into a value that is about to be stored: where it says what
/// the template on disk yields, the template stays. Items of a list belong together
/// by their `name` when each has one of its own, else by their place.
pub(crate) fn keep_templates(new: &mut Value, current: &Value, environment: &Environment) {
    match (new, current) {
        (Value::String(text), Value::String(template))
            if expand_text(template, environment).as_deref() == Some(text.as_str()) =>
        {
            template.clone_into(text);
        }
        (Value::Object(new), Value::Object(current)) => {
            for (name, value) in new {
                if let Some(current) = current.get(name) {
                    keep_templates(value, current, environment);
                }
            }
        }
        (Value::Array(new), Value::Array(current)) => {
            let by_name = unique_names(current).zip(unique_names(new)).is_some();
            for (place, value) in new.iter_mut().enumerate() {
                let partner = if by_name {
                    current
                        .iter()
                        .find(|item| item.get("name") == value.get("name"))
                } else {
                    current.get(place)
                };
                if let Some(current) = partner {
                    keep_templates(value, current, environment);
                }
            }
        }
        _ => {}
    }
}

/// The names of all items, when every item has one and no two are the same.
fn unique_names(items: &[Value]) -> Option<BTreeSet<&str>> {
    let names: Option<BTreeSet<&str>> = items
        .iter()
        .map(|item| item.get("name")?.as_str())
        .collect();
    names.filter(|names| names.len() == items.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn templates_come_back_where_they_yield_the_stored_value() {
        let environment: Environment = [("K".to_owned(), "sk".to_owned())].into_iter().collect();
        let kept = |mut new: Value, current: Value| {
            keep_templates(&mut new, &current, &environment);
            new
        };
        assert_eq!(kept(json!("sk"), json!("${K}")), json!("${K}"));
        assert_eq!(kept(json!("other"), json!("${K}")), json!("other"));
        assert_eq!(
            kept(
                json!({"a": "sk", "b": "sk"}),
                json!({"a": "x-${K}", "b": "${K}"})
            ),
            json!({"a": "sk", "b": "${K}"})
        );
        assert_eq!(
            kept(
                json!([{"name": "new"}, {"name": "b", "key": "sk"}]),
                json!([{"name": "a", "key": "1"}, {"name": "b", "key": "${K}"}])
            ),
            json!([{"name": "new"}, {"name": "b", "key": "${K}"}])
        );
        assert_eq!(
            kept(json!(["sk", "sk"]), json!(["sk", "${K}"])),
            json!(["sk", "${K}"])
        );
    }

    #[test]
    fn known_names_are_replaced_and_others_stay() {
        let environment: Environment = [("A".to_owned(), "1".to_owned())].into_iter().collect();
        let expanded = |text| expand_text(text, &environment);
        assert_eq!(expanded("${A}").as_deref(), Some("1"));
        assert_eq!(expanded("x${A}y${B}z").as_deref(), Some("x1y${B}z"));
        assert_eq!(expanded("${B} ${"), None);
        assert_eq!(expanded("$A ${} {A}"), None);
    }
}
