//! What can go wrong before an answer exists.

use crate::guard::Forbidden;

#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("cannot build the HTTP client: {0}")]
    Build(String),
    #[error("invalid proxy URL {url:?}: {reason}")]
    Proxy { url: String, reason: String },
    #[error("cannot read certificates from {path}: {reason}")]
    Certificates { path: String, reason: String },
    #[error("invalid URL {url:?}: {reason}")]
    Url { url: String, reason: String },
    #[error("refused to fetch {url}: {reason}")]
    Forbidden { url: String, reason: Forbidden },
    #[error("{url} redirects more than {limit} times")]
    TooManyRedirects { url: String, limit: usize },
    #[error("{url} did not answer within {seconds} s")]
    Timeout { url: String, seconds: u64 },
    #[error("{}", root_cause(.0))]
    Transport(#[from] reqwest::Error),
}

impl HttpError {
    /// The innermost cause alone, for sentences that already say what was tried.
    pub fn cause(&self) -> String {
        let mut cause: &dyn std::error::Error = self;
        while let Some(source) = cause.source() {
            cause = source;
        }
        let text = cause.to_string();
        // The number of an error means nothing to people.
        match text.find(" (os error ") {
            Some(at) => text[..at].to_owned(),
            None => text,
        }
    }
}

/// reqwest's own sentence repeats the URL and hides the cause; people need the cause.
fn root_cause(error: &reqwest::Error) -> String {
    let mut message = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let text = cause.to_string();
        if !message.contains(&text) {
            message.push_str(": ");
            message.push_str(&text);
        }
        source = cause.source();
    }
    message
}
