//! The contract between a conversation and whatever answers it.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;
use futures_util::future::BoxFuture;
use hermes_types::{Cost, Message, ToolSpec, Usage};
use serde_json::Value;

/// Something that answers a conversation: a provider, a fallback chain, a script.
pub trait Model: Send + Sync {
    /// Sends the request. The outer result fails before the first byte of an
    /// answer; after that, errors arrive inside the stream. Dropping the stream
    /// closes the connection.
    fn stream<'a>(&'a self, request: &'a Request)
    -> BoxFuture<'a, Result<DeltaStream, ModelError>>;

    /// How the model is called on the wire, and who serves it.
    fn name(&self) -> &str;
    fn provider(&self) -> &str;

    /// Tokens that a request and its answer may fill together.
    fn context_window(&self) -> u64;

    /// What this usage costs by the price list; `Unknown` when no price is known.
    fn cost(&self, usage: &Usage) -> Cost;
}

pub type DeltaStream = Pin<Box<dyn Stream<Item = Result<Delta, ModelError>> + Send>>;

/// Same history, same bytes: an encoder is a pure function of this value.
#[derive(Clone, Debug)]
pub struct Request {
    pub system: Arc<str>,
    /// Shared one by one, so that a longer history costs a pointer per message
    /// and an encoder may remember what it wrote for each.
    pub messages: Vec<Arc<Message>>,
    pub tools: Arc<[ToolSpec]>,
    pub limits: RequestLimits,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RequestLimits {
    pub max_output_tokens: Option<u32>,
    pub temperature: Option<f32>,
    pub effort: Option<Effort>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    None,
    Minimal,
    Low,
    Medium,
    High,
    XHigh,
}

/// One step of an answer, in the order in which it arrived.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    Text(String),
    Reasoning(String),
    /// A structured reasoning block to be sent back unchanged.
    ReasoningDetail(Value),
    /// A call begins. `slot` tells the calls of one answer apart.
    ToolCall {
        slot: u32,
        id: String,
        name: String,
        extra: Option<Value>,
    },
    /// More of the argument text of a call.
    Arguments {
        slot: u32,
        text: String,
    },
    Usage(Usage),
    /// What the provider says it charged, in US dollars.
    Charged(f64),
    Finish(FinishReason),
    /// Something people should know: a retry, a switch to a fallback, a reconnect.
    Notice(String),
    /// The request is sent again: what streamed so far of this answer is void.
    Restarted,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FinishReason {
    Stop,
    ToolCalls,
    Length,
    ContentFilter,
    Other(String),
}

/// What went wrong decides what may be tried next.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    pub class: ErrorClass,
    pub status: Option<u16>,
    /// A sentence for people, without secrets.
    pub message: String,
    pub retry_after: Option<Duration>,
}

/// The classes of the error table; each has its own way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    Authentication,
    Billing,
    RateLimited,
    Overloaded,
    Server,
    Timeout,
    ContextOverflow,
    PayloadTooLarge,
    ModelNotFound,
    BadRequest,
    ContentPolicy,
    Connection,
    /// The stream ended or broke before the answer was complete.
    Dropped,
    /// The answer had no usable shape.
    Invalid,
    Unknown,
}
