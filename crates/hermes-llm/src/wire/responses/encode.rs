//! Requests in the Responses format.

use hermes_types::{Content, Message, Part, Role};
use serde_json::{Map, Value, json};

use super::ISSUER;
use crate::model::{Effort, Request};
use crate::wire::form::temperature;
use crate::wire::{Form, ReasoningStyle, SessionHint, canonical_arguments, schema, tidy};

const NO_PICTURE: &str = "[picture left out: this model reads text only]";

pub fn encode(request: &Request, form: &Form) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(form.model));
    let system = request.system.trim();
    if !system.is_empty() {
        body.insert("instructions".to_owned(), json!(system));
    }
    let mut input = Vec::with_capacity(request.messages.len());
    for message in tidy(&request.messages) {
        encode_message(&message, form, &mut input);
    }
    body.insert("input".to_owned(), Value::Array(input));
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| {
                json!({
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "strict": false,
                    "parameters": schema::for_form(&tool.parameters, form),
                })
            })
            .collect();
        body.insert("tools".to_owned(), Value::Array(tools));
        body.insert("tool_choice".to_owned(), json!("auto"));
        body.insert("parallel_tool_calls".to_owned(), json!(true));
    }
    body.insert("store".to_owned(), json!(false));
    if !form.mend.no_stream {
        body.insert("stream".to_owned(), json!(true));
    }
    if let (SessionHint::CacheKey, Some(session)) = (form.session, &request.session) {
        body.insert("prompt_cache_key".to_owned(), json!(&**session));
    }
    add_limits(&mut body, request, form);
    if let Some(tier) = &form.service_tier {
        body.insert("service_tier".to_owned(), json!(tier));
    }
    form.merge_extra(&mut body);
    Value::Object(body)
}

fn add_limits(body: &mut Map<String, Value>, request: &Request, form: &Form) {
    let limits = &request.limits;
    if form.reasoning != ReasoningStyle::None && limits.effort != Some(Effort::None) {
        let word = match limits.effort.unwrap_or(Effort::Medium) {
            Effort::Minimal => "low",
            other => other.as_str(),
        };
        let reasoning = if form.no_reasoning_summary {
            json!({"effort": word})
        } else {
            json!({"effort": word, "summary": "auto"})
        };
        body.insert("reasoning".to_owned(), reasoning);
    }
    if form.reasoning != ReasoningStyle::None {
        body.insert("include".to_owned(), json!(["reasoning.encrypted_content"]));
    }
    let cap = limits.max_output_tokens.or(form.default_output);
    if let Some(cap) = cap.filter(|_| !form.no_output_cap && !form.mend.no_output_cap) {
        body.insert("max_output_tokens".to_owned(), json!(cap));
    }
    if let Some(value) = limits.temperature
        && !form.no_temperature
        && !form.mend.no_temperature
    {
        body.insert("temperature".to_owned(), temperature(value));
    }
}

fn encode_message(message: &Message, form: &Form, input: &mut Vec<Value>) {
    match message.role {
        Role::User | Role::System => {
            input.push(json!({"role": "user", "content": parts(&message.content, form)}));
        }
        Role::Assistant => {
            let mut own = own_items(message, form);
            let text = message.content.text();
            // Items that say less or more than the message did are not what it said:
            // an answer may have been joined from several, or shortened.
            let whole = same_words(&own, &text);
            own.retain(|item| whole || item["type"] != "message");
            input.extend(own);
            if !whole && !text.trim().is_empty() {
                input.push(json!({
                    "type": "message", "role": "assistant",
                    "content": [{"type": "output_text", "text": text.trim()}],
                }));
            }
            input.extend(message.tool_calls.iter().map(|call| {
                json!({
                    "type": "function_call", "call_id": call.id, "name": call.name,
                    "arguments": canonical_arguments(&call.arguments),
                })
            }));
        }
        Role::Tool => {
            let output = match &message.content {
                Content::Parts(_) if !form.mend.tool_results_as_text && !form.mend.no_images => {
                    parts(&message.content, form)
                }
                content => json!(content.text().trim()),
            };
            input.push(json!({
                "type": "function_call_output", "call_id": message.tool_call_id, "output": output,
            }));
        }
    }
}

/// Whether the message items among these say what the text says.
fn same_words(items: &[Value], text: &str) -> bool {
    let said = items
        .iter()
        .filter(|item| item["type"] == "message")
        .flat_map(|item| item["content"].as_array().into_iter().flatten())
        .filter_map(|part| part["text"].as_str())
        .flat_map(str::split_whitespace)
        .flat_map(str::chars);
    let mut said = said.peekable();
    said.peek().is_some() && said.eq(text.split_whitespace().flat_map(str::chars))
}

/// Items that the same issuer minted and accepts back unchanged.
fn own_items(message: &Message, form: &Form) -> Vec<Value> {
    if form.mend.no_reasoning_details {
        return Vec::new();
    }
    message
        .reasoning_details
        .as_ref()
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|item| item[ISSUER].as_str() == Some(form.issuer.as_str()))
        .filter(|item| match item["type"].as_str() {
            Some("reasoning") => item["encrypted_content"].is_string(),
            Some("message") => true,
            _ => false,
        })
        .map(|item| {
            let mut item = item.clone();
            if let Some(object) = item.as_object_mut() {
                object.remove(ISSUER);
                if object.get("type") == Some(&json!("reasoning")) {
                    object.remove("id");
                    object.entry("summary").or_insert_with(|| json!([]));
                }
            }
            item
        })
        .collect()
}

fn parts(content: &Content, form: &Form) -> Value {
    let text = |text: &str| json!({"type": "input_text", "text": text});
    match content {
        Content::Text(plain) => json!([text(plain.trim())]),
        Content::Parts(parts) => parts
            .iter()
            .map(|part| match part {
                Part::Text { text: plain } => text(plain.trim()),
                Part::Image { .. } if form.mend.no_images => text(NO_PICTURE),
                Part::Image { url } => json!({"type": "input_image", "image_url": url}),
            })
            .collect(),
    }
}
