//! What was seen, before anybody judged it.

use std::time::Duration;

use serde_json::Value;

/// How a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// It could not be made: refused, unreachable, no such name, TLS.
    Connect,
    /// It was closed before the answer was complete.
    Closed,
    /// Nothing came for too long.
    Silent,
    /// The answer took too long as a whole.
    TooLong,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// A status that is no success, with the beginning of its body.
    Status {
        status: u16,
        body: String,
        retry_after: Option<Duration>,
    },
    /// The provider reported an error inside a successful answer.
    Reported {
        status: Option<u16>,
        code: Option<String>,
        message: String,
        /// The whole report as text, for words the message leaves out.
        raw: String,
    },
    /// Something in the stream could not be read.
    Malformed(String),
    /// The answer ended without any content or reason.
    NoAnswer,
    /// The answer began, and its body ended before the provider said so.
    CutOff,
    /// A page for people instead of an answer: the address is wrong.
    WebPage(String),
    Transport {
        broken: Broken,
        message: String,
    },
}

impl Fault {
    /// Reads an error object of any provider: a text, or an object with message,
    /// code, type or status.
    pub fn reported(error: &Value) -> Self {
        if let Some(text) = error.as_str() {
            return Self::Reported {
                status: None,
                code: None,
                message: text.to_owned(),
                raw: text.to_owned(),
            };
        }
        let details = ErrorBody::of(error);
        Self::Reported {
            status: details.status,
            code: details.code,
            message: details.message,
            raw: error.to_string(),
        }
    }
}

/// The parts of an error body that matter, wherever a provider put them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ErrorBody {
    pub(super) status: Option<u16>,
    pub(super) code: Option<String>,
    pub(super) message: String,
    /// What an upstream of a router said.
    pub(super) upstream: String,
}

impl ErrorBody {
    /// Reads a whole response body, JSON or not.
    pub(super) fn parse(body: &str) -> Self {
        let Ok(value) = serde_json::from_str::<Value>(body) else {
            return Self {
                message: plain_text(body),
                ..Self::default()
            };
        };
        // Gemini wraps the object into a list.
        let value = match value {
            Value::Array(items) => items.into_iter().next().unwrap_or(Value::Null),
            other => other,
        };
        match &value["error"] {
            error @ Value::Object(_) => Self::of(error),
            Value::String(text) => Self {
                message: text.clone(),
                code: value["code"].as_str().map(str::to_owned),
                ..Self::default()
            },
            _ => Self::of(&value),
        }
    }

    pub(super) fn of(error: &Value) -> Self {
        let words = |name: &str| {
            error[name]
                .as_str()
                .map(str::to_owned)
                .filter(|text| !text.is_empty())
        };
        let number = |name: &str| {
            error[name]
                .as_u64()
                .or_else(|| error[name].as_str().and_then(|text| text.parse().ok()))
                .and_then(|number| u16::try_from(number).ok())
                .filter(|status| (400..600).contains(status))
        };
        let kind = words("type");
        let code = words("code")
            .filter(|code| code.parse::<u16>().is_err())
            .or_else(|| kind.clone())
            .or_else(|| words("status"));
        let status = number("code")
            .or_else(|| number("status"))
            .or_else(|| number("status_code"))
            .or_else(|| kind.as_deref().and_then(status_of_type));
        let message = words("message")
            .or_else(|| words("detail"))
            .or_else(|| words("error"))
            .or_else(|| code.clone())
            .unwrap_or_else(|| error.to_string());
        let raw = &error["metadata"]["raw"];
        let upstream = match raw {
            Value::Null => String::new(),
            Value::String(text) => match serde_json::from_str::<Value>(text) {
                Ok(inner) => inner["error"]["message"]
                    .as_str()
                    .or_else(|| inner["message"].as_str())
                    .unwrap_or(text)
                    .to_owned(),
                Err(_) => text.clone(),
            },
            other => other.to_string(),
        };
        Self {
            status,
            code,
            message,
            upstream,
        }
    }
}

/// The statuses that Anthropic's error types stand for; in a stream only the type
/// is sent.
fn status_of_type(kind: &str) -> Option<u16> {
    Some(match kind {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "api_error" | "server_error" => 500,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => return None,
    })
}

/// The words of an HTML or text body, short enough for a sentence.
fn plain_text(body: &str) -> String {
    const LONGEST: usize = 300;
    let mut out = String::new();
    let mut in_tag = false;
    for c in body.chars() {
        match c {
            '<' => in_tag = true,
            '>' if in_tag => {
                in_tag = false;
                out.push(' ');
            }
            _ if in_tag => {}
            c => out.push(c),
        }
        if out.len() > LONGEST * 4 {
            break;
        }
    }
    let words: Vec<&str> = out.split_whitespace().collect();
    let text = words.join(" ");
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
