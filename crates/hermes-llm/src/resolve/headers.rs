//! Headers that a vendor wants beside the key.

use hermes_http::Url;
use serde_json::Value;

use super::Sources;
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
    let host = url.host_str().unwrap_or("");
    let lower = model.to_ascii_lowercase();
    if mode == ApiMode::AnthropicMessages {
        put("anthropic-version", ANTHROPIC_VERSION);
        let mut betas = vec!["interleaved-thinking-2025-05-14"];
        if !provider.id.starts_with("minimax") {
            betas.push("fine-grained-tool-streaming-2025-05-14");
        }
        if host.ends_with(".azure.com") && Claude::parse(&lower).is_some() {
            betas.push("context-1m-2025-08-07");
        }
        put("anthropic-beta", &betas.join(","));
    }
    if provider.id == "openrouter" {
        put("HTTP-Referer", "https://hermes-agent.nousresearch.com");
        put("X-Title", "Hermes Agent");
        put("X-OpenRouter-Categories", "productivity,cli-agent");
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
