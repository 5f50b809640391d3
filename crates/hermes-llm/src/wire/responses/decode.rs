//! Answers in the Responses format.

use hermes_types::Usage;
use serde_json::{Value, json};

use super::ISSUER;
use crate::error::Fault;
use crate::model::{Delta, FinishReason};
use crate::sse::SseEvent;
use crate::wire::Decoder;
use crate::wire::codec::{Ending, count, parse};

#[derive(Debug, Default)]
pub struct ResponsesDecoder {
    issuer: String,
    calls: Vec<Call>,
    /// Text that was delivered, to tell leaked calls and to fill gaps.
    text: String,
    reasoning_parts: u32,
    /// A message that the model itself calls preliminary was the last one.
    preliminary: bool,
    final_message: bool,
    status: Option<String>,
    ending: Ending,
}

#[derive(Debug)]
struct Call {
    item: String,
    output_index: Option<u64>,
    any: bool,
}

impl ResponsesDecoder {
    /// `issuer` is remembered with items that only the same issuer takes back.
    pub fn new(issuer: &str) -> Self {
        Self {
            issuer: issuer.to_owned(),
            ..Self::default()
        }
    }
}

impl Decoder for ResponsesDecoder {
    fn event(&mut self, event: &SseEvent, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let text = event.data.trim();
        if text.is_empty() || text == "[DONE]" {
            return Ok(());
        }
        let data = parse(event)?;
        let kind = data["type"].as_str().unwrap_or(&event.name).to_owned();
        match kind.as_str() {
            "response.output_text.delta" => self.push_text(&data["delta"], out),
            "response.reasoning_summary_part.added" => {
                if self.reasoning_parts > 0 {
                    out.push(Delta::Reasoning("\n\n".to_owned()));
                }
                self.reasoning_parts += 1;
            }
            "response.output_item.added" if data["item"]["type"] == "function_call" => {
                self.open_call(&data, out);
            }
            "response.function_call_arguments.delta" => self.extend_call(&data, out),
            "response.output_item.done" => {
                self.take_item(&data["item"], data["output_index"].as_u64(), out);
            }
            "response.completed" | "response.incomplete" | "response.done" => {
                self.take_response(&data["response"], out);
            }
            "response.failed" => {
                let error = &data["response"]["error"];
                return Err(Fault::reported(if error.is_null() { &data } else { error }));
            }
            "error" => {
                let error = &data["error"];
                return Err(Fault::reported(if error.is_object() {
                    error
                } else {
                    &data
                }));
            }
            other if other.contains("reasoning") && other.ends_with(".delta") => {
                if let Some(text) = data["delta"].as_str().filter(|text| !text.is_empty()) {
                    out.push(Delta::Reasoning(text.to_owned()));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, body: &Value, out: &mut Vec<Delta>) -> Result<(), Fault> {
        if body["error"].is_object() {
            return Err(Fault::reported(&body["error"]));
        }
        for (index, item) in body["output"].as_array().into_iter().flatten().enumerate() {
            if item["type"] == "reasoning" {
                let summary = item["summary"].as_array().into_iter().flatten();
                let text: Vec<&str> = summary.filter_map(|part| part["text"].as_str()).collect();
                if !text.is_empty() {
                    out.push(Delta::Reasoning(text.join("\n\n")));
                }
            }
            self.take_item(item, Some(index as u64), out);
        }
        self.take_response(body, out);
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<Delta>) -> Result<(), Fault> {
        self.ending.check_cut()?;
        let cut = self.status.as_deref() == Some("incomplete");
        let interim = self.preliminary && !self.final_message;
        let incomplete = cut
            || interim
            || (self.text.is_empty() && !self.ending.has_calls && self.ending.anything)
            || self.text.contains("to=functions.");
        if self.ending.reason.is_none() {
            self.ending.reason = Some(if self.ending.has_calls && cut {
                // The last call may lack some of its arguments.
                FinishReason::Length
            } else if self.ending.has_calls {
                FinishReason::ToolCalls
            } else if incomplete {
                if interim && !cut {
                    // What comes next is another message, not the rest of this one.
                    out.push(Delta::Text("\n\n".to_owned()));
                }
                FinishReason::Incomplete
            } else {
                FinishReason::Stop
            });
        }
        self.ending.deliver(out)
    }

    fn is_complete(&self) -> bool {
        self.ending.complete
    }

    fn has_reason(&self) -> bool {
        self.status.is_some()
    }
}

impl ResponsesDecoder {
    fn push_text(&mut self, text: &Value, out: &mut Vec<Delta>) {
        if let Some(text) = text.as_str().filter(|text| !text.is_empty()) {
            self.ending.anything = true;
            self.text.push_str(text);
            out.push(Delta::Text(text.to_owned()));
        }
    }

    fn open_call(&mut self, data: &Value, out: &mut Vec<Delta>) -> usize {
        let item = &data["item"];
        self.ending.anything = true;
        self.ending.has_calls = true;
        let slot = self.calls.len();
        out.push(Delta::ToolCall {
            slot: slot as u32,
            id: item["call_id"].as_str().unwrap_or("").to_owned(),
            name: item["name"].as_str().unwrap_or("").to_owned(),
            extra: None,
        });
        self.calls.push(Call {
            item: item["id"].as_str().unwrap_or("").to_owned(),
            output_index: data["output_index"].as_u64(),
            any: false,
        });
        slot
    }

    fn find_call(&self, item: &str, output_index: Option<u64>) -> Option<usize> {
        self.calls.iter().position(|call| {
            (!item.is_empty() && call.item == item)
                || (output_index.is_some() && call.output_index == output_index)
        })
    }

    fn extend_call(&mut self, data: &Value, out: &mut Vec<Delta>) {
        let item = data["item_id"].as_str().unwrap_or("");
        let Some(slot) = self.find_call(item, data["output_index"].as_u64()) else {
            return;
        };
        if let Some(text) = data["delta"].as_str().filter(|text| !text.is_empty()) {
            self.calls[slot].any = true;
            out.push(Delta::Arguments {
                slot: slot as u32,
                text: text.to_owned(),
            });
        }
    }

    /// A finished item. Whatever of it was not delivered in pieces comes now.
    fn take_item(&mut self, item: &Value, output_index: Option<u64>, out: &mut Vec<Delta>) {
        self.ending.anything = true;
        match item["type"].as_str() {
            Some("function_call") => {
                let id = item["id"].as_str().unwrap_or("");
                let slot = match self.find_call(id, output_index) {
                    Some(slot) => slot,
                    None => {
                        self.open_call(&json!({"item": item, "output_index": output_index}), out)
                    }
                };
                let arguments = item["arguments"].as_str().unwrap_or("");
                if !self.calls[slot].any && !arguments.is_empty() {
                    self.calls[slot].any = true;
                    out.push(Delta::Arguments {
                        slot: slot as u32,
                        text: arguments.to_owned(),
                    });
                }
            }
            Some("message") => {
                let whole: String = item["content"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|part| part["text"].as_str())
                    .collect();
                if !whole.is_empty() && !self.text.ends_with(&whole) {
                    self.push_text(&json!(whole), out);
                }
                let phase = item["phase"].as_str().unwrap_or("");
                if matches!(phase, "commentary" | "analysis") {
                    self.preliminary = true;
                } else {
                    self.final_message = true;
                }
                // Goes back as it was, with the id, status and phase it had.
                if !whole.is_empty() && (!phase.is_empty() || item["id"].is_string()) {
                    out.push(Delta::ReasoningDetail(self.minted(item)));
                }
            }
            Some("reasoning") if item["encrypted_content"].is_string() => {
                out.push(Delta::ReasoningDetail(self.minted(item)));
            }
            _ => {}
        }
    }

    fn minted(&self, item: &Value) -> Value {
        let mut item = item.clone();
        item[ISSUER] = json!(self.issuer);
        item
    }

    fn take_response(&mut self, response: &Value, out: &mut Vec<Delta>) {
        self.ending.complete = true;
        self.status = Some(
            response["status"]
                .as_str()
                .unwrap_or("completed")
                .to_owned(),
        );
        if response["usage"].is_object() {
            let usage = &response["usage"];
            let cached = count(&usage["input_tokens_details"]["cached_tokens"]);
            self.ending.usage = Some(Usage {
                input: count(&usage["input_tokens"]).saturating_sub(cached),
                output: count(&usage["output_tokens"]),
                cache_read: cached,
                cache_write: 0,
                reasoning: count(&usage["output_tokens_details"]["reasoning_tokens"]),
            });
        }
        if response["incomplete_details"]["reason"] == "content_filter" {
            self.ending.reason = Some(FinishReason::ContentFilter);
        }
        // Some servers send no item events, only the list at the end.
        if !self.ending.anything {
            for (index, item) in response["output"]
                .as_array()
                .into_iter()
                .flatten()
                .enumerate()
            {
                self.take_item(item, Some(index as u64), out);
            }
        }
    }
}
