//! One place to send requests to: where, as whom, in which form, how patiently.
//! Plain data; resolving configuration yields it and the ladder uses it.

use std::fmt;
use std::time::Duration;

use hermes_http::Url;

use crate::prices::Price;
use crate::wire::{ApiMode, Form};

/// A key. It is never shown, not even in debug output.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// How a key is presented.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuthStyle {
    /// `Authorization: Bearer KEY`
    #[default]
    Bearer,
    /// `x-api-key: KEY`
    ApiKeyHeader,
    /// `x-goog-api-key: KEY`
    GoogleHeader,
}

impl AuthStyle {
    pub(crate) fn header(self, key: &Secret) -> (&'static str, String) {
        match self {
            Self::Bearer => ("authorization", format!("Bearer {}", key.expose())),
            Self::ApiKeyHeader => ("x-api-key", key.expose().to_owned()),
            Self::GoogleHeader => ("x-goog-api-key", key.expose().to_owned()),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint {
    /// The canonical id of the provider (`openrouter`, `custom`).
    pub provider: String,
    pub mode: ApiMode,
    /// Without a query.
    pub base_url: Url,
    /// Sent with every request (Azure style).
    pub query: Vec<(String, String)>,
    pub auth: AuthStyle,
    pub key: Option<Secret>,
    /// Headers beside those every request has.
    pub headers: Vec<(String, String)>,
    /// The header that carries the id of the conversation, where one does.
    pub session_header: Option<&'static str>,
    pub form: Form,
    pub timeouts: Timeouts,
    /// Tokens that request and answer may fill together.
    pub window: u64,
    pub price: Option<Price>,
    /// A server of one's own: long silences are normal while it loads a model.
    pub is_local: bool,
}

impl Endpoint {
    pub fn model(&self) -> &str {
        &self.form.model
    }

    /// Where a request goes.
    pub(crate) fn url(&self, streamed: bool) -> Url {
        let base = self.base_url.path().trim_end_matches('/');
        let path = match self.mode {
            ApiMode::ChatCompletions => format!("{base}/chat/completions"),
            // The base of this format is given with or without its version.
            ApiMode::AnthropicMessages if base.ends_with("/v1") => format!("{base}/messages"),
            ApiMode::AnthropicMessages => format!("{base}/v1/messages"),
            ApiMode::Responses => format!("{base}/responses"),
            ApiMode::Gemini => {
                let verb = if streamed {
                    "streamGenerateContent"
                } else {
                    "generateContent"
                };
                let model = self.form.model.trim_start_matches("models/");
                format!("{base}/models/{model}:{verb}")
            }
        };
        let mut url = self.base_url.clone();
        url.set_path(&path);
        if !self.query.is_empty() || (self.mode == ApiMode::Gemini && streamed) {
            let mut query = url.query_pairs_mut();
            query.extend_pairs(&self.query);
            if self.mode == ApiMode::Gemini && streamed {
                query.append_pair("alt", "sse");
            }
        }
        url
    }
}

/// How long to wait for what. `None` waits for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// The whole answer.
    pub total: Duration,
    /// Between two reads of a stream.
    pub read: Duration,
    /// Between two events of a stream, when somebody set it; keep-alives do not
    /// count. Else it follows from the size of the request.
    pub stale: Option<Duration>,
    /// For an answer in one piece, when somebody set it.
    pub whole_stale: Option<Duration>,
    /// Between two events of a Responses stream, when somebody set it.
    pub responses_stale: Option<Duration>,
    /// Until the first event of a Responses stream.
    pub first_event: Option<Duration>,
    /// Requests of more tokens than this get no such limit.
    pub first_event_up_to: u64,
    /// After the provider gave its reason to stop, how long to wait for usage.
    pub after_reason: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            total: Duration::from_secs(1800),
            read: Duration::from_secs(120),
            stale: None,
            whole_stale: None,
            responses_stale: None,
            first_event: Some(Duration::from_secs(120)),
            first_event_up_to: 25_000,
            after_reason: Duration::from_secs(5),
        }
    }
}

/// The timeouts that hold for one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Watch {
    pub(crate) total: Duration,
    pub(crate) read: Duration,
    pub(crate) stale: Option<Duration>,
    pub(crate) first_event: Option<Duration>,
    pub(crate) after_reason: Duration,
}

impl Endpoint {
    /// Bigger requests may be silent for longer; servers of one's own as long as
    /// they like, within the total.
    pub(crate) fn watch(&self, tokens: u64, streamed: bool) -> Watch {
        let t = &self.timeouts;
        let seconds = |small: u64, medium: u64, large: u64| {
            Duration::from_secs(match tokens {
                0..=50_000 => small,
                50_001..=100_000 => medium,
                _ => large,
            })
        };
        let stale = if streamed {
            let of_format = t
                .responses_stale
                .filter(|_| self.mode == ApiMode::Responses);
            of_format.or(t.stale).or_else(|| {
                (!self.is_local).then(|| match self.mode {
                    // The reference gives small requests 12 s; a model that thinks
                    // before its first summary needs more.
                    ApiMode::Responses => seconds(60, 120, 180),
                    _ => seconds(180, 240, 300),
                })
            })
        } else {
            t.whole_stale
                .or_else(|| (!self.is_local).then(|| seconds(90, 150, 240)))
        };
        let read = if self.is_local { t.total } else { t.read };
        // An answer in one piece is silent until it is there.
        let read = if streamed { read } else { t.total };
        Watch {
            total: t.total,
            read,
            stale,
            first_event: t
                .first_event
                .filter(|_| streamed && !self.is_local && self.mode == ApiMode::Responses)
                .filter(|_| tokens <= t.first_event_up_to),
            after_reason: t.after_reason,
        }
    }
}
