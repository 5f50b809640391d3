//! JSON as models give it: fenced, with words around it, or not at all.

use serde_json::{Map, Value};

/// The object between the first `{` and the last `}`.
pub(super) fn object(text: &str) -> Option<Map<String, Value>> {
    let start = text.find('{')?;
    let end = text.rfind('}')?;
    match serde_json::from_str(text.get(start..=end)?) {
        Ok(Value::Object(map)) => Some(map),
        _ => None,
    }
}

/// Non-blank text under a key.
pub(super) fn text(map: &Map<String, Value>, key: &str) -> Option<String> {
    let text = map.get(key)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The text without a fence around it.
pub(super) fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let Some(inner) = text.strip_prefix("```") else {
        return text;
    };
    let inner = inner.split_once('\n').map_or("", |(_, rest)| rest);
    inner.trim_end().strip_suffix("```").unwrap_or(inner).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_found_in_fences_and_prose() {
        for answer in [
            "{\"title\": \"x\"}",
            "```json\n{\"title\": \"x\"}\n```",
            "Here it is:\n{\"title\": \"x\"}\nEnjoy!",
        ] {
            let map = object(answer).unwrap();
            assert_eq!(text(&map, "title").as_deref(), Some("x"), "{answer}");
        }
        assert_eq!(object("no json at all"), None);
        assert_eq!(object("} backwards {"), None);
        assert_eq!(unfenced("```\nplain\n```"), "plain");
        assert_eq!(unfenced("plain"), "plain");
    }
}
