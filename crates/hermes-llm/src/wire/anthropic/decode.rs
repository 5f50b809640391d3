//! Answers in the Anthropic format.

use hermes_types::Usage;
use serde_json::{Value, json};

use crate::error::Fault;
use crate::model::{Delta, FinishReason};
use crate::sse::SseEvent;
use crate::wire::Decoder;
use crate::wire::codec::{Ending, count, parse};

#[derive(Debug, Default)]
pub struct AnthropicDecoder {
    /// The block under way.
    block: Block,
    calls: u32,
    usage: Usage,
    ending: Ending,
}

#[derive(Debug, Default)]
enum Block {
    #[default]
    None,
    Thinking {
        text: String,
        signature: String,
    },
    Call {
        slot: u32,
        input: Value,
        any: bool,
    },
}

impl Decoder for AnthropicDecoder {
    fn event(&mut self, event: &SseEvent, out: &mut Vec<Delta>) -> Result<(), Fault> {
        if event.data.trim().is_empty() {
            return Ok(());
        }
        let data = parse(event)?;
        match data["type"].as_str().unwrap_or(&event.name) {
            "message_start" => self.take_usage(&data["message"]["usage"]),
            "content_block_start" => self.start_block(&data["content_block"], out),
            "content_block_delta" => self.extend_block(&data["delta"], out),
            "content_block_stop" => self.stop_block(out),
            "message_delta" => {
                self.take_usage(&data["usage"]);
                self.take_reason(&data["delta"]["stop_reason"]);
            }
            "message_stop" => self.ending.complete = true,
            "error" => return Err(Fault::reported(&data["error"])),
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, body: &Value, out: &mut Vec<Delta>) -> Result<(), Fault> {
        if body["type"] == "error" || body["error"].is_object() {
            return Err(Fault::reported(&body["error"]));
        }
        self.take_usage(&body["usage"]);
        for block in body["content"].as_array().into_iter().flatten() {
            self.start_block(block, out);
            if block["type"] == "thinking" {
                let text = block["thinking"].as_str().unwrap_or("");
                let signature = block["signature"].as_str().unwrap_or("");
                if !text.is_empty() {
                    out.push(Delta::Reasoning(text.to_owned()));
                }
                self.block = Block::Thinking {
                    text: text.to_owned(),
                    signature: signature.to_owned(),
                };
            }
            self.stop_block(out);
        }
        self.take_reason(&body["stop_reason"]);
        self.ending.complete = true;
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<Delta>) -> Result<(), Fault> {
        self.ending.check_cut()?;
        self.stop_block(out);
        self.ending.deliver(out)
    }

    fn is_complete(&self) -> bool {
        self.ending.complete
    }

    fn has_reason(&self) -> bool {
        self.ending.reason.is_some()
    }
}

impl AnthropicDecoder {
    fn take_usage(&mut self, usage: &Value) {
        let Some(object) = usage.as_object() else {
            return;
        };
        // Later events repeat some counts and leave others out.
        let update = |name: &str, field: &mut u64| {
            if let Some(value) = object.get(name) {
                *field = count(value);
            }
        };
        update("input_tokens", &mut self.usage.input);
        update("output_tokens", &mut self.usage.output);
        update("cache_read_input_tokens", &mut self.usage.cache_read);
        update("cache_creation_input_tokens", &mut self.usage.cache_write);
        self.ending.usage = Some(self.usage);
    }

    fn take_reason(&mut self, reason: &Value) {
        let Some(reason) = reason.as_str() else {
            return;
        };
        // An empty answer with a reason is an answer.
        self.ending.anything = true;
        self.ending.reason = Some(match reason {
            "end_turn" | "stop_sequence" => FinishReason::Stop,
            "tool_use" => FinishReason::ToolCalls,
            "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
            "refusal" => FinishReason::ContentFilter,
            other => FinishReason::Other(other.to_owned()),
        });
    }

    fn start_block(&mut self, block: &Value, out: &mut Vec<Delta>) {
        self.stop_block(out);
        self.ending.anything = true;
        match block["type"].as_str() {
            Some("text") => push_text(&block["text"], out),
            Some("thinking") => {
                self.block = Block::Thinking {
                    text: String::new(),
                    signature: String::new(),
                };
            }
            Some("redacted_thinking") => out.push(Delta::ReasoningDetail(block.clone())),
            Some("tool_use") => {
                let slot = self.calls;
                self.calls += 1;
                self.ending.has_calls = true;
                out.push(Delta::ToolCall {
                    slot,
                    id: block["id"].as_str().unwrap_or("").to_owned(),
                    name: block["name"].as_str().unwrap_or("").to_owned(),
                    extra: None,
                });
                self.block = Block::Call {
                    slot,
                    input: block["input"].clone(),
                    any: false,
                };
            }
            _ => {}
        }
    }

    fn extend_block(&mut self, delta: &Value, out: &mut Vec<Delta>) {
        match delta["type"].as_str() {
            Some("text_delta") => push_text(&delta["text"], out),
            Some("thinking_delta") => {
                let more = delta["thinking"].as_str().unwrap_or("");
                if let Block::Thinking { text, .. } = &mut self.block {
                    text.push_str(more);
                }
                if !more.is_empty() {
                    out.push(Delta::Reasoning(more.to_owned()));
                }
            }
            Some("signature_delta") => {
                if let Block::Thinking { signature, .. } = &mut self.block {
                    signature.push_str(delta["signature"].as_str().unwrap_or(""));
                }
            }
            Some("input_json_delta") => {
                if let Block::Call { slot, any, .. } = &mut self.block
                    && let Some(text) = delta["partial_json"].as_str().filter(|t| !t.is_empty())
                {
                    *any = true;
                    out.push(Delta::Arguments {
                        slot: *slot,
                        text: text.to_owned(),
                    });
                }
            }
            _ => {}
        }
    }

    fn stop_block(&mut self, out: &mut Vec<Delta>) {
        match std::mem::take(&mut self.block) {
            Block::None => {}
            Block::Thinking { text, signature } => {
                let mut block = json!({"type": "thinking", "thinking": text});
                if !signature.is_empty() {
                    block["signature"] = json!(signature);
                }
                out.push(Delta::ReasoningDetail(block));
            }
            // Arguments that came with the block instead of in pieces.
            Block::Call { slot, input, any } => {
                if !any {
                    let text = match input {
                        Value::Object(_) => input.to_string(),
                        _ => "{}".to_owned(),
                    };
                    out.push(Delta::Arguments { slot, text });
                }
            }
        }
    }
}

fn push_text(text: &Value, out: &mut Vec<Delta>) {
    if let Some(text) = text.as_str().filter(|text| !text.is_empty()) {
        out.push(Delta::Text(text.to_owned()));
    }
}
