//! Requests in the Anthropic format.

use std::sync::Arc;

use hermes_types::{Content, Message, Part, Role};
use serde_json::{Map, Value, json};

use super::claude::{Claude, max_output};
use crate::model::{Effort, Request};
use crate::wire::form::temperature;
use crate::wire::{Echo, Form, schema, tidy};

/// A message may not be empty.
const NOTHING: &str = "(nothing)";
const OLD_PICTURE: &str = "[older picture left out]";
const NO_PICTURE: &str = "[picture left out: this model reads text only]";
/// Of the pictures in tool results only the newest are sent again.
const KEPT_PICTURES: usize = 3;

pub fn encode(request: &Request, form: &Form) -> Value {
    let history = tidy(&request.messages);
    let mut messages = encode_messages(request, &history, form);
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(form.model));
    let system = request.system.trim();
    if !system.is_empty() {
        let value = match form.cache {
            Some(markers) => {
                json!([{"type": "text", "text": system, "cache_control": markers.marker()}])
            }
            None => json!(system),
        };
        body.insert("system".to_owned(), value);
    }
    if let Some(markers) = form.cache {
        markers.mark_blocks(&mut messages);
    }
    body.insert("messages".to_owned(), Value::Array(messages));
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| {
                json!({
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": schema::for_form(&tool.parameters, form),
                })
            })
            .collect();
        body.insert("tools".to_owned(), Value::Array(tools));
    }
    add_limits(&mut body, request, form);
    if !form.mend.no_stream {
        body.insert("stream".to_owned(), json!(true));
    }
    form.merge_extra(&mut body);
    Value::Object(body)
}

fn add_limits(body: &mut Map<String, Value>, request: &Request, form: &Form) {
    let model = form.model.to_ascii_lowercase();
    let claude = Claude::parse(&model);
    let mut cap = request
        .limits
        .max_output_tokens
        .or(form.default_output)
        .unwrap_or_else(|| max_output(&form.model));
    let mut sampling = request
        .limits
        .temperature
        .filter(|_| !form.no_temperature && !form.mend.no_temperature);
    if claude.is_some_and(|c| c.is_at_least(4, 7)) {
        sampling = None;
    }
    let thinks = !matches!(
        claude,
        Some(Claude {
            family: "haiku",
            ..
        })
    ) && !model.contains("kimi");
    if let Some(effort) = request
        .limits
        .effort
        .filter(|e| *e != Effort::None && thinks)
    {
        if claude.is_some_and(|c| c.is_at_least(4, 6)) {
            let highest = claude.is_some_and(|c| c.is_at_least(4, 7));
            let word = match effort {
                Effort::XHigh if highest => "xhigh",
                Effort::XHigh => "max",
                Effort::None | Effort::Minimal => "low",
                other => other.as_str(),
            };
            body.insert(
                "thinking".to_owned(),
                json!({"type": "adaptive", "display": "summarized"}),
            );
            body.insert("output_config".to_owned(), json!({"effort": word}));
        } else {
            let budget: u32 = match effort {
                Effort::XHigh => 32_000,
                Effort::High => 16_000,
                Effort::Medium => 8_000,
                Effort::None | Effort::Minimal | Effort::Low => 4_000,
            };
            body.insert(
                "thinking".to_owned(),
                json!({"type": "enabled", "budget_tokens": budget}),
            );
            cap = cap.max(budget + 4096);
            sampling = Some(1.0);
        }
    }
    let cap = form.window_cap.map_or(cap, |room| cap.min(room));
    body.insert("max_tokens".to_owned(), json!(cap));
    if let Some(value) = sampling {
        body.insert("temperature".to_owned(), temperature(value));
    }
}

fn encode_messages(request: &Request, history: &[Arc<Message>], form: &Form) -> Vec<Value> {
    let last_answer = history.iter().rposition(|m| m.role == Role::Assistant);
    let mut old_pictures = tool_pictures(history).saturating_sub(KEPT_PICTURES);
    let mut out: Vec<(&'static str, Vec<Value>)> = Vec::new();
    for (at, message) in history.iter().enumerate() {
        let (role, blocks) = match message.role {
            Role::Assistant => {
                let mut blocks = Vec::new();
                // A signature covers the message as the provider sent it.
                let untouched = request.messages.iter().any(|m| Arc::ptr_eq(m, message));
                if untouched {
                    blocks.extend(thinking(message, form, last_answer == Some(at)));
                }
                blocks.extend(content_blocks(&message.content, form, &mut 0));
                blocks.extend(message.tool_calls.iter().map(|call| {
                    let input = serde_json::from_str::<Value>(&call.arguments)
                        .ok()
                        .filter(Value::is_object)
                        .map_or_else(
                            || json!({}),
                            |mut value| {
                                value.sort_all_objects();
                                value
                            },
                        );
                    json!({"type": "tool_use", "id": tool_id(&call.id), "name": call.name, "input": input})
                }));
                ("assistant", blocks)
            }
            Role::Tool => ("user", vec![tool_result(message, form, &mut old_pictures)]),
            Role::User | Role::System => ("user", content_blocks(&message.content, form, &mut 0)),
        };
        match out.last_mut() {
            Some((last, known)) if *last == role => known.extend(blocks),
            _ => out.push((role, blocks)),
        }
    }
    out.into_iter()
        .map(|(role, mut blocks)| {
            if blocks.is_empty() {
                blocks.push(json!({"type": "text", "text": NOTHING}));
            }
            json!({"role": role, "content": blocks})
        })
        .collect()
}

/// Reasoning that may go back: signed blocks to the vendor itself, on the last
/// answer only; plain text to endpoints that ask for it; nothing to others.
fn thinking(message: &Message, form: &Form, is_last: bool) -> Vec<Value> {
    if form.mend.no_reasoning_details {
        return Vec::new();
    }
    if form.echo != Echo::Never {
        let text = message.reasoning.as_deref().map(str::trim).unwrap_or("");
        return match text {
            "" if form.echo == Echo::Stored => Vec::new(),
            "" => vec![json!({"type": "thinking", "thinking": " "})],
            text => vec![json!({"type": "thinking", "thinking": text})],
        };
    }
    if !form.first_party || !is_last {
        return Vec::new();
    }
    message
        .reasoning_details
        .as_ref()
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|block| match block["type"].as_str() {
            Some("thinking") => block["signature"].as_str().is_some_and(|s| !s.is_empty()),
            Some("redacted_thinking") => block["data"].is_string(),
            _ => false,
        })
        .cloned()
        .collect()
}

fn tool_pictures(history: &[Arc<Message>]) -> usize {
    history
        .iter()
        .filter(|message| message.role == Role::Tool)
        .map(|message| match &message.content {
            Content::Text(_) => 0,
            Content::Parts(parts) => parts
                .iter()
                .filter(|part| matches!(part, Part::Image { .. }))
                .count(),
        })
        .sum()
}

fn tool_result(message: &Message, form: &Form, old_pictures: &mut usize) -> Value {
    let id = tool_id(message.tool_call_id.as_deref().unwrap_or(""));
    let content = match &message.content {
        Content::Text(text) => json!(or_nothing(text)),
        Content::Parts(_) => Value::Array(content_blocks(&message.content, form, old_pictures)),
    };
    json!({"type": "tool_result", "tool_use_id": id, "content": content})
}

fn or_nothing(text: &str) -> &str {
    match text.trim() {
        "" => NOTHING,
        text => text,
    }
}

/// Text and pictures as blocks. The first `skipped` pictures become a note.
fn content_blocks(content: &Content, form: &Form, skipped: &mut usize) -> Vec<Value> {
    let text_block = |text: &str| json!({"type": "text", "text": text});
    match content {
        Content::Text(text) => match text.trim() {
            "" => Vec::new(),
            text => vec![text_block(text)],
        },
        Content::Parts(parts) => parts
            .iter()
            .filter_map(|part| match part {
                Part::Text { text } => match text.trim() {
                    "" => None,
                    text => Some(text_block(text)),
                },
                Part::Image { .. } if form.mend.no_images => Some(text_block(NO_PICTURE)),
                Part::Image { .. } if *skipped > 0 => {
                    *skipped -= 1;
                    Some(text_block(OLD_PICTURE))
                }
                Part::Image { url } => {
                    Some(json!({"type": "image", "source": picture_source(url)}))
                }
            })
            .collect(),
    }
}

fn picture_source(url: &str) -> Value {
    match data_url(url) {
        Some((media_type, data)) => {
            json!({"type": "base64", "media_type": media_type, "data": data})
        }
        None => json!({"type": "url", "url": url}),
    }
}

/// Media type and base64 text of a `data:` URL.
pub(crate) fn data_url(url: &str) -> Option<(&str, &str)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let media_type = head.strip_suffix(";base64")?;
    Some((media_type.split(';').next().unwrap_or(media_type), data))
}

/// Ids may hold letters, digits, `_` and `-` only.
fn tool_id(id: &str) -> String {
    let id: String = id
        .chars()
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => c,
            _ => '_',
        })
        .collect();
    if id.is_empty() { "call".to_owned() } else { id }
}
