//! Between a [`Message`] and the text columns that hold it.
//!
//! The forms are those of the reference: structured content as `\0json:` and an
//! array of chat-completions parts, calls as a JSON array. What the model wrote
//! comes back to the letter.

use hermes_types::{Content, Part, ToolCall};
use serde_json::{Map, Value, json};

use crate::tables::STRUCTURED_CONTENT;

pub(super) fn encode_content(content: &Content) -> String {
    let parts = match content {
        Content::Text(text) => return text.clone(),
        Content::Parts(parts) => parts,
    };
    let parts: Vec<Value> = parts
        .iter()
        .map(|part| match part {
            Part::Text { text } => json!({"type": "text", "text": text}),
            Part::Image { url } => json!({"type": "image_url", "image_url": {"url": url}}),
        })
        .collect();
    format!("{STRUCTURED_CONTENT}{}", Value::Array(parts))
}

pub(crate) fn decode_content(stored: Option<String>) -> Content {
    let Some(text) = stored else {
        return Content::Text(String::new());
    };
    let Some(json) = text.strip_prefix(STRUCTURED_CONTENT) else {
        return Content::Text(text);
    };
    match serde_json::from_str(json) {
        Ok(Value::Array(parts)) => Content::Parts(parts.into_iter().map(decode_part).collect()),
        Ok(Value::String(text)) => Content::Text(text),
        _ => Content::Text(json.to_owned()),
    }
}

fn decode_part(part: Value) -> Part {
    let text_of = |key: &str| part.get(key).and_then(Value::as_str).map(str::to_owned);
    match part.get("type").and_then(Value::as_str) {
        Some("text" | "input_text" | "output_text") => {
            if let Some(text) = text_of("text") {
                return Part::Text { text };
            }
        }
        Some("image_url" | "input_image" | "image") => {
            let url = part
                .pointer("/image_url/url")
                .and_then(Value::as_str)
                .map(str::to_owned)
                .or_else(|| text_of("image_url"))
                .or_else(|| text_of("url"));
            if let Some(url) = url {
                return Part::Image { url };
            }
        }
        _ => {}
    }
    // A kind of part that we do not know is kept as the text of its JSON.
    Part::Text {
        text: match part {
            Value::String(text) => text,
            other => other.to_string(),
        },
    }
}

const CALL_ID: &str = "call_id";
const ITEM_ID: &str = "response_item_id";

/// `None` without calls: the column is NULL then.
pub(super) fn encode_calls(calls: &[ToolCall]) -> Option<String> {
    if calls.is_empty() {
        return None;
    }
    let calls: Vec<Value> = calls.iter().map(encode_call).collect();
    Some(Value::Array(calls).to_string())
}

fn encode_call(call: &ToolCall) -> Value {
    let (ids, content) = split_extra(call.extra.as_ref());
    let id_or = |key: &str, default: String| {
        ids.get(key)
            .cloned()
            .unwrap_or_else(|| Value::String(default))
    };
    let mut stored = json!({
        "id": call.id,
        CALL_ID: id_or(CALL_ID, call.id.clone()),
        ITEM_ID: id_or(ITEM_ID, default_item_id(&call.id)),
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    });
    if let (Some(content), Some(object)) = (content, stored.as_object_mut()) {
        object.insert("extra_content".to_owned(), content);
    }
    stored
}

fn default_item_id(id: &str) -> String {
    format!("fc_{}", id.strip_prefix("call_").unwrap_or(id))
}

/// Item ids have fields of their own; all else is `extra_content`.
fn split_extra(extra: Option<&Value>) -> (Map<String, Value>, Option<Value>) {
    let Some(extra) = extra else {
        return (Map::new(), None);
    };
    let Value::Object(object) = extra else {
        return (Map::new(), Some(extra.clone()));
    };
    let (ids, rest): (Map<_, _>, Map<_, _>) = object
        .clone()
        .into_iter()
        .partition(|(key, value)| (key == CALL_ID || key == ITEM_ID) && value.is_string());
    let rest = (!rest.is_empty() || ids.is_empty()).then_some(Value::Object(rest));
    (ids, rest)
}

pub(super) fn decode_calls(stored: Option<String>) -> Vec<ToolCall> {
    let Some(Ok(Value::Array(calls))) = stored.map(|text| serde_json::from_str(&text)) else {
        return Vec::new();
    };
    calls.into_iter().filter_map(decode_call).collect()
}

fn decode_call(stored: Value) -> Option<ToolCall> {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let function = stored.get("function").unwrap_or(&stored);
    let name = text(function.get("name"))?;
    let arguments = match function.get("arguments") {
        Some(Value::String(arguments)) => arguments.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let id = text(stored.get("id"))
        .or_else(|| text(stored.get(CALL_ID)))
        .unwrap_or_default();
    let mut ids = Map::new();
    for (key, default) in [(CALL_ID, id.clone()), (ITEM_ID, default_item_id(&id))] {
        if let Some(value) = text(stored.get(key))
            && value != default
        {
            ids.insert(key.to_owned(), Value::String(value));
        }
    }
    let extra = match stored.get("extra_content").cloned() {
        Some(Value::Object(mut content)) => {
            content.extend(ids);
            Some(Value::Object(content))
        }
        Some(other) => Some(other),
        None if ids.is_empty() => None,
        None => Some(Value::Object(ids)),
    };
    Some(ToolCall {
        id,
        name,
        arguments,
        extra,
    })
}

/// Line breaks become spaces and the text is cut to `chars`, with `...` when
/// something is missing.
pub(crate) fn one_line(text: &str, chars: usize) -> String {
    let flat = |c: char| if c == '\n' || c == '\r' { ' ' } else { c };
    let mut line: String = text.chars().take(chars).map(flat).collect();
    if text.chars().nth(chars).is_some() {
        line.push_str("...");
    }
    line
}

/// Blocks that the agent put around recalled memory never belong to history.
pub(super) fn strip_memory_context(text: String) -> String {
    const OPEN: &str = "<memory-context>";
    const CLOSE: &str = "</memory-context>";
    if !text.contains(OPEN) && !text.contains(CLOSE) {
        return text;
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(start) = rest.find(OPEN) {
        let Some(length) = rest[start..].find(CLOSE) else {
            break;
        };
        kept.push_str(&rest[..start]);
        rest = &rest[start + length + CLOSE.len()..];
    }
    kept.push_str(rest);
    kept.replace(OPEN, "").replace(CLOSE, "").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn calls_come_back_as_they_were() {
        let call = |extra| ToolCall {
            id: "call_1".into(),
            name: "terminal".into(),
            arguments: "{\"a\":  1}".into(),
            extra,
        };
        for extra in [
            None,
            Some(json!({"signature": "x"})),
            Some(json!({"response_item_id": "fc_9"})),
            Some(json!({"signature": "x", "call_id": "c"})),
            Some(json!({})),
            Some(json!("text")),
        ] {
            let calls = vec![call(extra)];
            assert_eq!(decode_calls(encode_calls(&calls)), calls);
        }
    }

    #[test]
    fn structured_content_comes_back_as_it_was() {
        let content = Content::Parts(vec![
            Part::Text {
                text: "look".into(),
            },
            Part::Image {
                url: "data:image/png;base64,AAAA".into(),
            },
        ]);
        assert_eq!(decode_content(Some(encode_content(&content))), content);
    }

    #[test]
    fn memory_blocks_and_their_remnants_leave_history() {
        let strip = |text: &str| strip_memory_context(text.to_owned());
        assert_eq!(strip("a <memory-context>x</memory-context> b"), "a  b");
        assert_eq!(strip("left over</memory-context>"), "left over");
        assert_eq!(strip("  untouched "), "  untouched ");
    }
}
