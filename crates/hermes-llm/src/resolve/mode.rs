//! Which wire format an endpoint speaks, when nobody says.

use hermes_http::Url;

use crate::catalogue::Provider;
use crate::wire::ApiMode;

pub(super) fn infer(provider: &Provider, url: &Url, model: &str) -> ApiMode {
    let host = url.host_str().unwrap_or("");
    let path = url.path().trim_end_matches('/');
    let model = model.to_ascii_lowercase();
    let last = model.rsplit('/').next().unwrap_or(&model);
    let by_model = provider
        .modes
        .iter()
        .find(|(start, _)| last.starts_with(start.as_str()))
        .map(|(_, mode)| *mode);
    if let Some(mode) = by_model {
        return mode;
    }
    let base = match provider.mode {
        // The compatible path of Google's own host.
        ApiMode::Gemini if path.ends_with("/openai") => ApiMode::ChatCompletions,
        ApiMode::ChatCompletions => match host {
            "chatgpt.com" if path.contains("/backend-api/codex") => ApiMode::Responses,
            "api.x.ai" => ApiMode::Responses,
            "api.anthropic.com" => ApiMode::AnthropicMessages,
            _ if path.ends_with("/anthropic") => ApiMode::AnthropicMessages,
            "api.kimi.com" if path.contains("/coding") => ApiMode::AnthropicMessages,
            _ => ApiMode::ChatCompletions,
        },
        other => other,
    };
    let is_azure = host.ends_with(".azure.com") || host.ends_with(".azure-api.net");
    // A router translates; it is not known to take the newer format for every model.
    let wants_responses =
        host == "api.openai.com" || (last.starts_with("gpt-5") && !provider.router);
    if base == ApiMode::ChatCompletions && wants_responses && !is_azure && !is_own_server(url) {
        return ApiMode::Responses;
    }
    base
}

/// A server of one's own may call its model anything.
fn is_own_server(url: &Url) -> bool {
    hermes_http::is_local_host(url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::provider;

    #[test]
    fn provider_host_path_and_model_decide_in_this_order() {
        use ApiMode::{AnthropicMessages as A, ChatCompletions as C, Gemini as G, Responses as R};
        for (id, url, model, expected) in [
            ("xai", "https://api.x.ai/v1", "grok-4", R),
            ("custom", "https://api.x.ai/v1", "grok-4", R),
            ("anthropic", "https://proxy.example/", "claude", A),
            ("custom", "https://api.anthropic.com", "claude", A),
            ("custom", "https://host.example/anthropic/", "m", A),
            ("custom", "https://api.kimi.com/coding", "kimi", A),
            ("openai-api", "https://api.openai.com/v1", "gpt-4.1", R),
            ("custom", "https://api.openai.com/v1", "gpt-4.1", R),
            ("custom", "https://host.example/v1", "openai/gpt-5-mini", R),
            ("custom", "http://127.0.0.1:1/v1", "gpt-5", C),
            ("custom", "https://x.openai.azure.com/openai/v1", "gpt-5", C),
            (
                "nous",
                "https://inference-api.nousresearch.com/v1",
                "gpt-5",
                C,
            ),
            (
                "openrouter",
                "https://openrouter.ai/api/v1",
                "openai/gpt-5",
                C,
            ),
            (
                "gemini",
                "https://generativelanguage.googleapis.com/v1beta",
                "gemini-3",
                G,
            ),
            (
                "gemini",
                "https://generativelanguage.googleapis.com/v1beta/openai",
                "gemini-3",
                C,
            ),
            (
                "opencode-zen",
                "https://opencode.ai/zen/v1",
                "claude-opus",
                A,
            ),
            ("opencode-zen", "https://opencode.ai/zen/v1", "gpt-5", R),
            (
                "azure",
                "https://x.openai.azure.com/openai/v1",
                "gpt-5.1",
                R,
            ),
            (
                "azure",
                "https://x.openai.azure.com/openai/v1",
                "gpt-4.1",
                C,
            ),
            (
                "azure",
                "https://x.services.ai.azure.com/anthropic",
                "claude",
                A,
            ),
            ("opencode-zen", "https://opencode.ai/zen/v1", "glm-5", C),
            (
                "opencode-go",
                "https://opencode.ai/zen/go/v1",
                "minimax-m2",
                A,
            ),
            (
                "deepseek",
                "https://api.deepseek.com/v1",
                "deepseek-chat",
                C,
            ),
        ] {
            let got = infer(provider(id).unwrap(), &Url::parse(url).unwrap(), model);
            assert_eq!(got, expected, "{id} {url} {model}");
        }
    }
}
