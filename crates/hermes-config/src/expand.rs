//! `${NAME}` in values. Unknown names stay as they are written, and keys are never
//! expanded.

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

#[cfg(test)]
mod tests {
    use super::*;

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
