//! Answers in the chat-completions format.

use hermes_types::Usage;
use serde_json::{Map, Value};

use crate::error::Fault;
use crate::model::{Delta, FinishReason};
use crate::sse::SseEvent;
use crate::wire::Decoder;
use crate::wire::codec::{Ending, count, first_count, parse};

#[derive(Debug, Default)]
pub struct ChatDecoder {
    calls: Vec<Call>,
    /// Structured reasoning under way, one entry per index the server uses.
    reasoning: Vec<Map<String, Value>>,
    ending: Ending,
}

/// A call being put together. `announced` is what consumers have been told.
#[derive(Debug, Default)]
struct Call {
    /// The index the server uses for it; servers reuse them.
    index: Option<u64>,
    id: String,
    name: String,
    extra: Option<Value>,
    /// Arguments that came before the name.
    pending: String,
    /// All arguments so far, to tell whether they are whole.
    arguments: String,
    announced: Option<(String, String)>,
}

impl Decoder for ChatDecoder {
    fn event(&mut self, event: &SseEvent, out: &mut Vec<Delta>) -> Result<(), Fault> {
        if event.data.trim() == "[DONE]" {
            self.ending.complete = true;
            return Ok(());
        }
        if event.data.trim().is_empty() {
            return Ok(());
        }
        let chunk = parse(event)?;
        reported_error(&chunk)?;
        self.take_usage(&chunk);
        for choice in chunk["choices"].as_array().into_iter().flatten() {
            // Some servers send a whole message as the only event.
            let part = match &choice["delta"] {
                Value::Object(_) => &choice["delta"],
                _ => &choice["message"],
            };
            self.take_part(part, out);
            self.take_reason(choice);
        }
        Ok(())
    }

    fn whole(&mut self, body: &Value, out: &mut Vec<Delta>) -> Result<(), Fault> {
        reported_error(body)?;
        self.take_usage(body);
        if let Some(choice) = body["choices"].get(0) {
            self.take_part(&choice["message"], out);
            self.take_reason(choice);
        }
        self.ending.complete = true;
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let blocks = std::mem::take(&mut self.reasoning);
        out.extend(
            blocks
                .into_iter()
                .map(|block| Delta::ReasoningDetail(Value::Object(block))),
        );
        // Some servers give neither a reason nor an end marker; text of theirs is
        // taken as it is, half a call is not.
        if self.ending.check_cut().is_err() {
            if !self.calls.iter().all(Call::is_whole) {
                return Err(Fault::CutOff);
            }
            if self.calls.is_empty() {
                out.push(Delta::Warning(
                    "the provider ended its answer without saying that it is complete; it may lack its end"
                        .to_owned(),
                ));
            }
        }
        self.ending.deliver(out)
    }

    fn is_complete(&self) -> bool {
        self.ending.complete
    }

    fn has_reason(&self) -> bool {
        self.ending.reason.is_some()
    }
}

/// `{"error": …}` where an answer should be; routers send it inside a stream.
fn reported_error(body: &Value) -> Result<(), Fault> {
    let error = &body["error"];
    if error.is_null() || error == &Value::Bool(false) {
        return Ok(());
    }
    Err(Fault::reported(error))
}

impl ChatDecoder {
    fn take_usage(&mut self, body: &Value) {
        let usage = &body["usage"];
        if !usage.is_object() {
            return;
        }
        self.ending.usage = Some(read_usage(usage));
        self.ending.charged = usage["cost"].as_f64().or(self.ending.charged);
    }

    fn take_reason(&mut self, choice: &Value) {
        self.ending.anything = true;
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.ending.reason = Some(match reason {
                "stop" | "end_turn" | "eos" => FinishReason::Stop,
                "tool_calls" | "function_call" => FinishReason::ToolCalls,
                "length" | "max_tokens" => FinishReason::Length,
                "content_filter" => FinishReason::ContentFilter,
                other => FinishReason::Other(other.to_owned()),
            });
        }
    }

    fn take_part(&mut self, part: &Value, out: &mut Vec<Delta>) {
        let reasoning = part["reasoning_content"]
            .as_str()
            .filter(|text| !text.is_empty())
            .or_else(|| part["reasoning"].as_str())
            .unwrap_or("");
        if !reasoning.is_empty() {
            out.push(Delta::Reasoning(reasoning.to_owned()));
        }
        for block in part["reasoning_details"].as_array().into_iter().flatten() {
            self.take_reasoning_block(block);
        }
        let text = match &part["content"] {
            Value::String(text) => text.clone(),
            Value::Array(parts) => parts.iter().filter_map(|p| p["text"].as_str()).collect(),
            _ => String::new(),
        };
        if !text.is_empty() {
            out.push(Delta::Text(text));
        }
        for entry in part["tool_calls"].as_array().into_iter().flatten() {
            self.take_call(entry, out);
        }
    }

    /// Pieces of one block share an index; their texts are joined, other fields
    /// keep the newest value.
    fn take_reasoning_block(&mut self, block: &Value) {
        let Some(block) = block.as_object() else {
            return;
        };
        let same = |known: &&mut Map<String, Value>| {
            known.get("index") == block.get("index") && known.get("type") == block.get("type")
        };
        match self.reasoning.iter_mut().rev().find(same) {
            Some(known) if block.contains_key("index") => {
                for (name, value) in block {
                    match (known.get_mut(name), value) {
                        (Some(Value::String(text)), Value::String(more))
                            if matches!(name.as_str(), "text" | "summary" | "data") =>
                        {
                            text.push_str(more);
                        }
                        (_, Value::Null) => {}
                        _ => {
                            known.insert(name.clone(), value.clone());
                        }
                    }
                }
            }
            _ => self.reasoning.push(block.clone()),
        }
    }

    /// Deltas of a call are keyed by index. A different id on an index in use opens
    /// a new call: some servers send every parallel call as number 0.
    fn take_call(&mut self, entry: &Value, out: &mut Vec<Delta>) {
        let index = entry["index"].as_u64();
        let id = entry["id"].as_str().unwrap_or("");
        let current = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index),
            None if id.is_empty() => self.calls.len().checked_sub(1),
            None => self.calls.iter().rposition(|call| call.id == id),
        };
        let taken = current.is_some_and(|at| {
            let known = &self.calls[at].id;
            !id.is_empty() && !known.is_empty() && known != id
        });
        let at = match current {
            Some(at) if !taken => at,
            _ => {
                self.calls.push(Call {
                    index,
                    ..Call::default()
                });
                self.calls.len() - 1
            }
        };
        self.ending.has_calls = true;
        let call = &mut self.calls[at];
        if !id.is_empty() {
            call.id = id.to_owned();
        }
        let function = &entry["function"];
        if let Some(name) = function["name"].as_str().filter(|name| !name.is_empty()) {
            call.name = name.to_owned();
        }
        if !entry["extra_content"].is_null() {
            call.extra = Some(entry["extra_content"].clone());
        }
        match &function["arguments"] {
            Value::String(text) => call.pending.push_str(text),
            // Arguments as a value instead of as text: some local servers.
            value @ (Value::Object(_) | Value::Array(_)) => {
                call.pending.push_str(&value.to_string());
            }
            _ => {}
        }
        call.announce(at, out);
    }
}

impl Call {
    fn is_whole(&self) -> bool {
        !self.name.is_empty() && serde_json::from_str::<Map<String, Value>>(&self.arguments).is_ok()
    }

    /// Tells consumers what they do not know yet. A call without a name is not
    /// one yet.
    fn announce(&mut self, at: usize, out: &mut Vec<Delta>) {
        if self.name.is_empty() {
            return;
        }
        let slot = at as u32;
        let now = (self.id.clone(), self.name.clone());
        if self.announced.as_ref() != Some(&now) || self.extra.is_some() {
            out.push(Delta::ToolCall {
                slot,
                id: self.id.clone(),
                name: self.name.clone(),
                extra: self.extra.take(),
            });
            self.announced = Some(now);
        }
        if !self.pending.is_empty() {
            self.arguments.push_str(&self.pending);
            out.push(Delta::Arguments {
                slot,
                text: std::mem::take(&mut self.pending),
            });
        }
    }
}

/// Counts in the names that providers of this format use. `prompt_tokens` includes
/// what was cached; ours does not.
fn read_usage(usage: &Value) -> Usage {
    let details = &usage["prompt_tokens_details"];
    let cache_read = first_count(&[
        &details["cached_tokens"],
        &usage["cache_read_input_tokens"],
        &usage["prompt_cache_hit_tokens"],
    ]);
    let cache_write = first_count(&[
        &details["cache_write_tokens"],
        &details["cache_creation_tokens"],
        &usage["cache_creation_input_tokens"],
    ]);
    let prompt = first_count(&[&usage["prompt_tokens"], &usage["input_tokens"]]);
    Usage {
        input: prompt.saturating_sub(cache_read + cache_write),
        output: first_count(&[&usage["completion_tokens"], &usage["output_tokens"]]),
        cache_read,
        cache_write,
        reasoning: count(&usage["completion_tokens_details"]["reasoning_tokens"]),
    }
}
