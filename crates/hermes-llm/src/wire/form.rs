//! How one endpoint wants to be spoken to, as data. The catalogue and the model's
//! name fill it in; encoders only read it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::CacheMarkers;

/// The wire formats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApiMode {
    #[default]
    ChatCompletions,
    AnthropicMessages,
    /// The name is the one that configuration files use.
    #[serde(rename = "codex_responses", alias = "responses")]
    Responses,
    Gemini,
}

impl ApiMode {
    /// The word that configuration files use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ChatCompletions => "chat_completions",
            Self::AnthropicMessages => "anthropic_messages",
            Self::Responses => "codex_responses",
            Self::Gemini => "gemini",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "chat_completions" => Self::ChatCompletions,
            "anthropic_messages" => Self::AnthropicMessages,
            "codex_responses" | "responses" => Self::Responses,
            "gemini" => Self::Gemini,
            _ => return None,
        })
    }
}

/// The field that limits the length of a chat completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputCapField {
    #[default]
    MaxTokens,
    MaxCompletionTokens,
}

/// How a chat-completions endpoint is told how hard to think.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningStyle {
    /// Not at all.
    #[default]
    None,
    /// `reasoning: {enabled, effort}`, only for models known to take it.
    Router,
    /// The same for every model, left out when thinking is off.
    RouterAlways,
    /// `thinking: {type}` and `reasoning_effort`.
    Thinking,
    /// The same, with `max` for the highest effort.
    ThinkingMax,
    /// `think: false` when thinking is off, else nothing.
    ThinkOff,
    /// `reasoning_effort` when an effort was chosen.
    Effort,
    /// `reasoning_effort`, `high` unless chosen otherwise.
    EffortHigh,
}

/// Whether stored reasoning travels back as `reasoning_content`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Echo {
    #[default]
    Never,
    /// Where it is stored.
    Stored,
    /// On every assistant message; a single space where nothing is stored.
    Always,
}

/// What a server's schema reader cannot take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaDialect {
    #[default]
    Plain,
    /// Only the subset that Moonshot documents.
    Moonshot,
    /// No `pattern`, no `format`, no enum value with a slash.
    Xai,
    /// The subset of OpenAPI that Gemini reads.
    Gemini,
}

/// Where the id of the conversation goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionHint {
    #[default]
    None,
    /// `session_id` in the body.
    Body,
    /// `prompt_cache_key` in the body.
    CacheKey,
    /// `metadata` in the body, with a name for this request beside it.
    Metadata,
}

/// Forms that an endpoint turned out to refuse; learnt while talking to it and
/// kept for as long as the process talks to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mend {
    /// Send no structured reasoning back.
    pub no_reasoning_details: bool,
    /// Send no `pattern` and `format` in schemas.
    pub no_schema_patterns: bool,
    /// Tool results may only be text.
    pub tool_results_as_text: bool,
    /// Send no pictures at all.
    pub no_images: bool,
    /// Ask for the whole answer at once.
    pub no_stream: bool,
    /// Do not ask for the beta of the long window.
    pub no_long_context_beta: bool,
    pub no_temperature: bool,
    pub no_output_cap: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Form {
    pub model: String,
    /// `developer` instead of `system`.
    pub developer_role: bool,
    pub output_cap_field: OutputCapField,
    /// The cap when the request has none; `None` leaves it to the provider.
    pub default_output: Option<u32>,
    /// Where a cap must be sent: it may not fill the window by itself.
    pub window_cap: Option<u32>,
    pub reasoning: ReasoningStyle,
    /// The efforts that the model takes, where the server says so.
    pub efforts: Option<Vec<String>>,
    pub echo: Echo,
    pub no_temperature: bool,
    pub cache: Option<CacheMarkers>,
    /// Even plain text goes as a list of parts.
    pub content_as_parts: bool,
    /// Provider data of tool calls (`extra_content`) travels back.
    pub call_extra: bool,
    pub schema: SchemaDialect,
    pub session: SessionHint,
    /// The vendor's own endpoint: signed and encrypted reasoning may go back.
    pub first_party: bool,
    /// Who minted encrypted reasoning items; only the same issuer gets them back.
    pub issuer: String,
    /// The endpoint takes no output cap at all.
    pub no_output_cap: bool,
    /// No summary of the reasoning is asked for.
    pub no_reasoning_summary: bool,
    pub service_tier: Option<String>,
    /// Merged over the body last.
    pub extra_body: Map<String, Value>,
    pub mend: Mend,
}

impl Form {
    /// A form without any deviation.
    pub fn plain(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            ..Self::default()
        }
    }

    pub(crate) fn merge_extra(&self, body: &mut Map<String, Value>) {
        for (name, value) in &self.extra_body {
            body.insert(name.clone(), value.clone());
        }
    }
}

/// A sampling temperature as JSON, without the noise of a widened float.
pub(crate) fn temperature(value: f32) -> Value {
    Value::from((f64::from(value) * 1e4).round() / 1e4)
}
