//! Requests in the chat-completions format. The same history yields the same
//! bytes: texts are trimmed, arguments canonical, keys in a fixed order.

use hermes_types::{Content, Message, Part, Role};
use serde_json::{Map, Value, json};

use crate::model::{Effort, Request};
use crate::wire::form::temperature;
use crate::wire::{
    Echo, Form, OutputCapField, ReasoningStyle, SessionHint, canonical_arguments, schema, tidy,
};

/// What stands in for a picture that a model cannot see.
const NO_PICTURE: &str = "[picture left out: this model reads text only]";

pub fn encode(request: &Request, form: &Form) -> Value {
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.trim().is_empty() {
        let role = if form.developer_role {
            "developer"
        } else {
            "system"
        };
        messages.push(json!({"role": role, "content": text_content(request.system.trim(), form)}));
    }
    messages.extend(
        tidy(&request.messages)
            .iter()
            .map(|message| encode_message(message, form)),
    );
    if let Some(markers) = form.cache {
        markers.mark_chat(&mut messages);
    }
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(form.model));
    body.insert("messages".to_owned(), Value::Array(messages));
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| {
                json!({"type": "function", "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": schema::for_form(&tool.parameters, form),
                }})
            })
            .collect();
        body.insert("tools".to_owned(), Value::Array(tools));
    }
    if !form.mend.no_stream {
        body.insert("stream".to_owned(), json!(true));
        body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    add_limits(&mut body, request, form);
    match (form.session, &request.session) {
        (SessionHint::Body, Some(session)) => {
            body.insert("session_id".to_owned(), json!(&**session));
        }
        (SessionHint::Metadata, Some(session)) => {
            // Each request of a session has a name of its own, the same if repeated.
            let prompt = format!("{session}-{}", request.messages.len());
            body.insert(
                "metadata".to_owned(),
                json!({"sessionId": &**session, "promptId": prompt}),
            );
        }
        _ => {}
    }
    if let Some(tier) = &form.service_tier {
        body.insert("service_tier".to_owned(), json!(tier));
    }
    form.merge_extra(&mut body);
    Value::Object(body)
}

fn add_limits(body: &mut Map<String, Value>, request: &Request, form: &Form) {
    let cap = request.limits.max_output_tokens.or(form.default_output);
    if let Some(cap) = cap.filter(|_| !form.mend.no_output_cap && !form.no_output_cap) {
        let field = match form.output_cap_field {
            OutputCapField::MaxTokens => "max_tokens",
            OutputCapField::MaxCompletionTokens => "max_completion_tokens",
        };
        body.insert(field.to_owned(), json!(cap));
    }
    if let Some(value) = request.limits.temperature
        && !form.no_temperature
        && !form.mend.no_temperature
    {
        body.insert("temperature".to_owned(), temperature(value));
    }
    add_reasoning(body, request.limits.effort, form);
}

/// Models that take `reasoning` through a router.
const ROUTED_REASONERS: [&str; 9] = [
    "deepseek/",
    "anthropic/",
    "openai/",
    "x-ai/",
    "google/gemini-2",
    "google/gemma-4",
    "qwen/qwen3",
    "tencent/hy3-preview",
    "xiaomi/",
];

fn add_reasoning(body: &mut Map<String, Value>, effort: Option<Effort>, form: &Form) {
    let off = effort == Some(Effort::None);
    let mut put = |name: &str, value: Value| {
        body.insert(name.to_owned(), value);
    };
    let router = || match effort {
        Some(Effort::None) => json!({"enabled": false}),
        chosen => {
            json!({"enabled": true, "effort": chosen.unwrap_or(Effort::Medium).as_str()})
        }
    };
    match form.reasoning {
        ReasoningStyle::None => {}
        ReasoningStyle::Router => {
            let model = form.model.to_ascii_lowercase();
            if ROUTED_REASONERS.iter().any(|p| model.starts_with(p)) {
                put("reasoning", router());
            }
        }
        ReasoningStyle::RouterAlways if off => {}
        ReasoningStyle::RouterAlways => put("reasoning", router()),
        ReasoningStyle::Thinking | ReasoningStyle::ThinkingMax => {
            let kind = if off { "disabled" } else { "enabled" };
            put("thinking", json!({"type": kind}));
            let highest = match form.reasoning {
                ReasoningStyle::ThinkingMax => "max",
                _ => "high",
            };
            match effort {
                Some(Effort::None) => {}
                None if form.reasoning == ReasoningStyle::Thinking => {
                    put("reasoning_effort", json!("medium"));
                }
                None => {}
                Some(Effort::XHigh) => put("reasoning_effort", json!(highest)),
                Some(Effort::Minimal) => put("reasoning_effort", json!("low")),
                Some(other) => put("reasoning_effort", json!(other.as_str())),
            }
        }
        ReasoningStyle::ThinkOff if off => put("think", json!(false)),
        ReasoningStyle::ThinkOff => {}
        ReasoningStyle::Effort | ReasoningStyle::EffortHigh => {
            let fallback = (form.reasoning == ReasoningStyle::EffortHigh).then_some(Effort::High);
            if let Some(word) = effort.or(fallback).and_then(|effort| offered(effort, form)) {
                put("reasoning_effort", json!(word));
            }
        }
    }
}

/// The word for an effort, if the model takes it or one that is near.
fn offered(effort: Effort, form: &Form) -> Option<&'static str> {
    let word = effort.as_str();
    let Some(efforts) = &form.efforts else {
        return Some(word);
    };
    let near: &[&'static str] = match effort {
        Effort::None => &["none", "off"],
        Effort::Minimal => &["minimal", "low", "on"],
        Effort::Low => &["low", "on"],
        Effort::Medium => &["medium", "on"],
        Effort::High => &["high", "on"],
        Effort::XHigh => &["xhigh", "high", "on"],
    };
    near.iter()
        .find(|word| efforts.iter().any(|known| known == *word))
        .copied()
}

fn encode_message(message: &Message, form: &Form) -> Value {
    let mut out = Map::new();
    out.insert("role".to_owned(), json!(message.role.as_str()));
    match message.role {
        Role::Assistant => {
            out.insert("content".to_owned(), content(&message.content, form, true));
            add_echo(&mut out, message, form);
            if !message.tool_calls.is_empty() {
                let calls = message.tool_calls.iter().map(|call| {
                    let mut value = json!({
                        "id": call.id, "type": "function",
                        "function": {"name": call.name, "arguments": canonical_arguments(&call.arguments)},
                    });
                    if let (true, Some(extra)) = (form.call_extra, &call.extra) {
                        value["extra_content"] = extra.clone();
                    }
                    value
                });
                out.insert("tool_calls".to_owned(), calls.collect());
            }
        }
        Role::Tool => {
            if let Some(name) = &message.tool_name {
                out.insert("name".to_owned(), json!(name));
            }
            let text_only = form.mend.tool_results_as_text;
            out.insert(
                "content".to_owned(),
                content(&message.content, form, text_only),
            );
            out.insert("tool_call_id".to_owned(), json!(message.tool_call_id));
        }
        Role::User | Role::System => {
            out.insert("content".to_owned(), content(&message.content, form, false));
        }
    }
    Value::Object(out)
}

/// Reasoning that goes back: as text where the endpoint wants it, as the blocks
/// that a router sent where there are some.
fn add_echo(out: &mut Map<String, Value>, message: &Message, form: &Form) {
    let routed = matches!(
        form.reasoning,
        ReasoningStyle::Router | ReasoningStyle::RouterAlways
    );
    // Endpoints that insist on their reasoning send it as plain text. Blocks mean
    // that another provider thought this, and its thoughts are refused beside calls.
    let foreign = form.echo == Echo::Always
        && !routed
        && !message.tool_calls.is_empty()
        && message.reasoning_details.is_some();
    let stored = message
        .reasoning
        .as_deref()
        .map(str::trim)
        .filter(|text| !text.is_empty() && !foreign);
    let text = match form.echo {
        Echo::Never => None,
        Echo::Stored => stored,
        Echo::Always => Some(stored.unwrap_or(" ")),
    };
    if let Some(text) = text {
        out.insert("reasoning_content".to_owned(), json!(text));
    }
    if !routed || form.mend.no_reasoning_details {
        return;
    }
    let blocks: Vec<&Value> = message
        .reasoning_details
        .as_ref()
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|block| {
            block["type"]
                .as_str()
                .is_some_and(|kind| kind.starts_with("reasoning."))
        })
        .collect();
    if !blocks.is_empty() {
        out.insert("reasoning_details".to_owned(), json!(blocks));
    }
}

fn text_content(text: &str, form: &Form) -> Value {
    if form.content_as_parts {
        json!([{"type": "text", "text": text}])
    } else {
        json!(text)
    }
}

fn content(content: &Content, form: &Form, text_only: bool) -> Value {
    match content {
        Content::Text(text) => text_content(text.trim(), form),
        Content::Parts(parts) if text_only || form.mend.no_images => {
            let texts: Vec<&str> = parts
                .iter()
                .map(|part| match part {
                    Part::Text { text } => text.trim(),
                    Part::Image { .. } => NO_PICTURE,
                })
                .collect();
            text_content(&texts.join("\n"), form)
        }
        Content::Parts(parts) => parts
            .iter()
            .map(|part| match part {
                Part::Text { text } => json!({"type": "text", "text": text.trim()}),
                Part::Image { url } => json!({"type": "image_url", "image_url": {"url": url}}),
            })
            .collect(),
    }
}
