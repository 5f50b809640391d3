//! Requests in the Gemini format.

use hermes_types::{Content, Message, Part, Role};
use serde_json::{Map, Value, json};

use crate::model::{Effort, Request};
use crate::wire::anthropic::data_url;
use crate::wire::form::temperature;
use crate::wire::{Form, SchemaDialect, schema, tidy};

const NO_PICTURE: &str = "[picture left out: this model reads text only]";
/// The cap of a request that asks for none.
pub(crate) const DEFAULT_OUTPUT: u32 = 65_535;

pub fn encode(request: &Request, form: &Form) -> Value {
    let mut contents: Vec<(&'static str, Vec<Value>)> = Vec::new();
    for message in tidy(&request.messages) {
        let (role, parts) = encode_message(&message, form);
        match contents.last_mut() {
            Some((last, known)) if *last == role => known.extend(parts),
            _ => contents.push((role, parts)),
        }
    }
    let contents: Vec<Value> = contents
        .into_iter()
        .map(|(role, mut parts)| {
            if parts.is_empty() {
                parts.push(json!({"text": " "}));
            }
            json!({"role": role, "parts": parts})
        })
        .collect();
    let mut body = Map::new();
    body.insert("contents".to_owned(), Value::Array(contents));
    let system = request.system.trim();
    if !system.is_empty() {
        body.insert(
            "systemInstruction".to_owned(),
            json!({"parts": [{"text": system}]}),
        );
    }
    if !request.tools.is_empty() {
        let reduced = Form {
            schema: SchemaDialect::Gemini,
            ..form.clone()
        };
        let declarations: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| {
                json!({
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": schema::for_form(&tool.parameters, &reduced),
                })
            })
            .collect();
        body.insert(
            "tools".to_owned(),
            json!([{"functionDeclarations": declarations}]),
        );
        body.insert(
            "toolConfig".to_owned(),
            json!({"functionCallingConfig": {"mode": "AUTO"}}),
        );
    }
    body.insert("generationConfig".to_owned(), generation(request, form));
    form.merge_extra(&mut body);
    Value::Object(body)
}

fn generation(request: &Request, form: &Form) -> Value {
    let limits = &request.limits;
    let cap = limits
        .max_output_tokens
        .or(form.default_output)
        .unwrap_or(DEFAULT_OUTPUT);
    let mut config = json!({"maxOutputTokens": cap});
    if let Some(value) = limits.temperature
        && !form.no_temperature
        && !form.mend.no_temperature
    {
        config["temperature"] = temperature(value);
    }
    if let Some(effort) = limits.effort {
        config["thinkingConfig"] = thinking(&form.model, effort);
    }
    config
}

/// The third generation knows levels, the flash models one more than the others.
fn thinking(model: &str, effort: Effort) -> Value {
    if effort == Effort::None {
        return json!({"includeThoughts": false});
    }
    let mut config = json!({"includeThoughts": true});
    if model.contains("gemini-3") {
        let flash = model.contains("flash");
        config["thinkingLevel"] = json!(match effort {
            Effort::None | Effort::Minimal | Effort::Low => "low",
            Effort::Medium if flash => "medium",
            Effort::Medium => "low",
            Effort::High | Effort::XHigh => "high",
        });
    }
    config
}

fn encode_message(message: &Message, form: &Form) -> (&'static str, Vec<Value>) {
    match message.role {
        Role::User | Role::System => ("user", parts(&message.content, form)),
        Role::Assistant => {
            let mut out = parts(&message.content, form);
            out.extend(message.tool_calls.iter().map(|call| {
                let mut args = serde_json::from_str::<Value>(&call.arguments)
                    .ok()
                    .filter(Value::is_object)
                    .unwrap_or_else(|| json!({}));
                args.sort_all_objects();
                let mut part = json!({"functionCall": {"name": call.name, "args": args}});
                let signature = call
                    .extra
                    .as_ref()
                    .map(|extra| &extra["google"]["thought_signature"]);
                if let Some(signature) = signature.filter(|s| s.is_string()) {
                    part["thoughtSignature"] = signature.clone();
                }
                part
            }));
            ("model", out)
        }
        Role::Tool => {
            let text = message.content.text();
            let response = match serde_json::from_str::<Value>(&text) {
                Ok(value @ Value::Object(_)) => value,
                _ => json!({"output": text.trim()}),
            };
            let name = message.tool_name.as_deref().unwrap_or("tool");
            let mut out = vec![json!({"functionResponse": {"name": name, "response": response}})];
            if let Content::Parts(parts) = &message.content
                && !form.mend.tool_results_as_text
            {
                out.extend(
                    parts
                        .iter()
                        .filter(|part| matches!(part, Part::Image { .. }))
                        .map(|part| encode_part(part, form)),
                );
            }
            ("user", out)
        }
    }
}

fn parts(content: &Content, form: &Form) -> Vec<Value> {
    match content {
        Content::Text(text) => match text.trim() {
            "" => Vec::new(),
            text => vec![json!({"text": text})],
        },
        Content::Parts(parts) => parts.iter().map(|part| encode_part(part, form)).collect(),
    }
}

fn encode_part(part: &Part, form: &Form) -> Value {
    match part {
        Part::Text { text } => json!({"text": text.trim()}),
        Part::Image { .. } if form.mend.no_images => json!({"text": NO_PICTURE}),
        Part::Image { url } => match data_url(url) {
            Some((media_type, data)) => {
                json!({"inlineData": {"mimeType": media_type, "data": data}})
            }
            None => json!({"fileData": {"fileUri": url}}),
        },
    }
}
