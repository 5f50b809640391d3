//! The table: first match wins. Rows are numbered as in the design notes of the
//! error table, so that a test can name them.

use super::fault::{Broken, ErrorBody, Fault};
use super::limits::stated_limits;
use super::retry_after::stated_wait;
use super::words::{self, matches};
use crate::model::{ErrorClass, ModelError};

/// How big the conversation is that was refused; some servers say nothing useful
/// when a request is too long, so size itself is evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conversation {
    pub tokens: u64,
    pub messages: usize,
    pub window: u64,
    pub has_images: bool,
}

impl Conversation {
    fn fills(&self, share: f64, tokens: u64, messages: usize) -> bool {
        let full = self.window > 0 && self.tokens as f64 > self.window as f64 * share;
        let small_window = self.window <= 256_000;
        full || (small_window && (self.tokens > tokens || self.messages > messages))
    }
}

/// What the judgement looks at.
struct Evidence<'a> {
    status: Option<u16>,
    code: String,
    /// Everything the provider said, in lower case.
    text: String,
    /// How long the provider's own message is.
    message_length: usize,
    conversation: &'a Conversation,
}

pub fn classify(fault: &Fault, conversation: &Conversation) -> ModelError {
    let (body, header_wait, raw) = match fault {
        Fault::Status {
            status,
            body,
            retry_after,
        } => {
            let mut details = ErrorBody::parse(body);
            details.status = Some(*status);
            (details, *retry_after, body.clone())
        }
        Fault::Reported {
            status,
            code,
            message,
            raw,
        } => (
            ErrorBody {
                status: *status,
                code: code.clone(),
                message: message.clone(),
                upstream: String::new(),
            },
            None,
            raw.clone(),
        ),
        Fault::Malformed(what) => {
            return ModelError::new(
                ErrorClass::Dropped,
                format!("the answer was damaged on the way: {what}"),
            );
        }
        Fault::NoAnswer => {
            return ModelError::new(ErrorClass::Invalid, "the provider sent an empty answer");
        }
        // Never a sign of a conversation that is too long: the answer had begun.
        Fault::CutOff => {
            return ModelError::new(
                ErrorClass::Dropped,
                "the provider stopped in the middle of its answer",
            );
        }
        Fault::WebPage(address) => {
            return ModelError::new(
                ErrorClass::BadRequest,
                format!(
                    "{address} answers with a web page, not as a model: check `model.base_url`, which usually ends in /v1"
                ),
            );
        }
        Fault::Transport { broken, message } => return transport(*broken, message, conversation),
    };
    let evidence = Evidence {
        status: body.status,
        code: body.code.clone().unwrap_or_default().to_lowercase(),
        text: format!("{} {} {raw}", body.message, body.upstream).to_lowercase(),
        message_length: body.message.chars().count(),
        conversation,
    };
    let limits = stated_limits(&evidence.text);
    let class = judge(&evidence);
    let mut error = ModelError::new(class, sentence(&body, fault, &evidence.text));
    error.status = body.status;
    error.retry_after = header_wait.or_else(|| stated_wait(&evidence.text));
    error.wait_in_words = header_wait.is_none();
    error.code = body.code;
    if class.wants_compression() {
        error.context_limit = limits.context;
        error.output_room = limits.output_room;
    }
    error
}

/// What people read: the provider's own words, the upstream's behind a router.
fn sentence(body: &ErrorBody, fault: &Fault, text: &str) -> String {
    let mut said = body.message.trim().to_owned();
    if !body.upstream.is_empty() && !said.contains(&body.upstream) {
        said = format!("{said} ({})", body.upstream.trim());
    }
    let mut sentence = match fault {
        Fault::Status { status, .. } if said.is_empty() => format!("HTTP {status}"),
        Fault::Status { status, .. } => format!("HTTP {status}: {said}"),
        _ => said,
    };
    if body.status == Some(429) && text.contains("free_tier") {
        sentence.push_str(" (this key is on the free tier: turn on billing for higher limits)");
    }
    sentence
}

fn judge(e: &Evidence<'_>) -> ErrorClass {
    use ErrorClass as C;
    let has = |groups| matches(&e.text, groups);
    let status = e.status.unwrap_or(0);
    let client_error = e.status.is_none() || (400..500).contains(&status);

    // Before the table: forms of a request that can be sent differently.
    if client_error && has(words::NO_STREAM) && !e.text.contains("stream_options.include") {
        return C::StreamUnsupported;
    }
    if client_error && e.conversation.has_images && !has(words::TOOL_CONTENT) {
        let size = has(words::IMAGE_SIZE);
        if has(words::NO_IMAGES) && !size && !matches!(status, 401 | 402 | 413 | 429) {
            return C::ImagesUnsupported;
        }
    }
    // 1-6
    if has(words::SAFETY) {
        return C::ContentPolicy;
    }
    if status == 400 && e.text.contains("signature") && e.text.contains("thinking") {
        return C::ThinkingSignature;
    }
    if status == 429 && e.text.contains("extra usage") && e.text.contains("long context") {
        return C::LongContextTier;
    }
    if status == 400 && e.text.contains("long context beta") && e.text.contains("not yet available")
    {
        return C::LongContextBeta;
    }
    if status == 400 && has(words::GRAMMAR) {
        return C::GrammarPattern;
    }
    if has(words::NO_GROK) {
        return C::Authentication;
    }
    // 7-14
    match status {
        401 => C::Authentication,
        403 if has(words::SPEND_LIMIT) || has(words::BILLING) => C::Billing,
        403 => C::Authentication,
        402 if has(words::USAGE_LIMIT) && has(words::TRANSIENT) => C::RateLimited,
        402 => C::Billing,
        404 if has(words::BILLING) => C::Billing,
        404 if has(words::DATA_POLICY) => C::ProviderPolicy,
        404 if has(words::MODEL) => C::ModelNotFound,
        404 => C::Unknown,
        408 => C::Timeout,
        413 => C::PayloadTooLarge,
        429 => C::RateLimited,
        400 | 422 => bad_request(e),
        500 | 502 if has(words::REQUEST_SHAPE) => C::BadRequest,
        500 | 502 => C::Server,
        503 | 529 => C::Overloaded,
        300..500 => C::BadRequest,
        500..600 => C::Server,
        _ => by_code(&e.code).unwrap_or_else(|| by_words(e)),
    }
}

/// 13
fn bad_request(e: &Evidence<'_>) -> ErrorClass {
    use ErrorClass as C;
    let has = |groups| matches(&e.text, groups);
    if has(words::TOOL_CONTENT) {
        C::ToolContentText
    } else if has(words::IMAGE_SIZE) {
        C::ImageTooLarge
    } else if has(words::ENCRYPTED) {
        C::EncryptedReasoning
    } else if has(words::NO_OUTPUT_CAP) {
        // Names the field that overflow messages name too.
        C::BadRequest
    } else if has(words::OVERFLOW) {
        C::ContextOverflow
    } else if has(words::DATA_POLICY) {
        C::ProviderPolicy
    } else if has(words::MODEL) {
        C::ModelNotFound
    } else if has(words::RATE) {
        C::RateLimited
    } else if has(words::BILLING) {
        C::Billing
    } else if e.message_length < 30 && e.conversation.fills(0.4, 80_000, 80) {
        C::ContextOverflow
    } else {
        C::BadRequest
    }
}

/// 15
fn by_code(code: &str) -> Option<ErrorClass> {
    use ErrorClass as C;
    Some(match code {
        "resource_exhausted" | "throttled" | "rate_limit_exceeded" => C::RateLimited,
        "insufficient_quota"
        | "billing_not_active"
        | "payment_required"
        | "insufficient_credits"
        | "no_usable_credits"
        | "balance_depleted"
        | "model_not_supported_on_free_tier" => C::Billing,
        "model_not_found" | "model_not_available" | "invalid_model" => C::ModelNotFound,
        "context_length_exceeded" | "max_tokens_exceeded" => C::ContextOverflow,
        "invalid_encrypted_content" => C::EncryptedReasoning,
        _ => return None,
    })
}

/// 16, and what remains
fn by_words(e: &Evidence<'_>) -> ErrorClass {
    use ErrorClass as C;
    let has = |groups| matches(&e.text, groups);
    if has(words::PAYLOAD) {
        C::PayloadTooLarge
    } else if has(words::TOOL_CONTENT) {
        C::ToolContentText
    } else if has(words::IMAGE_SIZE) {
        C::ImageTooLarge
    } else if has(words::USAGE_LIMIT) && !has(words::BILLING) {
        if has(words::TRANSIENT) {
            C::RateLimited
        } else {
            C::Billing
        }
    } else if has(words::BILLING) {
        C::Billing
    } else if has(words::RATE) {
        C::RateLimited
    } else if has(words::OVERFLOW) {
        C::ContextOverflow
    } else if has(words::AUTH) {
        C::Authentication
    } else if has(words::DATA_POLICY) {
        C::ProviderPolicy
    } else if has(words::MODEL) {
        C::ModelNotFound
    } else if e.text.contains("overloaded") {
        C::Overloaded
    } else if has(words::TIMED_OUT) {
        C::Timeout
    } else if has(words::DISCONNECT) {
        disconnect(e.conversation)
    } else {
        C::Unknown
    }
}

/// 17: a server that hangs up on a huge request may mean that it is too long.
fn disconnect(conversation: &Conversation) -> ErrorClass {
    if conversation.fills(0.6, 120_000, 200) {
        ErrorClass::ContextOverflow
    } else {
        ErrorClass::Dropped
    }
}

fn transport(broken: Broken, message: &str, conversation: &Conversation) -> ModelError {
    let text = message.to_lowercase();
    let class = match broken {
        _ if matches(&text, words::TLS) => ErrorClass::Timeout,
        Broken::Connect => ErrorClass::Connection,
        Broken::Silent | Broken::TooLong => ErrorClass::Timeout,
        Broken::Closed => disconnect(conversation),
    };
    ModelError::new(class, message)
}

/// Whether the provider refused one of the two sampling parameters that may simply
/// be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefusedParameter {
    Temperature,
    OutputCap,
}

pub(crate) fn refused_parameter(error: &ModelError) -> Option<RefusedParameter> {
    if error.class != ErrorClass::BadRequest {
        return None;
    }
    let text = error.message.to_lowercase();
    if matches(&text, words::NO_OUTPUT_CAP) {
        Some(RefusedParameter::OutputCap)
    } else if matches(&text, words::NO_TEMPERATURE) {
        Some(RefusedParameter::Temperature)
    } else {
        None
    }
}

/// Whether the words say that a quota is used up, not that requests came too fast.
pub(crate) fn says_quota_is_used_up(error: &ModelError) -> bool {
    matches(&error.message.to_lowercase(), words::USAGE_LIMIT)
}
