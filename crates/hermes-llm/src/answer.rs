//! A whole answer, put together from its deltas.

use futures_util::StreamExt;
use hermes_types::{Content, Message, Role, ToolCall, Usage};
use serde_json::Value;

use crate::model::{Delta, DeltaStream, FinishReason, ModelError};
use crate::wire::missing_call_id;

/// Everything an answer held. Push deltas in order; `Restarted` forgets what came
/// before it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    pub text: String,
    pub reasoning: String,
    pub reasoning_details: Vec<Value>,
    pub calls: Vec<ToolCall>,
    pub usage: Option<Usage>,
    pub charged: Option<f64>,
    /// `None` until the answer is complete.
    pub finish: Option<FinishReason>,
    pub notices: Vec<String>,
    slots: Vec<u32>,
}

impl Answer {
    pub fn push(&mut self, delta: Delta) {
        match delta {
            Delta::Text(text) => self.text.push_str(&text),
            Delta::Reasoning(text) => self.reasoning.push_str(&text),
            Delta::ReasoningDetail(block) => self.reasoning_details.push(block),
            Delta::ToolCall {
                slot,
                id,
                name,
                extra,
            } => {
                let call = self.call(slot);
                call.id = id;
                call.name = name;
                call.extra = extra.or(call.extra.take());
            }
            Delta::Arguments { slot, text } => self.call(slot).arguments.push_str(&text),
            Delta::Usage(usage) => self.usage = Some(usage),
            Delta::Charged(dollars) => self.charged = Some(dollars),
            Delta::Finish(reason) => {
                self.finish = Some(reason);
                self.fill_ids();
            }
            Delta::Notice(text) | Delta::Warning(text) => self.notices.push(text),
            Delta::Restarted => {
                let notices = std::mem::take(&mut self.notices);
                *self = Self {
                    notices,
                    ..Self::default()
                };
            }
        }
    }

    fn call(&mut self, slot: u32) -> &mut ToolCall {
        let at = match self.slots.iter().position(|known| *known == slot) {
            Some(at) => at,
            None => {
                self.slots.push(slot);
                self.calls.push(ToolCall {
                    id: String::new(),
                    name: String::new(),
                    arguments: String::new(),
                    extra: None,
                });
                self.calls.len() - 1
            }
        };
        &mut self.calls[at]
    }

    fn fill_ids(&mut self) {
        for (index, call) in self.calls.iter_mut().enumerate() {
            if call.id.is_empty() {
                call.id = missing_call_id(&call.name, &call.arguments, index);
            }
        }
    }

    /// Reads a stream to its end.
    pub async fn collect(mut stream: DeltaStream) -> Result<Self, ModelError> {
        let mut answer = Self::default();
        while let Some(delta) = stream.next().await {
            answer.push(delta?);
        }
        Ok(answer)
    }

    /// The message to store and to send back.
    pub fn into_message(mut self) -> Message {
        self.fill_ids();
        Message {
            role: Role::Assistant,
            content: Content::Text(self.text),
            tool_calls: self.calls,
            tool_call_id: None,
            tool_name: None,
            reasoning: Some(self.reasoning).filter(|text| !text.is_empty()),
            reasoning_details: Some(self.reasoning_details)
                .filter(|blocks| !blocks.is_empty())
                .map(Value::Array),
            finish_reason: self.finish.map(|reason| reason.as_str().to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_keep_their_slots_apart_and_get_ids() {
        let mut answer = Answer::default();
        for delta in [
            Delta::Text("void".to_owned()),
            Delta::Restarted,
            Delta::ToolCall {
                slot: 0,
                id: "a".to_owned(),
                name: "one".to_owned(),
                extra: None,
            },
            Delta::ToolCall {
                slot: 1,
                id: String::new(),
                name: "two".to_owned(),
                extra: None,
            },
            Delta::Arguments {
                slot: 1,
                text: "{}".to_owned(),
            },
            Delta::Arguments {
                slot: 0,
                text: "{\"x\"".to_owned(),
            },
            Delta::Arguments {
                slot: 0,
                text: ":1}".to_owned(),
            },
            Delta::Finish(FinishReason::ToolCalls),
        ] {
            answer.push(delta);
        }
        let message = answer.into_message();
        assert_eq!(message.content, Content::from(""));
        assert_eq!(message.tool_calls[0].arguments, "{\"x\":1}");
        assert_eq!(message.tool_calls[1].id, missing_call_id("two", "{}", 1));
        assert_eq!(message.finish_reason.as_deref(), Some("tool_calls"));
    }
}
