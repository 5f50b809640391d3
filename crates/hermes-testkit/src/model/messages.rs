//! Answers in the Anthropic format.

use serde_json::{Value, json};

use super::reply::{Emit, Ending, Reply, Step, Tokens};

fn usage(tokens: Tokens) -> Value {
    json!({
        "input_tokens": tokens.prompt.saturating_sub(tokens.cached + tokens.cache_written),
        "cache_read_input_tokens": tokens.cached,
        "cache_creation_input_tokens": tokens.cache_written,
        "output_tokens": tokens.completion,
    })
}

fn reason(reply: &Reply) -> Option<String> {
    match &reply.ending {
        Ending::Fitting if reply.calls() > 0 => Some("tool_use".to_owned()),
        Ending::Fitting => Some("end_turn".to_owned()),
        Ending::Reason(reason) => Some(reason.clone()),
        Ending::Missing => None,
    }
}

fn event(value: &Value) -> Emit {
    let name = value["type"].as_str().unwrap_or("");
    Emit::Bytes(format!("event: {name}\ndata: {value}\n\n").into_bytes())
}

pub(super) fn stream(reply: &Reply, model: &str, id: &str, request_bytes: usize) -> Vec<Emit> {
    let tokens = reply.tokens(request_bytes);
    let mut out = Vec::new();
    if !matches!(reply.steps.first(), Some(Step::Raw(_))) {
        let mut start = json!({"type": "message_start", "message": {
            "id": id, "type": "message", "role": "assistant", "model": model, "content": [], "stop_reason": null,
        }});
        if let Some(tokens) = tokens {
            start["message"]["usage"] = usage(Tokens {
                completion: 0,
                ..tokens
            });
        }
        out.push(event(&start));
    }
    let mut index = 0;
    let mut block = |out: &mut Vec<Emit>, start: Value, deltas: Vec<Value>| {
        out.push(event(
            &json!({"type": "content_block_start", "index": index, "content_block": start}),
        ));
        out.extend(deltas.into_iter().map(|delta| {
            event(&json!({"type": "content_block_delta", "index": index, "delta": delta}))
        }));
        out.push(event(
            &json!({"type": "content_block_stop", "index": index}),
        ));
        index += 1;
    };
    for step in &reply.steps {
        match step {
            Step::Text(text) => {
                let deltas = reply.split(text).into_iter();
                block(
                    &mut out,
                    json!({"type": "text", "text": ""}),
                    deltas
                        .map(|piece| json!({"type": "text_delta", "text": piece}))
                        .collect(),
                );
            }
            Step::Reasoning(text) => {
                let mut deltas: Vec<Value> = reply
                    .split(text)
                    .into_iter()
                    .map(|piece| json!({"type": "thinking_delta", "thinking": piece}))
                    .collect();
                deltas.push(json!({"type": "signature_delta", "signature": "c2lnbmVk"}));
                block(
                    &mut out,
                    json!({"type": "thinking", "thinking": "", "signature": ""}),
                    deltas,
                );
            }
            Step::ReasoningBlock(value) => block(&mut out, value.clone(), Vec::new()),
            Step::Call {
                id,
                name,
                arguments,
                ..
            } => {
                let deltas = reply.split(arguments).into_iter();
                block(
                    &mut out,
                    json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
                    deltas
                        .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}))
                        .collect(),
                );
            }
            other => out.extend(Emit::common(other)),
        }
    }
    if let Some(reason) = reason(reply) {
        let mut end = json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}});
        if let Some(tokens) = tokens {
            end["usage"] = json!({"output_tokens": tokens.completion});
        }
        out.push(event(&end));
        out.push(event(&json!({"type": "message_stop"})));
    }
    out
}

pub(super) fn whole(reply: &Reply, model: &str, id: &str, request_bytes: usize) -> Value {
    let content: Vec<Value> = reply
        .steps
        .iter()
        .filter_map(|step| match step {
            Step::Text(text) => Some(json!({"type": "text", "text": text})),
            Step::Reasoning(text) => {
                Some(json!({"type": "thinking", "thinking": text, "signature": "c2lnbmVk"}))
            }
            Step::ReasoningBlock(value) => Some(value.clone()),
            Step::Call {
                id,
                name,
                arguments,
                ..
            } => {
                let input: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
                Some(json!({"type": "tool_use", "id": id, "name": name, "input": input}))
            }
            _ => None,
        })
        .collect();
    let mut body = json!({
        "id": id, "type": "message", "role": "assistant", "model": model,
        "content": content, "stop_reason": reason(reply),
    });
    if let Some(tokens) = reply.tokens(request_bytes) {
        body["usage"] = usage(tokens);
    }
    body
}
