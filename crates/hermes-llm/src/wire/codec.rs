//! The one place that knows all formats.

use serde_json::Value;

use super::{ApiMode, Form, anthropic, chat, gemini, responses};
use crate::error::Fault;
use crate::model::{Delta, FinishReason, Request};
use crate::sse::SseEvent;
use hermes_types::Usage;

/// The body of a request in a format.
pub fn encode(mode: ApiMode, request: &Request, form: &Form) -> Value {
    match mode {
        ApiMode::ChatCompletions => chat::encode(request, form),
        ApiMode::AnthropicMessages => anthropic::encode(request, form),
        ApiMode::Responses => responses::encode(request, form),
        ApiMode::Gemini => gemini::encode(request, form),
    }
}

/// A decoder for one answer in a format.
pub fn decoder(mode: ApiMode, form: &Form) -> Box<dyn Decoder> {
    match mode {
        ApiMode::ChatCompletions => Box::new(chat::ChatDecoder::default()),
        ApiMode::AnthropicMessages => Box::new(anthropic::AnthropicDecoder::default()),
        ApiMode::Responses => Box::new(responses::ResponsesDecoder::new(&form.issuer)),
        ApiMode::Gemini => Box::new(gemini::GeminiDecoder::default()),
    }
}

/// Turns what a provider sends into deltas. Pure: no clock, no network. The last
/// delta of a complete answer is `Finish`, after any usage.
pub trait Decoder: Send {
    /// One event of the stream.
    fn event(&mut self, event: &SseEvent, out: &mut Vec<Delta>) -> Result<(), Fault>;

    /// An answer that came in one piece.
    fn whole(&mut self, body: &Value, out: &mut Vec<Delta>) -> Result<(), Fault>;

    /// The body ended in order. Yields what was held back, `Finish` included.
    fn end(&mut self, out: &mut Vec<Delta>) -> Result<(), Fault>;

    /// The provider has said that the answer is complete; nothing more matters.
    fn is_complete(&self) -> bool;

    /// The provider has given its reason to stop, but may still report usage.
    fn has_reason(&self) -> bool;
}

/// What an answer ends with, gathered on the way.
#[derive(Debug, Default)]
pub(super) struct Ending {
    pub(super) usage: Option<Usage>,
    pub(super) charged: Option<f64>,
    pub(super) reason: Option<FinishReason>,
    /// The answer held a call, whatever the reason says.
    pub(super) has_calls: bool,
    /// Something of an answer was seen.
    pub(super) anything: bool,
    pub(super) complete: bool,
    delivered: bool,
}

impl Ending {
    /// Delivers usage and finish once. An answer without a reason counts as
    /// stopped; an answer without anything is none.
    pub(super) fn deliver(&mut self, out: &mut Vec<Delta>) -> Result<(), Fault> {
        if std::mem::replace(&mut self.delivered, true) {
            return Ok(());
        }
        if !self.anything {
            return Err(Fault::NoAnswer);
        }
        out.extend(self.usage.map(Delta::Usage));
        out.extend(self.charged.map(Delta::Charged));
        let reason = self.reason.take().unwrap_or(FinishReason::Stop);
        out.push(Delta::Finish(match reason {
            // Some servers say `stop` although they ask for a call.
            FinishReason::Stop if self.has_calls => FinishReason::ToolCalls,
            other => other,
        }));
        Ok(())
    }
}

/// The JSON of an event; text that is none means that the stream was damaged.
pub(super) fn parse(event: &SseEvent) -> Result<Value, Fault> {
    serde_json::from_str(&event.data)
        .map_err(|error| Fault::Malformed(format!("event is not JSON ({error})")))
}

/// A count, wherever a provider put it; negative and fractional ones count as 0.
pub(super) fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

/// The first of several values that is a positive count.
pub(super) fn first_count(values: &[&Value]) -> u64 {
    values
        .iter()
        .map(|v| count(v))
        .find(|n| *n > 0)
        .unwrap_or(0)
}
