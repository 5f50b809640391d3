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

/// The cap that a request carries when it asks for none.
pub(crate) fn default_output(mode: ApiMode, form: &Form) -> Option<u32> {
    form.default_output.or(match mode {
        ApiMode::AnthropicMessages => Some(anthropic::max_output(&form.model)),
        ApiMode::Gemini => Some(gemini::DEFAULT_OUTPUT),
        ApiMode::ChatCompletions | ApiMode::Responses => None,
    })
}

/// Turns what a provider sends into deltas. Pure: no clock, no network. The last
/// delta of a complete answer is `Finish`, after any usage.
pub trait Decoder: Send {
    /// One event of the stream.
    fn event(&mut self, event: &SseEvent, out: &mut Vec<Delta>) -> Result<(), Fault>;

    /// An answer that came in one piece.
    fn whole(&mut self, body: &Value, out: &mut Vec<Delta>) -> Result<(), Fault>;

    /// The body ended in order. Yields what was held back, `Finish` included. An
    /// answer that never said that it is complete was cut off.
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
    /// Whether the body ended although the provider had not said that the answer
    /// does. Calls of such an answer may lack arguments and are never run.
    pub(super) fn check_cut(&self) -> Result<(), Fault> {
        if self.anything && !self.complete && self.reason.is_none() && !self.delivered {
            return Err(Fault::CutOff);
        }
        Ok(())
    }

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
    read_json(&event.data).map_err(|error| Fault::Malformed(format!("event is not JSON ({error})")))
}

/// JSON in which half a character may stand where a provider cut one in two: it
/// becomes the sign for something unreadable.
pub(crate) fn read_json(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| match whole_characters(text) {
        Some(mended) => serde_json::from_str(&mended),
        None => Err(error),
    })
}

/// The text with every lone surrogate escape replaced; `None` when there is none.
fn whole_characters(text: &str) -> Option<String> {
    /// The code unit of an escape at the beginning of the text.
    fn unit(text: &str) -> Option<u16> {
        let digits = text.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    }
    let mut out = String::with_capacity(text.len());
    let mut mended = false;
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match (unit(rest), rest.get(6..).and_then(unit)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                mended = true;
                out.push_str("\\ufffd");
                rest = &rest[6..];
                continue;
            }
            (Some(_), _) => 6,
            // Another escape, which is two bytes of ASCII in valid JSON.
            (None, _) => rest.len().min(2),
        };
        out.push_str(rest.get(..length)?);
        rest = &rest[length..];
    }
    out.push_str(rest);
    mended.then_some(out)
}

/// More tokens than any answer has; a provider that says so is mistaken.
const MOST_TOKENS: u64 = 1 << 40;

/// A count, wherever a provider put it; negative and fractional ones count as 0.
pub(super) fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0).min(MOST_TOKENS)
}

/// The first of several values that is a positive count.
pub(super) fn first_count(values: &[&Value]) -> u64 {
    values
        .iter()
        .map(|v| count(v))
        .find(|n| *n > 0)
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn half_characters_become_readable() {
        for (text, read) in [
            (r#"{"a": "x\ud800y"}"#, "x\u{fffd}y"),
            (r#"{"a": "\udc00"}"#, "\u{fffd}"),
            (r#"{"a": "\ud83d\ud83d\ude00"}"#, "\u{fffd}😀"),
            (r#"{"a": "\\ud800 \n \ud800"}"#, "\\ud800 \n \u{fffd}"),
        ] {
            assert_eq!(read_json(text).unwrap(), json!({"a": read}), "{text}");
        }
        assert!(read_json(r#"{"a": "\ud8"#).is_err());
        assert!(read_json("{\"a\": \"\\").is_err());
    }

    proptest! {
        #[test]
        fn whatever_is_json_stays_what_it_is(text in "(\\PC|\\\\|u|d8)*") {
            let written = json!(text).to_string();
            prop_assert_eq!(read_json(&written).unwrap(), json!(text));
            // No text makes it panic.
            let _ = read_json(&text);
        }
    }
}
