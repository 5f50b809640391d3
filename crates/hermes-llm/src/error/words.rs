//! Words by which failures are told apart, in lower case. Providers have no common
//! codes, so this list only ever grows.

/// All words of at least one group must occur.
pub(super) type Groups = &'static [&'static [&'static str]];

pub(super) fn matches(text: &str, groups: Groups) -> bool {
    groups
        .iter()
        .any(|words| words.iter().all(|word| text.contains(word)))
}

pub(super) const SAFETY: Groups = &[
    &["violat", "usage polic"],
    &["cyber", "flagged"],
    &["cyber", "risk"],
    &["content_filter"],
    &["responsibleaipolicyviolation"],
    &["responsible ai", "violat"],
    &["content management policy"],
];

pub(super) const GRAMMAR: Groups = &[
    &["failed to parse grammar"],
    &["error parsing grammar"],
    &["invalid grammar"],
    &["unable to generate parser"],
    &["json schema conversion failed"],
    &["pattern must start with"],
];

pub(super) const NO_GROK: Groups = &[
    &["no active grok subscription"],
    &["out of resources", "grok"],
];

pub(super) const SPEND_LIMIT: Groups = &[
    &["key limit"],
    &["spend limit"],
    &["spending limit"],
    &["limit exceeded", "key"],
];

pub(super) const BILLING: Groups = &[
    &["insufficient credits"],
    &["insufficient balance"],
    &["insufficient_balance"],
    &["insufficient_quota"],
    &["insufficient funds"],
    &["credit balance"],
    &["credits exhausted"],
    &["credits have been exhausted"],
    &["no usable credits"],
    &["more credits"],
    &["top up"],
    &["payment required"],
    &["exceeded your current quota"],
    &["billing hard limit"],
    &["billing_hard_limit"],
    &["out of funds"],
    &["plan does not include"],
    &["not available on the free tier"],
    &["not supported on free tier"],
    &["free tier", "upgrade"],
    &["account is deactivated", "billing"],
];

pub(super) const USAGE_LIMIT: Groups = &[
    &["usage limit"],
    &["usage_limit"],
    &["quota"],
    &["limit reached"],
    &["limit exceeded"],
    &["limit has been reached"],
];

pub(super) const TRANSIENT: Groups = &[
    &["try again"],
    &["retry"],
    &["resets at"],
    &["resets in"],
    &["reset in"],
    &["reset at"],
    &["wait"],
    &["per minute"],
    &["per hour"],
    &["temporar"],
];

pub(super) const RATE: Groups = &[
    &["rate limit"],
    &["rate_limit"],
    &["ratelimit"],
    &["too many requests"],
    &["throttled"],
    &["throttlingexception"],
    &["requests per minute"],
    &["tokens per minute"],
    &["requests per day"],
    &["try again in"],
    &["please retry after"],
    &["resource_exhausted"],
    &["too many concurrent requests"],
];

pub(super) const OVERFLOW: Groups = &[
    &["context length"],
    &["context_length"],
    &["context size"],
    &["context window"],
    &["context limit"],
    &["maximum context"],
    &["token limit"],
    &["too many tokens"],
    &["reduce the length"],
    &["exceeds the limit"],
    &["prompt is too long"],
    &["prompt too long"],
    &["max_tokens"],
    &["maximum number of tokens"],
    &["max_model_len"],
    &["input is too long"],
    &["n_ctx_slot"],
    &["slot context"],
    &["max input token"],
    &["超过最大长度"],
    &["上下文长度"],
];

pub(super) const DATA_POLICY: Groups = &[
    &["data policy"],
    &["privacy settings"],
    &["guardrail restrictions and data"],
];

pub(super) const MODEL: Groups = &[
    &["model", "not found"],
    &["model", "does not exist"],
    &["model", "not exist"],
    &["model_not_found"],
    &["model", "is not available"],
    &["model", "not supported"],
    &["no such model"],
    &["unknown model"],
    &["invalid model"],
    &["not a valid model"],
    &["no endpoints found"],
];

pub(super) const PAYLOAD: Groups = &[
    &["request entity too large"],
    &["payload too large"],
    &["content too large"],
    &["request_too_large"],
    &["request too large"],
    &["body exceeds"],
];

pub(super) const TOOL_CONTENT: Groups = &[
    &["tool", "content", "must be a string"],
    &["tool", "content", "should be a string"],
    &["tool message", "string", "content"],
    &["tool", "image_url", "not supported"],
    &["role 'tool'", "image"],
    &["tool messages", "text"],
];

pub(super) const IMAGE_SIZE: Groups = &[
    &["image", "exceeds"],
    &["image", "too large"],
    &["image", "dimensions"],
    &["image size"],
];

pub(super) const NO_IMAGES: Groups = &[
    &["image", "not support"],
    &["image", "unsupported"],
    &["images", "are not allowed"],
    &["vision", "not support"],
    &["multimodal", "not support"],
    &["multimodal", "unsupported"],
    &["support image input"],
    &["image_url", "only 'text'"],
    &["image_url", "expected", "text"],
    &["unknown variant `image_url`"],
    &["mmproj"],
];

pub(super) const ENCRYPTED: Groups = &[
    &["invalid_encrypted_content"],
    &["encrypted content", "could not be"],
    &["encrypted_content", "invalid"],
    &["encrypted content", "verified"],
];

pub(super) const REQUEST_SHAPE: Groups = &[
    &["invalid_request_error"],
    &["unknown parameter"],
    &["unsupported parameter"],
    &["unrecognized request argument"],
    &["invalid type for"],
    &["missing required parameter"],
    &["validation error"],
];

pub(super) const AUTH: Groups = &[
    &["invalid api key"],
    &["invalid_api_key"],
    &["incorrect api key"],
    &["unauthorized"],
    &["authentication"],
    &["invalid x-api-key"],
    &["permission denied"],
    &["token has expired"],
    &["no auth credentials"],
];

pub(super) const TIMED_OUT: Groups = &[
    &["timed out"],
    &["timeout"],
    &["deadline exceeded"],
    &["deadline_exceeded"],
];

pub(super) const DISCONNECT: Groups = &[
    &["server disconnected"],
    &["connection reset"],
    &["connection closed"],
    &["connection was closed"],
    &["incomplete message"],
    &["closed before message completed"],
    &["unexpected eof"],
    &["broken pipe"],
    &["peer closed connection"],
    &["incomplete chunked read"],
];

pub(super) const TLS: Groups = &[
    &["bad record mac"],
    &["ssl alert"],
    &["tls alert"],
    &["alert received"],
    &["received fatal alert"],
];

pub(super) const NO_STREAM: Groups = &[&["stream", "not supported"], &["stream", "unsupported"]];

pub(super) const NO_TEMPERATURE: Groups = &[
    &["temperature", "unsupported"],
    &["temperature", "not support"],
    &["temperature", "only the default"],
    &["temperature", "deprecated"],
];

pub(super) const NO_OUTPUT_CAP: Groups = &[
    &["max_tokens", "unsupported parameter"],
    &["max_tokens", "not supported"],
    &["max_output_tokens", "unsupported parameter"],
    &["max_output_tokens", "not supported"],
];
