//! Answers in the Responses format.

use serde_json::{Value, json};

use super::reply::{Emit, Ending, Reply, Step, Tokens};

fn usage(tokens: Tokens) -> Value {
    json!({
        "input_tokens": tokens.prompt,
        "input_tokens_details": {"cached_tokens": tokens.cached},
        "output_tokens": tokens.completion,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": tokens.prompt + tokens.completion,
    })
}

/// The finished items of an answer.
fn items(reply: &Reply) -> Vec<Value> {
    reply
        .steps
        .iter()
        .enumerate()
        .filter_map(|(place, step)| match step {
            Step::Text(text) => Some(json!({
                "id": format!("msg_{place}"), "type": "message", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": text}],
            })),
            Step::Reasoning(text) => Some(json!({
                "id": format!("rs_{place}"), "type": "reasoning",
                "summary": [{"type": "summary_text", "text": text}],
            })),
            Step::ReasoningBlock(value) => Some(value.clone()),
            Step::Call { id, name, arguments, .. } => Some(json!({
                "id": format!("fc_{place}"), "type": "function_call", "status": "completed",
                "call_id": id, "name": name, "arguments": arguments,
            })),
            _ => None,
        })
        .collect()
}

/// The response object that ends a stream, or is the whole answer.
fn response(reply: &Reply, model: &str, id: &str, request_bytes: usize) -> Value {
    let (status, reason) = match &reply.ending {
        Ending::Reason(reason) => ("incomplete", Some(reason.clone())),
        Ending::Fitting | Ending::Missing => ("completed", None),
    };
    let mut body = json!({
        "id": id, "object": "response", "model": model, "status": status, "output": items(reply),
        "incomplete_details": reason.map(|reason| json!({"reason": reason})),
    });
    if let Some(tokens) = reply.tokens(request_bytes) {
        body["usage"] = usage(tokens);
    }
    body
}

fn event(value: &Value) -> Emit {
    let name = value["type"].as_str().unwrap_or("");
    Emit::Bytes(format!("event: {name}\ndata: {value}\n\n").into_bytes())
}

pub(super) fn stream(reply: &Reply, model: &str, id: &str, request_bytes: usize) -> Vec<Emit> {
    let mut out = Vec::new();
    if !matches!(reply.steps.first(), Some(Step::Raw(_))) {
        out.push(event(&json!({"type": "response.created", "response": {
            "id": id, "object": "response", "status": "in_progress", "output": [],
        }})));
    }
    let mut finished = items(reply).into_iter();
    let mut index = 0;
    for step in &reply.steps {
        if let Some(emit) = Emit::common(step) {
            out.push(emit);
            continue;
        }
        let Some(done) = finished.next() else {
            continue;
        };
        let mut added = done.clone();
        let (kind, text) = match step {
            Step::Text(text) => {
                added["content"] = json!([]);
                ("response.output_text.delta", text.as_str())
            }
            Step::Reasoning(text) => {
                added["summary"] = json!([]);
                ("response.reasoning_summary_text.delta", text.as_str())
            }
            Step::Call { arguments, .. } => {
                added["arguments"] = json!("");
                ("response.function_call_arguments.delta", arguments.as_str())
            }
            _ => ("", ""),
        };
        out.push(event(
            &json!({"type": "response.output_item.added", "output_index": index, "item": added}),
        ));
        if !kind.is_empty() {
            out.extend(reply.split(text).into_iter().map(|piece| {
                event(&json!({
                    "type": kind, "item_id": done["id"], "output_index": index, "delta": piece,
                }))
            }));
        }
        out.push(event(
            &json!({"type": "response.output_item.done", "output_index": index, "item": done}),
        ));
        index += 1;
    }
    if !matches!(reply.ending, Ending::Missing) {
        let response = response(reply, model, id, request_bytes);
        let kind = match response["status"].as_str() {
            Some("incomplete") => "response.incomplete",
            _ => "response.completed",
        };
        out.push(event(&json!({"type": kind, "response": response})));
    }
    out
}

pub(super) fn whole(reply: &Reply, model: &str, id: &str, request_bytes: usize) -> Value {
    response(reply, model, id, request_bytes)
}
