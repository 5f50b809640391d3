//! Headers that a vendor wants beside the key.

use hermes_http::Url;
use serde_json::Value;

use super::Sources;
use super::settings::text;
use crate::catalogue::Provider;
use crate::wire::ApiMode;
use crate::wire::anthropic::Claude;

const ANTHROPIC_VERSION: &str = "2023-06-01";

pub(super) fn headers(
    provider: &Provider,
    mode: ApiMode,
    url: &Url,
    model: &str,
    sources: &Sources<'_>,
) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    let mut put = |name: &str, value: &str| out.push((name.to_owned(), value.to_owned()));
    let lower = model.to_ascii_lowercase();
    if mode == ApiMode::AnthropicMessages {
        put("anthropic-version", ANTHROPIC_VERSION);
        let mut betas = vec!["interleaved-thinking-2025-05-14"];
        if !provider.no_fine_grained_streaming {
            betas.push("fine-grained-tool-streaming-2025-05-14");
        }
        if is_azure(url) && Claude::parse(&lower).is_some() {
            betas.push("context-1m-2025-08-07");
        }
        if is_fast(provider, mode, model, sources.config) {
            betas.push("fast-mode-2026-02-01");
        }
        put("anthropic-beta", &betas.join(","));
    }
    for (name, value) in &provider.headers {
        put(name, value.as_str().unwrap_or_default());
    }
    if provider.id == "openrouter" {
        if lower.contains("claude") {
            put("x-anthropic-beta", "fine-grained-tool-streaming-2025-05-14");
        }
        let settings = sources.config.get("openrouter");
        let cached = settings
            .and_then(|section| section.get("response_cache"))
            .and_then(Value::as_bool)
            .unwrap_or(true);
        if cached {
            let ttl = settings
                .and_then(|section| section.get("response_cache_ttl"))
                .and_then(Value::as_u64)
                .unwrap_or(300);
            put("X-OpenRouter-Cache", "true");
            put("X-OpenRouter-Cache-TTL", &ttl.to_string());
        }
    }
    out
}

pub(super) fn is_azure(url: &Url) -> bool {
    url.host_str()
        .is_some_and(|host| host.ends_with(".azure.com"))
}

/// `agent.service_tier: fast` at the vendor itself, for the one model that sells it.
pub(super) fn is_fast(provider: &Provider, mode: ApiMode, model: &str, config: &Value) -> bool {
    provider.id == "anthropic"
        && mode == ApiMode::AnthropicMessages
        && wants_speed(config)
        && Claude::parse(&model.to_ascii_lowercase())
            .is_some_and(|claude| claude.family == "opus" && claude.version == (4, 6))
}

/// `fast` is the older word for what the API calls priority.
pub(super) fn wants_speed(config: &Value) -> bool {
    let tier = config
        .get("agent")
        .and_then(|section| text(section, "service_tier"));
    matches!(tier, Some("fast" | "priority"))
}
