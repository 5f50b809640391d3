//! Answers in the Gemini format.

use serde_json::{Value, json};

use super::reply::{Emit, Ending, Reply, Step, Tokens};

fn usage(tokens: Tokens) -> Value {
    json!({
        "promptTokenCount": tokens.prompt,
        "candidatesTokenCount": tokens.completion.saturating_sub(tokens.reasoning),
        "thoughtsTokenCount": tokens.reasoning,
        "cachedContentTokenCount": tokens.cached,
        "totalTokenCount": tokens.prompt + tokens.completion,
    })
}

fn reason(reply: &Reply) -> Option<String> {
    match &reply.ending {
        Ending::Fitting => Some("STOP".to_owned()),
        Ending::Reason(reason) => Some(reason.clone()),
        Ending::Missing => None,
    }
}

fn parts(reply: &Reply, step: &Step) -> Vec<Value> {
    match step {
        Step::Text(text) => reply
            .split(text)
            .into_iter()
            .map(|piece| json!({"text": piece}))
            .collect(),
        Step::Reasoning(text) => reply
            .split(text)
            .into_iter()
            .map(|piece| json!({"text": piece, "thought": true}))
            .collect(),
        Step::ReasoningBlock(value) => vec![value.clone()],
        Step::Call {
            name,
            arguments,
            extra,
            ..
        } => {
            let args: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
            let mut part = json!({"functionCall": {"name": name, "args": args}});
            if let Some(extra) = extra {
                part["thoughtSignature"] = extra.clone();
            }
            vec![part]
        }
        _ => Vec::new(),
    }
}

fn candidate(parts: &[Value], reason: Option<&str>) -> Value {
    let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
    if let Some(reason) = reason {
        candidate["finishReason"] = json!(reason);
    }
    json!({"candidates": [candidate]})
}

pub(super) fn stream(reply: &Reply, model: &str, request_bytes: usize) -> Vec<Emit> {
    let mut out = Vec::new();
    for step in &reply.steps {
        match Emit::common(step) {
            Some(emit) => out.push(emit),
            None => out.extend(
                parts(reply, step)
                    .into_iter()
                    .map(|part| Emit::data(&candidate(&[part], None))),
            ),
        }
    }
    if let Some(reason) = reason(reply) {
        let mut last = candidate(&[], Some(&reason));
        last["modelVersion"] = json!(model);
        if let Some(tokens) = reply.tokens(request_bytes) {
            last["usageMetadata"] = usage(tokens);
        }
        out.push(Emit::data(&last));
    }
    out
}

pub(super) fn whole(reply: &Reply, model: &str, request_bytes: usize) -> Value {
    let all: Vec<Value> = reply
        .steps
        .iter()
        .flat_map(|step| parts(reply, step))
        .collect();
    let mut body = candidate(&all, reason(reply).as_deref());
    body["modelVersion"] = json!(model);
    if let Some(tokens) = reply.tokens(request_bytes) {
        body["usageMetadata"] = usage(tokens);
    }
    body
}
