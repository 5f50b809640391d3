//! The form of an endpoint: the provider's row, corrected by host and model name.

use hermes_http::Url;
use serde_json::{Map, Value, json};

use super::headers::{is_fast, wants_speed};
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
    Form {
        model: model.to_owned(),
        developer_role: has(&["gpt-5", "codex"]),
        output_cap_field: if is_openai_like(host) {
            OutputCapField::MaxCompletionTokens
        } else {
            OutputCapField::MaxTokens
        },
        default_output: provider.default_output.or_else(|| {
            Provider::names(&provider.own_output_cap, &lower).then(|| max_output(model))
        }),
        window_cap: None,
        reasoning: reasoning(provider, mode, host, &lower),
        efforts: None,
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
            (ApiMode::Responses, "api.githubcopilot.com") => SessionHint::None,
            // xAI asks for it too: without it a cache is met by chance only.
            (ApiMode::Responses, _) => SessionHint::CacheKey,
            _ => provider.session,
        },
        first_party: host == "api.anthropic.com",
        issuer: issuer(host, url),
        no_output_cap: host == "chatgpt.com",
        // The vendor of this host takes an effort only.
        no_reasoning_summary: host == "api.x.ai",
        service_tier: (mode == ApiMode::Responses && wants_speed(config))
            .then(|| "priority".to_owned()),
        extra_body: extra_body(provider, mode, model, config),
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
            let takes = [
                "grok-3-mini",
                "grok-4.20-multi-agent",
                "grok-4.3",
                "grok-4.5",
                "grok-4.6",
            ];
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
        // Older models of this vendor think under another name or not at all.
        ApiMode::ChatCompletions if provider.id == "deepseek" && !deepseek_thinks(last) => {
            ReasoningStyle::None
        }
        ApiMode::ChatCompletions => provider.reasoning,
    }
}

fn deepseek_thinks(model: &str) -> bool {
    let generation = model
        .strip_prefix("deepseek-v")
        .and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next())
        .and_then(|digits| digits.parse::<u32>().ok());
    model.contains("reasoner") || generation.is_some_and(|generation| generation >= 4)
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
    let listed = Provider::names(&provider.cached, model);
    let layout = match mode {
        ApiMode::AnthropicMessages
            if listed || model.contains("claude") || host == "api.anthropic.com" =>
        {
            CacheLayout::Native
        }
        ApiMode::ChatCompletions if listed => {
            provider.cache_layout.unwrap_or(CacheLayout::Envelope)
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

fn extra_body(
    provider: &Provider,
    mode: ApiMode,
    model: &str,
    config: &Value,
) -> Map<String, Value> {
    let mut body = provider.body.clone();
    body.values_mut().for_each(name_version);
    if is_fast(provider, mode, model, config) {
        body.insert("speed".to_owned(), json!("fast"));
    }
    if provider.id == "openrouter" {
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
    body
}

/// Puts our version where the catalogue leaves room for it.
fn name_version(value: &mut Value) {
    match value {
        Value::String(text) if text.contains("${VERSION}") => {
            *text = text.replace("${VERSION}", env!("CARGO_PKG_VERSION"));
        }
        Value::Array(items) => items.iter_mut().for_each(name_version),
        _ => {}
    }
}
