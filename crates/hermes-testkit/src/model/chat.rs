//! Answers in the chat-completions format.

use serde_json::{Map, Value, json};

use super::reply::{Emit, Ending, Reply, Step, Tokens};

const CREATED: u64 = 1_780_300_800;

fn usage(tokens: Tokens, charged: Option<f64>) -> Value {
    let mut usage = json!({
        "prompt_tokens": tokens.prompt,
        "completion_tokens": tokens.completion,
        "total_tokens": tokens.prompt + tokens.completion,
    });
    if tokens.cached > 0 || tokens.cache_written > 0 {
        usage["prompt_tokens_details"] = json!({
            "cached_tokens": tokens.cached,
            "cache_write_tokens": tokens.cache_written,
        });
    }
    if tokens.reasoning > 0 {
        usage["completion_tokens_details"] = json!({"reasoning_tokens": tokens.reasoning});
    }
    if let Some(dollars) = charged {
        usage["cost"] = json!(dollars);
    }
    usage
}

fn reason(reply: &Reply) -> Option<String> {
    match &reply.ending {
        Ending::Fitting if reply.calls() > 0 => Some("tool_calls".to_owned()),
        Ending::Fitting => Some("stop".to_owned()),
        Ending::Reason(reason) => Some(reason.clone()),
        Ending::Missing => None,
    }
}

pub(super) fn stream(reply: &Reply, model: &str, id: &str, request_bytes: usize) -> Vec<Emit> {
    let chunk = |choices: Value| json!({"id": id, "object": "chat.completion.chunk", "created": CREATED, "model": model, "choices": choices});
    let delta = |delta: Value| {
        Emit::data(&chunk(
            json!([{"index": 0, "delta": delta, "finish_reason": null}]),
        ))
    };
    let mut out = Vec::new();
    // A recorded stream brings its own first event.
    if !matches!(reply.steps.first(), Some(Step::Raw(_))) {
        out.push(delta(json!({"role": "assistant", "content": ""})));
    }
    let mut calls = 0;
    for step in &reply.steps {
        match step {
            Step::Text(text) => {
                out.extend(
                    reply
                        .split(text)
                        .into_iter()
                        .map(|piece| delta(json!({"content": piece}))),
                );
            }
            Step::Reasoning(text) => {
                out.extend(
                    reply
                        .split(text)
                        .into_iter()
                        .map(|piece| delta(json!({"reasoning_content": piece}))),
                );
            }
            Step::ReasoningBlock(block) => {
                out.push(delta(json!({"reasoning_details": [block]})));
            }
            Step::Call {
                id,
                name,
                arguments,
                extra,
            } => {
                let index = if reply.reuse_index { 0 } else { calls };
                calls += 1;
                let mut first = json!({
                    "index": index, "id": id, "type": "function",
                    "function": {"name": name, "arguments": ""},
                });
                if let Some(extra) = extra {
                    first["extra_content"] = extra.clone();
                }
                out.push(delta(json!({"tool_calls": [first]})));
                out.extend(reply.split(arguments).into_iter().map(|piece| {
                    delta(
                        json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}),
                    )
                }));
            }
            other => out.extend(Emit::common(other)),
        }
    }
    if let Some(reason) = reason(reply) {
        out.push(Emit::data(&chunk(
            json!([{"index": 0, "delta": {}, "finish_reason": reason}]),
        )));
        if let Some(tokens) = reply.tokens(request_bytes) {
            let mut last = chunk(json!([]));
            last["usage"] = usage(tokens, reply.charged);
            out.push(Emit::data(&last));
        }
        out.push(Emit::Bytes(b"data: [DONE]\n\n".to_vec()));
    }
    out
}

pub(super) fn whole(reply: &Reply, model: &str, id: &str, request_bytes: usize) -> Value {
    let mut message = Map::new();
    message.insert("role".to_owned(), json!("assistant"));
    message.insert("content".to_owned(), json!(reply.whole_text()));
    if let Some(reasoning) = reply.whole_reasoning() {
        message.insert("reasoning_content".to_owned(), json!(reasoning));
    }
    let calls: Vec<Value> = reply
        .steps
        .iter()
        .filter_map(|step| match step {
            Step::Call {
                id,
                name,
                arguments,
                extra,
            } => {
                let mut call = json!({
                    "id": id, "type": "function",
                    "function": {"name": name, "arguments": arguments},
                });
                if let Some(extra) = extra {
                    call["extra_content"] = extra.clone();
                }
                Some(call)
            }
            _ => None,
        })
        .collect();
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    let mut body = json!({
        "id": id, "object": "chat.completion", "created": CREATED, "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": reason(reply)}],
    });
    if let Some(tokens) = reply.tokens(request_bytes) {
        body["usage"] = usage(tokens, reply.charged);
    }
    body
}
