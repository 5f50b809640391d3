//! Which wire format an endpoint speaks, when nobody says.

use hermes_http::Url;

use crate::wire::ApiMode;

pub(super) fn infer(provider: &str, url: &Url, model: &str, default: ApiMode) -> ApiMode {
    let host = url.host_str().unwrap_or("");
    let path = url.path().trim_end_matches('/');
    let model = model.to_ascii_lowercase();
    let last = model.rsplit('/').next().unwrap_or(&model);
    let base = match provider {
        "openai-codex" | "xai" | "xai-oauth" => ApiMode::Responses,
        // The compatible path of Google's own host.
        "gemini" if path.ends_with("/openai") => ApiMode::ChatCompletions,
        "gemini" => ApiMode::Gemini,
        "anthropic" => ApiMode::AnthropicMessages,
        "opencode-zen" if last.starts_with("claude-") => ApiMode::AnthropicMessages,
        "opencode-zen" if last.starts_with("gpt-") => ApiMode::Responses,
        "opencode-go" if last.starts_with("minimax-") || last.starts_with("qwen3.7-max") => {
            ApiMode::AnthropicMessages
        }
        _ if host == "chatgpt.com" && path.contains("/backend-api/codex") => ApiMode::Responses,
        _ if host == "api.x.ai" => ApiMode::Responses,
        _ if host == "api.anthropic.com" || path.ends_with("/anthropic") => {
            ApiMode::AnthropicMessages
        }
        _ if host == "api.kimi.com" && path.contains("/coding") => ApiMode::AnthropicMessages,
        _ => default,
    };
    let is_azure = host.ends_with(".azure.com") || host.ends_with(".azure-api.net");
    let wants_responses =
        host == "api.openai.com" || (last.starts_with("gpt-5") && !is_router(provider));
    if base == ApiMode::ChatCompletions
        && wants_responses
        && !is_azure
        && provider != "nous"
        && !is_own_server(url)
    {
        return ApiMode::Responses;
    }
    base
}

/// A router translates; it is not known to take the newer format for every model.
fn is_router(provider: &str) -> bool {
    matches!(provider, "openrouter" | "kilocode")
}

/// A server of one's own may call its model anything.
fn is_own_server(url: &Url) -> bool {
    hermes_http::is_local_host(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_host_path_and_model_decide_in_this_order() {
        use ApiMode::{AnthropicMessages as A, ChatCompletions as C, Gemini as G, Responses as R};
        for (provider, url, model, default, expected) in [
            ("xai", "https://api.x.ai/v1", "grok-4", R, R),
            ("custom", "https://api.x.ai/v1", "grok-4", C, R),
            ("anthropic", "https://proxy.example/", "claude", A, A),
            ("custom", "https://api.anthropic.com", "claude", C, A),
            ("custom", "https://host.example/anthropic/", "m", C, A),
            ("custom", "https://api.kimi.com/coding", "kimi", C, A),
            ("openai-api", "https://api.openai.com/v1", "gpt-4.1", R, R),
            ("custom", "https://api.openai.com/v1", "gpt-4.1", C, R),
            (
                "custom",
                "https://host.example/v1",
                "openai/gpt-5-mini",
                C,
                R,
            ),
            ("custom", "http://127.0.0.1:1/v1", "gpt-5", C, C),
            (
                "custom",
                "https://x.openai.azure.com/openai/v1",
                "gpt-5",
                C,
                C,
            ),
            (
                "nous",
                "https://inference-api.nousresearch.com/v1",
                "gpt-5",
                C,
                C,
            ),
            (
                "openrouter",
                "https://openrouter.ai/api/v1",
                "openai/gpt-5",
                C,
                C,
            ),
            (
                "gemini",
                "https://generativelanguage.googleapis.com/v1beta",
                "gemini-3",
                G,
                G,
            ),
            (
                "gemini",
                "https://generativelanguage.googleapis.com/v1beta/openai",
                "gemini-3",
                G,
                C,
            ),
            (
                "opencode-zen",
                "https://opencode.ai/zen/v1",
                "claude-opus",
                C,
                A,
            ),
            ("opencode-zen", "https://opencode.ai/zen/v1", "gpt-5", C, R),
            ("opencode-zen", "https://opencode.ai/zen/v1", "glm-5", C, C),
            (
                "opencode-go",
                "https://opencode.ai/zen/go/v1",
                "minimax-m2",
                C,
                A,
            ),
            (
                "deepseek",
                "https://api.deepseek.com/v1",
                "deepseek-chat",
                C,
                C,
            ),
        ] {
            let got = infer(provider, &Url::parse(url).unwrap(), model, default);
            assert_eq!(got, expected, "{provider} {url} {model}");
        }
    }
}
