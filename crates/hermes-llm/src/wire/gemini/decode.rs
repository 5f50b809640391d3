//! Answers in the Gemini format. Every event is a whole response with the parts
//! that are new.

use hermes_types::Usage;
use serde_json::{Value, json};

use crate::error::Fault;
use crate::model::{Delta, FinishReason};
use crate::sse::SseEvent;
use crate::wire::codec::{Ending, count, parse};
use crate::wire::{Decoder, missing_call_id};

#[derive(Debug, Default)]
pub struct GeminiDecoder {
    calls: u32,
    ending: Ending,
}

impl Decoder for GeminiDecoder {
    fn event(&mut self, event: &SseEvent, out: &mut Vec<Delta>) -> Result<(), Fault> {
        if event.data.trim().is_empty() {
            return Ok(());
        }
        let data = parse(event)?;
        self.take(&data, out)
    }

    fn whole(&mut self, body: &Value, out: &mut Vec<Delta>) -> Result<(), Fault> {
        // Without `alt=sse` a stream is one JSON list.
        match body {
            Value::Array(events) => events.iter().try_for_each(|event| self.take(event, out))?,
            body => self.take(body, out)?,
        }
        self.ending.complete = true;
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<Delta>) -> Result<(), Fault> {
        self.ending.check_cut()?;
        self.ending.deliver(out)
    }

    /// There is no end marker; the body simply ends.
    fn is_complete(&self) -> bool {
        self.ending.complete
    }

    fn has_reason(&self) -> bool {
        self.ending.reason.is_some()
    }
}

impl GeminiDecoder {
    fn take(&mut self, data: &Value, out: &mut Vec<Delta>) -> Result<(), Fault> {
        if data["error"].is_object() {
            return Err(Fault::reported(&data["error"]));
        }
        if let Some(reason) = data["promptFeedback"]["blockReason"].as_str() {
            return Err(Fault::reported(&json!({
                "code": 400,
                "message": format!("the prompt was blocked (content_filter: {reason})"),
            })));
        }
        let candidate = &data["candidates"][0];
        for part in candidate["content"]["parts"]
            .as_array()
            .into_iter()
            .flatten()
        {
            self.take_part(part, out);
        }
        if let Some(reason) = candidate["finishReason"].as_str() {
            self.ending.anything = true;
            self.ending.reason = Some(match reason {
                "STOP" => FinishReason::Stop,
                "MAX_TOKENS" => FinishReason::Length,
                "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => {
                    FinishReason::ContentFilter
                }
                other => FinishReason::Other(other.to_ascii_lowercase()),
            });
        }
        let usage = &data["usageMetadata"];
        if usage.is_object() {
            let cached = count(&usage["cachedContentTokenCount"]);
            let thoughts = count(&usage["thoughtsTokenCount"]);
            self.ending.usage = Some(Usage {
                input: count(&usage["promptTokenCount"]).saturating_sub(cached),
                output: count(&usage["candidatesTokenCount"]) + thoughts,
                cache_read: cached,
                cache_write: 0,
                reasoning: thoughts,
            });
        }
        Ok(())
    }

    fn take_part(&mut self, part: &Value, out: &mut Vec<Delta>) {
        self.ending.anything = true;
        if let Some(text) = part["text"].as_str().filter(|text| !text.is_empty()) {
            out.push(if part["thought"] == true {
                Delta::Reasoning(text.to_owned())
            } else {
                Delta::Text(text.to_owned())
            });
        }
        let call = &part["functionCall"];
        if let Some(name) = call["name"].as_str() {
            let slot = self.calls;
            self.calls += 1;
            self.ending.has_calls = true;
            let arguments = match &call["args"] {
                args @ Value::Object(_) => args.to_string(),
                _ => "{}".to_owned(),
            };
            let extra = part["thoughtSignature"]
                .as_str()
                .map(|signature| json!({"google": {"thought_signature": signature}}));
            let id = match call["id"].as_str() {
                Some(id) if !id.is_empty() => id.to_owned(),
                _ => missing_call_id(name, &arguments, slot as usize),
            };
            out.push(Delta::ToolCall {
                slot,
                id,
                name: name.to_owned(),
                extra,
            });
            out.push(Delta::Arguments {
                slot,
                text: arguments,
            });
        }
    }
}
