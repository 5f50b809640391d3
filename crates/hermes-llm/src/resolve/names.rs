//! What a model is called where it is asked for.

use crate::catalogue::Provider;

/// Vendors by how the names of their models begin.
const VENDORS: [(&str, &str); 21] = [
    ("claude", "anthropic"),
    ("gpt", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("gemini", "google"),
    ("gemma", "google"),
    ("deepseek", "deepseek"),
    ("glm", "z-ai"),
    ("kimi", "moonshotai"),
    ("minimax", "minimax"),
    ("grok", "x-ai"),
    ("qwen", "qwen"),
    ("mimo", "xiaomi"),
    ("trinity", "arcee-ai"),
    ("nemotron", "nvidia"),
    ("llama", "meta-llama"),
    ("step", "stepfun"),
    ("hermes", "nousresearch"),
    ("mistral", "mistralai"),
    ("codex", "openai"),
];

/// The name on the wire.
pub fn wire_name(provider: &Provider, model: &str) -> String {
    let model = model.trim();
    let model = if provider.lower_case {
        model.to_ascii_lowercase()
    } else {
        model.to_owned()
    };
    if provider.router {
        return with_vendor(&model);
    }
    if provider.any_prefix {
        return model.rsplit('/').next().unwrap_or(&model).to_owned();
    }
    let own = provider
        .prefixes
        .iter()
        .find_map(|prefix| model.strip_prefix(prefix.as_str())?.strip_prefix('/'))
        .unwrap_or(&model);
    match provider.id.as_str() {
        "anthropic" => own.replace('.', "-"),
        "deepseek" => deepseek(own),
        _ => own.to_owned(),
    }
}

fn with_vendor(model: &str) -> String {
    if model.contains('/') {
        return model.to_owned();
    }
    let lower = model.to_ascii_lowercase();
    match VENDORS.iter().find(|(start, _)| lower.starts_with(start)) {
        Some((_, vendor)) => format!("{vendor}/{model}"),
        None => model.to_owned(),
    }
}

/// This vendor's own endpoint serves its models under two names; names of versions
/// it does not know become the nearer one.
fn deepseek(model: &str) -> String {
    let lower = model.to_ascii_lowercase();
    if lower.starts_with("deepseek-") {
        return model.to_owned();
    }
    let thinks = ["reason", "think", "r1"].iter().any(|w| lower.contains(w));
    if thinks {
        "deepseek-reasoner"
    } else {
        "deepseek-chat"
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::provider;

    #[test]
    fn names_fit_the_provider() {
        for (id, model, expected) in [
            ("openrouter", "claude-opus-4.6", "anthropic/claude-opus-4.6"),
            ("openrouter", "gpt-5", "openai/gpt-5"),
            ("openrouter", "glm-5", "z-ai/glm-5"),
            ("openrouter", "acme/x", "acme/x"),
            ("openrouter", "unheard-of", "unheard-of"),
            ("nous", "kimi-k2", "moonshotai/kimi-k2"),
            ("anthropic", "anthropic/claude-opus-4.6", "claude-opus-4-6"),
            ("openai-api", "openai/gpt-5", "gpt-5"),
            ("opencode-zen", "anthropic/claude-opus-4", "claude-opus-4"),
            ("deepseek", "deepseek/deepseek-v4", "deepseek-v4"),
            ("deepseek", "r1-something", "deepseek-reasoner"),
            ("deepseek", "whatever", "deepseek-chat"),
            ("gemini", "google/gemini-3", "google/gemini-3"),
            ("huggingface", "org/model", "org/model"),
            ("xiaomi", "MiMo-V2", "mimo-v2"),
            ("zai", "z-ai/glm-5", "glm-5"),
            ("custom", "org/model", "org/model"),
        ] {
            assert_eq!(
                wire_name(provider(id).unwrap(), model),
                expected,
                "{id} {model}"
            );
        }
    }
}
