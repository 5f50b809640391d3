//! One answer of the model, put together from its stream.

use std::collections::BTreeMap;

use hermes_llm::{Delta, FinishReason};
use hermes_types::{Message, ToolCall, Usage};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::scrub::{Scrubbed, Scrubber};

/// A finished answer, or what there is of one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Response {
    /// What people see: reasoning tags removed.
    pub text: String,
    pub reasoning: String,
    pub details: Vec<Value>,
    pub calls: Vec<ToolCall>,
    pub finish: Finish,
    pub usage: Option<Usage>,
    pub charged: Option<f64>,
    /// A scratchpad was opened and never closed.
    pub scratchpad_open: bool,
    /// The connection broke; nobody knows what would have come.
    pub broke: bool,
    /// Calls that were being written when it broke, and are lost.
    pub lost_calls: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Finish {
    #[default]
    Stop,
    Length,
    /// The provider says that more is to come (Responses dialect).
    Incomplete,
    ContentFilter,
    Other(String),
}

impl Finish {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Finish::Stop => "stop",
            Finish::Length => "length",
            Finish::Incomplete => "incomplete",
            Finish::ContentFilter => "content_filter",
            Finish::Other(text) => text,
        }
    }
}

impl Response {
    pub(super) fn has_reasoning(&self) -> bool {
        !self.reasoning.trim().is_empty() || !self.details.is_empty()
    }

    /// As it is stored.
    pub(super) fn into_message(self, text: String) -> Message {
        let finish = if self.calls.is_empty() {
            self.finish.as_str().to_owned()
        } else {
            "tool_calls".to_owned()
        };
        Message {
            tool_calls: self.calls,
            reasoning: (!self.reasoning.is_empty()).then_some(self.reasoning),
            reasoning_details: (!self.details.is_empty()).then_some(Value::Array(self.details)),
            finish_reason: Some(finish),
            ..Message::assistant(text)
        }
    }
}

/// What one delta means for people who watch.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shown {
    Text(String),
    Reasoning(String),
    Pending { index: u32, name: String },
    Notice(String),
    Warning(String),
    Discarded,
}

/// Collects deltas. Pure: what to show is returned, not sent.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    response: Response,
    scrubber: Scrubber,
    calls: BTreeMap<u32, ToolCall>,
    shown_text: bool,
}

impl Assembler {
    pub(super) fn push(&mut self, delta: Delta) -> Vec<Shown> {
        match delta {
            Delta::Text(text) => {
                let scrubbed = self.scrubber.push(&text);
                self.take(scrubbed)
            }
            Delta::Reasoning(text) => {
                self.response.reasoning.push_str(&text);
                vec![Shown::Reasoning(text)]
            }
            Delta::ReasoningDetail(detail) => {
                self.response.details.push(detail);
                Vec::new()
            }
            Delta::ToolCall {
                slot,
                id,
                name,
                extra,
            } => {
                let shown = Shown::Pending {
                    index: slot,
                    name: name.clone(),
                };
                let call = self.calls.entry(slot).or_insert_with(|| ToolCall {
                    id: String::new(),
                    name: String::new(),
                    arguments: String::new(),
                    extra: None,
                });
                call.id = id;
                call.name = name;
                call.extra = extra.or(call.extra.take());
                vec![shown]
            }
            Delta::Arguments { slot, text } => {
                if let Some(call) = self.calls.get_mut(&slot) {
                    call.arguments.push_str(&text);
                }
                Vec::new()
            }
            Delta::Usage(usage) => {
                self.response.usage = Some(usage);
                Vec::new()
            }
            Delta::Charged(usd) => {
                self.response.charged = Some(usd);
                Vec::new()
            }
            Delta::Finish(reason) => {
                self.response.finish = match reason {
                    FinishReason::Stop | FinishReason::ToolCalls => Finish::Stop,
                    FinishReason::Length => Finish::Length,
                    FinishReason::ContentFilter => Finish::ContentFilter,
                    FinishReason::Incomplete => Finish::Incomplete,
                    FinishReason::Other(text) => Finish::Other(text),
                };
                Vec::new()
            }
            Delta::Notice(text) => vec![Shown::Notice(text)],
            Delta::Warning(text) => vec![Shown::Warning(text)],
            Delta::Restarted => {
                let discarded = self.shown_text || !self.calls.is_empty();
                *self = Self::default();
                if discarded {
                    vec![Shown::Discarded]
                } else {
                    Vec::new()
                }
            }
        }
    }

    /// The stream is over.
    pub(super) fn finish(mut self) -> (Response, Vec<Shown>) {
        let rest = self.scrubber.finish();
        let shown = self.take(rest);
        let mut response = self.response;
        response.scratchpad_open = self.scrubber.scratchpad_left_open();
        response.calls = numbered(self.calls.into_values().collect());
        (response, shown)
    }

    /// The stream broke: text counts as cut off, unfinished calls are lost.
    pub(super) fn broken(self) -> (Response, Vec<Shown>) {
        let (mut response, shown) = self.finish();
        response.lost_calls = response.calls.drain(..).map(|call| call.name).collect();
        response.finish = Finish::Length;
        response.broke = true;
        (response, shown)
    }

    /// Whether anything of the answer would be lost by starting again.
    pub(super) fn has_visible_text(&self) -> bool {
        !self.response.text.trim().is_empty()
    }

    fn take(&mut self, scrubbed: Scrubbed) -> Vec<Shown> {
        let mut shown = Vec::new();
        if !scrubbed.reasoning.is_empty() {
            self.response.reasoning.push_str(&scrubbed.reasoning);
            shown.push(Shown::Reasoning(scrubbed.reasoning));
        }
        if !scrubbed.visible.is_empty() {
            self.response.text.push_str(&scrubbed.visible);
            // What a model says after it began to write calls is no answer.
            if self.calls.is_empty() {
                self.shown_text = true;
                shown.push(Shown::Text(scrubbed.visible));
            }
        }
        shown
    }
}

/// Ids for calls that came without, and for those that share one.
fn numbered(mut calls: Vec<ToolCall>) -> Vec<ToolCall> {
    let mut seen = std::collections::HashSet::new();
    for (index, call) in calls.iter_mut().enumerate() {
        if call.id.trim().is_empty() || !seen.insert(call.id.clone()) {
            let digest = Sha256::digest(format!("{}:{}:{index}", call.name, call.arguments));
            let hex: String = digest.iter().take(6).map(|b| format!("{b:02x}")).collect();
            call.id = format!("call_{hex}");
            seen.insert(call.id.clone());
        }
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn run(deltas: Vec<Delta>) -> (Response, Vec<Shown>) {
        let mut assembler = Assembler::default();
        let mut shown = Vec::new();
        for delta in deltas {
            shown.extend(assembler.push(delta));
        }
        let (response, rest) = assembler.finish();
        shown.extend(rest);
        (response, shown)
    }

    fn call(slot: u32, id: &str) -> Delta {
        Delta::ToolCall {
            slot,
            id: id.into(),
            name: "terminal".into(),
            extra: None,
        }
    }

    #[test]
    fn text_after_a_call_is_kept_but_not_shown() {
        let (response, shown) = run(vec![
            Delta::Text("before".into()),
            call(0, "a"),
            Delta::Text(" after".into()),
        ]);
        assert_eq!(response.text, "before after");
        assert_eq!(
            shown,
            [
                Shown::Text("before".into()),
                Shown::Pending {
                    index: 0,
                    name: "terminal".into()
                }
            ]
        );
    }

    #[test]
    fn a_restart_voids_what_was_shown() {
        let (response, shown) = run(vec![
            Delta::Text("half".into()),
            Delta::Restarted,
            Delta::Text("whole".into()),
        ]);
        assert_eq!(response.text, "whole");
        assert_eq!(shown[1], Shown::Discarded);
    }

    #[test]
    fn missing_and_shared_ids_become_stable_ones() {
        let arguments = |slot, text: &str| Delta::Arguments {
            slot,
            text: text.into(),
        };
        let deltas = vec![
            call(0, ""),
            arguments(0, "{}"),
            call(1, "same"),
            call(2, "same"),
            arguments(2, "{}"),
        ];
        let (first, _) = run(deltas.clone());
        let (second, _) = run(deltas);
        assert_eq!(first.calls, second.calls);
        assert_eq!(first.calls[1].id, "same");
        assert!(first.calls[0].id.starts_with("call_"));
        assert_eq!(first.calls[0].id.len(), 17);
        assert_ne!(first.calls[2].id, "same");
    }

    #[test]
    fn thinking_in_the_text_is_reasoning() {
        let (response, _) = run(vec![Delta::Text("<think>a</think>b".into())]);
        assert_eq!(response.text, "b");
        assert_eq!(response.reasoning, "a");
    }
}
