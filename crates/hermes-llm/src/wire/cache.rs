//! Markers that tell a provider up to where a prefix may be cached: on the system
//! text and on the last three messages, four in all.

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Where a marker goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheLayout {
    /// The Anthropic format itself: tool results carry markers too.
    Native,
    /// Chat completions that an intermediary translates.
    Envelope,
    /// The same, on the system text only.
    System,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheMarkers {
    pub layout: CacheLayout,
    /// One hour instead of five minutes.
    pub long: bool,
}

const MARKED_MESSAGES: usize = 3;

impl CacheMarkers {
    pub(crate) fn marker(self) -> Value {
        if self.long {
            json!({"type": "ephemeral", "ttl": "1h"})
        } else {
            json!({"type": "ephemeral"})
        }
    }

    /// Marks the system text (if the list begins with one) and the last messages of
    /// a chat-completions list.
    pub(crate) fn mark_chat(self, messages: &mut [Value]) {
        let has_system = messages
            .first()
            .is_some_and(|m| matches!(m["role"].as_str(), Some("system" | "developer")));
        let start = usize::from(has_system);
        if has_system {
            self.mark_content(&mut messages[0]);
        }
        let mut left = match self.layout {
            CacheLayout::System => 0,
            CacheLayout::Native | CacheLayout::Envelope => MARKED_MESSAGES,
        };
        for message in messages[start..].iter_mut().rev() {
            if left == 0 {
                break;
            }
            left -= 1;
            let is_tool = message["role"] == "tool";
            if is_tool && self.layout == CacheLayout::Envelope {
                continue;
            }
            self.mark_content(message);
        }
    }

    /// Marks the last messages of an Anthropic list, whose contents are blocks.
    pub(crate) fn mark_blocks(self, messages: &mut [Value]) {
        for message in messages.iter_mut().rev().take(MARKED_MESSAGES) {
            self.mark_content(message);
        }
    }

    /// The last part gets the marker; text becomes one part. Thinking may not
    /// carry one, so the last block of another kind does.
    fn mark_content(self, message: &mut Value) {
        let Some(content) = message.get_mut("content") else {
            return;
        };
        match content {
            Value::String(text) if !text.is_empty() => {
                *content = json!([{"type": "text", "text": text, "cache_control": self.marker()}]);
            }
            Value::Array(parts) => {
                let last = parts
                    .iter_mut()
                    .filter_map(Value::as_object_mut)
                    .rfind(|part| may_be_marked(part));
                if let Some(part) = last {
                    part.insert("cache_control".to_owned(), self.marker());
                }
            }
            _ => {}
        }
    }
}

fn may_be_marked(part: &Map<String, Value>) -> bool {
    !matches!(
        part.get("type").and_then(Value::as_str),
        Some("thinking" | "redacted_thinking")
    )
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn conversation() -> Vec<Value> {
        vec![
            json!({"role": "system", "content": "s"}),
            json!({"role": "user", "content": "1"}),
            json!({"role": "assistant", "content": "", "tool_calls": []}),
            json!({"role": "tool", "content": "r"}),
            json!({"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image_url"}]}),
        ]
    }

    #[test]
    fn an_intermediary_gets_markers_on_system_and_recent_messages_but_not_on_tools() {
        let mut messages = conversation();
        let markers = CacheMarkers {
            layout: CacheLayout::Envelope,
            long: false,
        };
        markers.mark_chat(&mut messages);
        let marker = json!({"type": "ephemeral"});
        let mut expected = conversation();
        expected[0]["content"] = json!([{"type": "text", "text": "s", "cache_control": marker}]);
        expected[4]["content"][1]["cache_control"] = marker;
        assert_eq!(messages, expected);
    }

    #[test]
    fn the_native_layout_marks_tool_results_and_can_ask_for_an_hour() {
        let mut messages = conversation();
        let markers = CacheMarkers {
            layout: CacheLayout::Native,
            long: true,
        };
        markers.mark_chat(&mut messages);
        assert_eq!(
            messages[3]["content"],
            json!([{"type": "text", "text": "r", "cache_control": {"type": "ephemeral", "ttl": "1h"}}])
        );
    }
}
