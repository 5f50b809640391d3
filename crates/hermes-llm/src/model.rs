//! The contract between a conversation and whatever answers it.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;
use futures_util::future::BoxFuture;
use hermes_types::{Cost, Message, Redaction, ToolSpec, Usage, redact};
use serde_json::Value;
use tokio::sync::mpsc;

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

    /// How long an answer may get when a request says nothing about it; `None` when
    /// that is left to the provider.
    fn default_output(&self) -> Option<u32> {
        None
    }

    /// What this usage costs by the price list; `Unknown` when no price is known.
    fn cost(&self, usage: &Usage) -> Cost;

    /// Answers of the model in use are worthless: move on to the next one of a
    /// fallback chain. `false` when there is none.
    fn fall_back(&self) -> bool {
        false
    }

    /// A new turn of the user begins: a fallback chain returns to its first model.
    fn begin_turn(&self) {}
}

pub type DeltaStream = Pin<Box<dyn Stream<Item = Result<Delta, ModelError>> + Send>>;

/// Knows how a system text that was written for one model reads for another. Must
/// be pure: the same model always gets the same bytes.
pub trait Retelling: std::fmt::Debug + Send + Sync {
    /// `None` when the text is fine as it stands.
    fn for_model(&self, system: &str, name: &str, provider: &str) -> Option<String>;
}

/// Same history, same bytes: an encoder is a pure function of this value.
#[derive(Clone, Debug)]
pub struct Request {
    pub system: Arc<str>,
    /// Asked by the model that really answers, which a fallback decides late.
    pub retelling: Option<Arc<dyn Retelling>>,
    /// Shared one by one, so that a longer history costs a pointer per message
    /// and an encoder may remember what it wrote for each.
    pub messages: Vec<Arc<Message>>,
    pub tools: Arc<[ToolSpec]>,
    pub limits: RequestLimits,
    /// Ties the requests of one conversation together for provider caches.
    pub session: Option<Arc<str>>,
    /// Hears of attempts that failed while others follow; else the error tells of
    /// them in the end.
    pub retries: Option<mpsc::Sender<String>>,
}

impl Request {
    /// A request without tools, limits or session.
    pub fn new(system: impl Into<Arc<str>>, messages: Vec<Arc<Message>>) -> Self {
        Self {
            system: system.into(),
            retelling: None,
            messages,
            tools: Arc::from([]),
            limits: RequestLimits::default(),
            session: None,
            retries: None,
        }
    }

    /// As this model should read it.
    pub fn addressed_to(&self, name: &str, provider: &str) -> Self {
        let mut request = self.clone();
        if let Some(retold) = request
            .retelling
            .take()
            .and_then(|how| how.for_model(&request.system, name, provider))
        {
            request.system = retold.into();
        }
        request
    }
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

impl Effort {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Some(match text.trim().to_ascii_lowercase().as_str() {
            "none" | "off" | "false" => Self::None,
            "minimal" => Self::Minimal,
            "low" => Self::Low,
            "medium" => Self::Medium,
            "high" => Self::High,
            "xhigh" | "max" => Self::XHigh,
            _ => return None,
        })
    }
}

/// One step of an answer, in the order in which it arrived.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    Text(String),
    Reasoning(String),
    /// A structured reasoning block to be sent back unchanged.
    ReasoningDetail(Value),
    /// A call begins. `slot` tells the calls of one answer apart; a second one for
    /// the same slot replaces id and name. The id is empty when the provider gives
    /// none; [`Answer`](crate::Answer) fills it in.
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
    /// Something people must know even if they asked for the answer only.
    Warning(String),
    /// The request is sent again: what streamed so far of this answer is void.
    Restarted,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FinishReason {
    Stop,
    ToolCalls,
    Length,
    ContentFilter,
    /// The provider says itself that there is more to come: ask it to go on.
    Incomplete,
    Other(String),
}

impl FinishReason {
    /// The word that is stored with a message.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::ToolCalls => "tool_calls",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::Incomplete => "incomplete",
            Self::Other(reason) => reason,
        }
    }
}

/// What went wrong decides what may be tried next.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    pub class: ErrorClass,
    pub status: Option<u16>,
    /// The provider's own code (`insufficient_quota`), when it gave one.
    pub code: Option<String>,
    /// A sentence for people, without secrets.
    pub message: String,
    pub retry_after: Option<Duration>,
    /// The wait stood in the message, not in a header.
    pub wait_in_words: bool,
    /// The window that the provider named while refusing a long request.
    pub context_limit: Option<u64>,
    /// How many tokens of answer the provider said would still fit.
    pub output_room: Option<u64>,
    /// What was tried before this error was final, one line each.
    pub tried: Vec<String>,
}

impl ModelError {
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self {
            class,
            status: None,
            code: None,
            // Providers repeat what they refuse, and keys are among it.
            message: redact(&message.into(), Redaction::Text).into_owned(),
            retry_after: None,
            wait_in_words: false,
            context_limit: None,
            output_room: None,
            tried: Vec::new(),
        }
    }
}

/// The classes of the error table; each has its own way out.
///
/// What can be mended by sending the same conversation in another form (fewer
/// schema keywords, no foreign reasoning, no pictures) is mended below this
/// contract; such a class is only seen when that did not help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    Authentication,
    Billing,
    RateLimited,
    Overloaded,
    Server,
    Timeout,
    /// The conversation does not fit: compress it.
    ContextOverflow,
    /// The account has no access to the long window: compress to 200,000 tokens.
    LongContextTier,
    /// The body is too big: compress.
    PayloadTooLarge,
    ModelNotFound,
    BadRequest,
    ContentPolicy,
    /// The account's data policy forbids every host of this model.
    ProviderPolicy,
    /// Signed reasoning was refused.
    ThinkingSignature,
    /// Encrypted reasoning of another issuer was refused.
    EncryptedReasoning,
    /// The beta of the long window is not open to this account.
    LongContextBeta,
    /// The server cannot turn a tool schema into a grammar.
    GrammarPattern,
    /// Tool results may only be text.
    ToolContentText,
    ImageTooLarge,
    ImagesUnsupported,
    /// The endpoint does not stream.
    StreamUnsupported,
    Connection,
    /// The stream ended or broke before the answer was complete.
    Dropped,
    /// The answer had no usable shape.
    Invalid,
    Unknown,
}

impl ErrorClass {
    /// Whether compressing the conversation may help.
    pub fn wants_compression(self) -> bool {
        matches!(
            self,
            Self::ContextOverflow | Self::LongContextTier | Self::PayloadTooLarge
        )
    }
}
