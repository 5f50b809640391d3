//! Values as text: for variables, and for people.

use serde_json::Value;

/// A value as a variable holds it: lists and maps as JSON, `1.0` as `1`.
pub fn as_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => {
                format!("{float:.0}")
            }
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}

/// A secret as a screen shows it: its first and last four characters, or nothing of
/// it when it is short.
pub fn mask(secret: &str) -> String {
    const SHORT: usize = 12;
    let characters: Vec<char> = secret.chars().collect();
    if characters.len() < SHORT {
        return "***".to_owned();
    }
    let first: String = characters[..4].iter().collect();
    let last: String = characters[characters.len() - 4..].iter().collect();
    format!("{first}...{last}")
}

/// Whether what stands at a path is a secret, by the table or by its name.
pub fn is_secret(path: &str) -> bool {
    if let Some(key) = crate::keys::key(path) {
        return key.secret;
    }
    let name = path.rsplit('.').next().unwrap_or(path).to_ascii_lowercase();
    let is_named = [
        "api_key",
        "apikey",
        "token",
        "secret",
        "password",
        "authorization",
    ]
    .iter()
    .any(|word| {
        name == *word || name.ends_with(&format!("_{word}")) || name.ends_with(&format!("-{word}"))
    });
    // `max_tokens` counts tokens; `key_env` names a variable.
    is_named || (name.ends_with("_key") && !name.contains("session"))
}

/// The tree with every secret masked. A template shows itself: it names no secret.
pub fn masked(path: &str, value: &Value) -> Value {
    let below = |name: &str| {
        if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path}.{name}")
        }
    };
    match value {
        Value::Object(map) => map
            .iter()
            .map(|(name, value)| (name.clone(), masked(&below(name), value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(|item| masked(path, item)).collect(),
        Value::String(text) if !text.is_empty() && is_secret(path) => {
            if text.starts_with("${") && text.ends_with('}') {
                value.clone()
            } else {
                Value::String(mask(text))
            }
        }
        Value::Number(number) if is_secret(path) => Value::String(mask(&number.to_string())),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_are_masked_wherever_they_stand() {
        assert_eq!(mask("sk-or-v1-0000000000000000fake"), "sk-o...fake");
        assert_eq!(mask("fc-0000fake"), "***");
        let tree = json!({
            "model": {"default": "m", "api_key": "sk-local-0000", "max_tokens": 5},
            "providers": {"x": {"api_key": "${X_KEY}", "key_env": "X_API_KEY"}},
            "mcp_servers": {"s": {"headers": {"Authorization": "Bearer abcdefghijkl"}}},
            "custom_providers": [{"name": "n", "api_key": "abcdefghijklmnop"}],
        });
        assert_eq!(
            masked("", &tree),
            json!({
                "model": {"default": "m", "api_key": "sk-l...0000", "max_tokens": 5},
                "providers": {"x": {"api_key": "${X_KEY}", "key_env": "X_API_KEY"}},
                "mcp_servers": {"s": {"headers": {"Authorization": "Bear...ijkl"}}},
                "custom_providers": [{"name": "n", "api_key": "abcd...mnop"}],
            })
        );
    }
}
