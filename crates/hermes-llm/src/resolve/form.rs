//! The form of an endpoint: the provider's row, corrected by host and model name.

use hermes_http::Url;
use serde_json::{Map, Value, json};

use super::settings::text;
use crate::catalogue::Provider;
use crate::wire::anthropic::max_output;
use crate::wire::{
    ApiMode, CacheLayout, CacheMarkers, Echo, Form, OutputCapField, ReasoningStyle, SchemaDialect,
    SessionHint,
};

pub(super) fn form(
    provider: &Provider,
    mode: ApiMode,
    url: &Url,
    model: &str,
    config: &Value,
) -> Form {
    let host = url.host_str().unwrap_or("");
    let lower = model.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let claude_routed = provider.router && lower.contains("claude") && provider.id != "kilocode";
    Form {
        model: model.to_owned(),
        developer_role: has(&["gpt-5", "codex"]),
        output_cap_field: if is_openai_like(host) {
            OutputCapField::MaxCompletionTokens
        } else {
            OutputCapField::MaxTokens
        },
        default_output: provider
            .default_output
            .or_else(|| claude_routed.then(|| max_output(model))),
        reasoning: reasoning(provider, mode, host, &lower),
        echo: echo(provider, mode, host, &lower),
        no_temperature: provider.no_temperature,
        cache: cache(provider, mode, host, &lower, config),
        content_as_parts: provider.content_as_parts,
        call_extra: has(&["gemini", "gemma"]),
        schema: match provider.schema {
            SchemaDialect::Plain if has(&["kimi", "moonshot"]) => SchemaDialect::Moonshot,
            SchemaDialect::Plain if host == "api.x.ai" => SchemaDialect::Xai,
            other => other,
        },
        session: match (mode, host) {
            (ApiMode::Responses, "api.x.ai" | "api.githubcopilot.com") => SessionHint::None,
            (ApiMode::Responses, _) => SessionHint::CacheKey,
            _ => provider.session,
        },
        first_party: host == "api.anthropic.com",
        issuer: issuer(host, url),
        no_output_cap: host == "chatgpt.com",
        service_tier: service_tier(mode, config),
        extra_body: extra_body(provider, model, config),
        mend: crate::wire::Mend::default(),
    }
}

fn is_openai_like(host: &str) -> bool {
    host == "api.openai.com"
        || host.ends_with(".openai.azure.com")
        || host == "api.githubcopilot.com"
}

fn reasoning(provider: &Provider, mode: ApiMode, host: &str, model: &str) -> ReasoningStyle {
    let last = model.rsplit('/').next().unwrap_or(model);
    match mode {
        ApiMode::Responses if host == "api.x.ai" => {
            let takes = ["grok-3-mini", "grok-4.20-multi-agent", "grok-4.3"];
            if takes.iter().any(|name| last.starts_with(name)) {
                ReasoningStyle::Effort
            } else {
                ReasoningStyle::None
            }
        }
        ApiMode::Responses => {
            let takes = ["gpt-5", "o1", "o3", "o4", "codex", "gpt-oss"];
            if takes.iter().any(|name| last.starts_with(name)) {
                ReasoningStyle::Effort
            } else {
                ReasoningStyle::None
            }
        }
        ApiMode::AnthropicMessages | ApiMode::Gemini => ReasoningStyle::None,
        // The older chat model of this vendor thinks under another name.
        ApiMode::ChatCompletions if provider.id == "deepseek" && last == "deepseek-chat" => {
            ReasoningStyle::None
        }
        ApiMode::ChatCompletions => provider.reasoning,
    }
}

fn echo(provider: &Provider, mode: ApiMode, host: &str, model: &str) -> Echo {
    let wants = ["deepseek", "kimi", "moonshot", "mimo"];
    let named = wants.iter().any(|w| model.contains(w) || host.contains(w));
    match mode {
        ApiMode::ChatCompletions if named => Echo::Always,
        ApiMode::ChatCompletions => provider.echo,
        // Endpoints of these vendors in the Anthropic format keep unsigned thinking.
        ApiMode::AnthropicMessages if named => Echo::Stored,
        _ => Echo::Never,
    }
}

fn cache(
    provider: &Provider,
    mode: ApiMode,
    host: &str,
    model: &str,
    config: &Value,
) -> Option<CacheMarkers> {
    let claude = model.contains("claude");
    let qwen = model.contains("qwen");
    let layout = match mode {
        ApiMode::AnthropicMessages
            if claude || host == "api.anthropic.com" || provider.id.starts_with("minimax") =>
        {
            CacheLayout::Native
        }
        ApiMode::ChatCompletions => {
            let routed = matches!(provider.id.as_str(), "openrouter" | "nous") && claude;
            let qwen_host = matches!(
                provider.id.as_str(),
                "nous" | "opencode-zen" | "opencode-go" | "alibaba" | "alibaba-coding-plan"
            ) && qwen;
            if !routed && !qwen_host {
                return None;
            }
            CacheLayout::Envelope
        }
        _ => return None,
    };
    let long = config
        .get("prompt_caching")
        .and_then(|section| text(section, "cache_ttl"))
        == Some("1h");
    Some(CacheMarkers { layout, long })
}

fn issuer(host: &str, url: &Url) -> String {
    match host {
        "chatgpt.com" => "codex_backend".to_owned(),
        "api.githubcopilot.com" => "github_responses".to_owned(),
        "api.x.ai" => "xai_responses".to_owned(),
        _ => format!("other:{}", url.as_str().trim_end_matches('/')),
    }
}

fn service_tier(mode: ApiMode, config: &Value) -> Option<String> {
    let tier = text(config.get("agent")?, "service_tier")?;
    // `fast` is the older word; the API calls it priority.
    (mode == ApiMode::Responses && matches!(tier, "fast" | "priority"))
        .then(|| "priority".to_owned())
}

fn extra_body(provider: &Provider, model: &str, config: &Value) -> Map<String, Value> {
    let mut body = Map::new();
    match provider.id.as_str() {
        "openrouter" => {
            // Answers then say what they cost.
            body.insert("usage".to_owned(), json!({"include": true}));
            if let Some(Value::Object(routing)) = config.get("provider_routing")
                && !routing.is_empty()
            {
                body.insert("provider".to_owned(), Value::Object(routing.clone()));
            }
            if model == "openrouter/pareto-code" {
                let score = config
                    .get("openrouter")
                    .and_then(|section| section.get("min_coding_score"))
                    .cloned()
                    .unwrap_or(json!(0.65));
                body.insert(
                    "plugins".to_owned(),
                    json!([{"id": "pareto-router", "min_coding_score": score}]),
                );
            }
        }
        "nous" => {
            let client = concat!("client=hermes-", env!("CARGO_PKG_VERSION"));
            body.insert("tags".to_owned(), json!(["product=hermes-agent", client]));
        }
        "qwen-oauth" => {
            body.insert("vl_high_resolution_images".to_owned(), json!(true));
        }
        _ => {}
    }
    body
}
