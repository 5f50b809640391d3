//! What the server shall answer, independent of the wire format: a list of steps
//! that each dialect renders in its own words.

use std::fmt::Display;

use serde_json::{Value, json};

use super::Gate;

/// Token counts as providers report them: `prompt` includes what was cached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    pub prompt: u64,
    pub completion: u64,
    pub cached: u64,
    pub cache_written: u64,
    pub reasoning: u64,
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    Text(String),
    Reasoning(String),
    /// A structured reasoning block, as the dialect itself would write it.
    ReasoningBlock(Value),
    Call {
        id: String,
        name: String,
        arguments: String,
        extra: Option<Value>,
    },
    /// Bytes put on the stream as they are.
    Raw(Vec<u8>),
    Stall(Gate),
    Cut,
    Reset,
}

/// How the answer ends, apart from its steps.
#[derive(Clone, Debug)]
pub(super) enum Ending {
    /// The reason that fits the steps: calls were made, or not.
    Fitting,
    /// This reason, in the dialect's own word.
    Reason(String),
    /// No reason and no end marker; the body simply stops (properly framed).
    Missing,
}

/// One scripted answer. Methods append in order, so a stall between two texts
/// holds back the second.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) steps: Vec<Step>,
    pub(super) ending: Ending,
    pub(super) usage: Option<Tokens>,
    pub(super) usage_wanted: bool,
    pub(super) pieces: Option<usize>,
    pub(super) bytes_per_write: Option<usize>,
    pub(super) reuse_index: bool,
    /// A whole body instead of rendered steps: errors and foreign answers.
    pub(super) body: Option<Vec<u8>>,
    pub(super) content_type: Option<String>,
    pub(super) before_head: Vec<Step>,
    pub(super) charged: Option<f64>,
}

impl Reply {
    /// An answer without any content yet.
    pub fn empty() -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            steps: Vec::new(),
            ending: Ending::Fitting,
            usage: None,
            usage_wanted: true,
            pieces: None,
            bytes_per_write: None,
            reuse_index: false,
            body: None,
            content_type: None,
            before_head: Vec::new(),
            charged: None,
        }
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self::empty().then_text(text)
    }

    pub fn reasoning(text: impl Into<String>) -> Self {
        Self::empty().then_reasoning(text)
    }

    /// One call; its id is made from the tool's name and its place.
    pub fn tool_call(name: &str, arguments: Value) -> Self {
        Self::empty().then_call(name, arguments)
    }

    /// A failure in the shape most providers use: `{"error": {"message": …}}`.
    pub fn error(status: u16, message: impl Display) -> Self {
        Self::json(status, &json!({"error": {"message": message.to_string()}}))
    }

    /// Any status with any JSON body.
    pub fn json(status: u16, body: &Value) -> Self {
        Self {
            status,
            body: Some(body.to_string().into_bytes()),
            content_type: Some("application/json".to_owned()),
            ..Self::empty()
        }
    }

    /// Any status with any body.
    pub fn body(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            body: Some(body.into()),
            content_type: Some(content_type.to_owned()),
            ..Self::empty()
        }
    }

    /// A recorded event stream, byte for byte.
    pub fn recorded(bytes: impl Into<Vec<u8>>) -> Self {
        let mut reply = Self::empty().then_raw(bytes);
        reply.ending = Ending::Missing;
        reply
    }

    /// Takes the request and closes the connection without a word.
    pub fn hang_up() -> Self {
        let mut reply = Self::empty();
        reply.before_head.push(Step::Cut);
        reply
    }

    /// Sends nothing at all, not even a status, before the gate opens.
    pub fn held_by(mut self, gate: &Gate) -> Self {
        self.before_head.push(Step::Stall(gate.clone()));
        self
    }

    pub fn then_text(mut self, text: impl Into<String>) -> Self {
        self.steps.push(Step::Text(text.into()));
        self
    }

    pub fn then_reasoning(mut self, text: impl Into<String>) -> Self {
        self.steps.push(Step::Reasoning(text.into()));
        self
    }

    /// A structured block of reasoning in the dialect's own form (a signed
    /// thinking block, an encrypted reasoning item, an entry of
    /// `reasoning_details`).
    pub fn then_reasoning_block(mut self, block: Value) -> Self {
        self.steps.push(Step::ReasoningBlock(block));
        self
    }

    pub fn then_call(self, name: &str, arguments: Value) -> Self {
        let text = arguments.to_string();
        self.then_call_text(name, text)
    }

    /// A call whose argument text need not be JSON.
    pub fn then_call_text(self, name: &str, arguments: impl Into<String>) -> Self {
        let id = format!("call_{}_{}", name, self.calls());
        self.then_call_with_id(id, name, arguments)
    }

    pub fn then_call_with_id(
        mut self,
        id: impl Into<String>,
        name: &str,
        arguments: impl Into<String>,
    ) -> Self {
        self.steps.push(Step::Call {
            id: id.into(),
            name: name.to_owned(),
            arguments: arguments.into(),
            extra: None,
        });
        self
    }

    /// Attaches provider data to the newest call (`extra_content` and the like).
    pub fn with_call_extra(mut self, value: Value) -> Self {
        if let Some(Step::Call { extra, .. }) = self.steps.last_mut() {
            *extra = Some(value);
        }
        self
    }

    /// Puts bytes on the stream as they are: malformed deltas, comments, anything.
    pub fn then_raw(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.steps.push(Step::Raw(bytes.into()));
        self
    }

    /// Holds the rest back until the test releases the gate.
    pub fn then_stall(mut self, gate: &Gate) -> Self {
        self.steps.push(Step::Stall(gate.clone()));
        self
    }

    /// Closes the connection here, in the middle of the body.
    pub fn then_cut(mut self) -> Self {
        self.steps.push(Step::Cut);
        self
    }

    /// Like a cut, but with a reset instead of an orderly close.
    pub fn then_reset(mut self) -> Self {
        self.steps.push(Step::Reset);
        self
    }

    /// Ends with this reason, in the dialect's own word (`length`, `max_tokens`).
    pub fn finish(mut self, reason: &str) -> Self {
        self.ending = Ending::Reason(reason.to_owned());
        self
    }

    /// Ends without a reason and without the end marker.
    pub fn without_finish(mut self) -> Self {
        self.ending = Ending::Missing;
        self
    }

    pub fn usage(mut self, usage: Tokens) -> Self {
        self.usage = Some(usage);
        self
    }

    pub fn without_usage(mut self) -> Self {
        self.usage_wanted = false;
        self
    }

    /// What the provider says it charged, in dollars (`usage.cost`).
    pub fn charged(mut self, dollars: f64) -> Self {
        self.charged = Some(dollars);
        self
    }

    pub fn header(mut self, name: &str, value: impl Display) -> Self {
        self.headers.push((name.to_owned(), value.to_string()));
        self
    }

    /// Splits texts and arguments into events of this many characters.
    pub fn in_pieces(mut self, characters: usize) -> Self {
        self.pieces = Some(characters.max(1));
        self
    }

    /// Splits the body into network writes of this many bytes.
    pub fn bytes_per_write(mut self, bytes: usize) -> Self {
        self.bytes_per_write = Some(bytes.max(1));
        self
    }

    /// Parallel calls all claim index 0, as some servers do.
    pub fn reusing_index(mut self) -> Self {
        self.reuse_index = true;
        self
    }

    pub(super) fn calls(&self) -> usize {
        self.steps
            .iter()
            .filter(|step| matches!(step, Step::Call { .. }))
            .count()
    }

    /// The counts to report: those given, or counts that follow from the sizes.
    pub(super) fn tokens(&self, request_bytes: usize) -> Option<Tokens> {
        if !self.usage_wanted {
            return None;
        }
        Some(self.usage.unwrap_or_else(|| {
            let characters: usize = self
                .steps
                .iter()
                .map(|step| match step {
                    Step::Text(text) | Step::Reasoning(text) => text.chars().count(),
                    Step::Call { arguments, .. } => arguments.chars().count(),
                    _ => 0,
                })
                .sum();
            Tokens {
                prompt: request_bytes.div_ceil(4) as u64,
                completion: characters.div_ceil(4) as u64,
                ..Tokens::default()
            }
        }))
    }

    /// The text cut into the pieces that were asked for, or whole.
    pub(super) fn split(&self, text: &str) -> Vec<String> {
        match self.pieces {
            None => vec![text.to_owned()],
            Some(size) => {
                let characters: Vec<char> = text.chars().collect();
                characters
                    .chunks(size)
                    .map(|piece| piece.iter().collect())
                    .collect()
            }
        }
    }

    pub(super) fn joined(&self, of: impl Fn(&Step) -> Option<&str>) -> Option<String> {
        let parts: Vec<&str> = self.steps.iter().filter_map(of).collect();
        (!parts.is_empty()).then(|| parts.concat())
    }

    pub(super) fn whole_text(&self) -> Option<String> {
        self.joined(|step| match step {
            Step::Text(text) => Some(text),
            _ => None,
        })
    }

    pub(super) fn whole_reasoning(&self) -> Option<String> {
        self.joined(|step| match step {
            Step::Reasoning(text) => Some(text),
            _ => None,
        })
    }
}

/// What is put on the wire, in order.
#[derive(Clone, Debug)]
pub(super) enum Emit {
    Bytes(Vec<u8>),
    Stall(Gate),
    Cut,
    Reset,
}

impl Emit {
    /// An event without a name.
    pub(super) fn data(value: &Value) -> Self {
        Emit::Bytes(format!("data: {value}\n\n").into_bytes())
    }

    /// The steps that are the same in every dialect.
    pub(super) fn common(step: &Step) -> Option<Self> {
        match step {
            Step::Raw(bytes) => Some(Emit::Bytes(bytes.clone())),
            Step::Stall(gate) => Some(Emit::Stall(gate.clone())),
            Step::Cut => Some(Emit::Cut),
            Step::Reset => Some(Emit::Reset),
            _ => None,
        }
    }
}
