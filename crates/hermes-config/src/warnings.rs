//! Shapes that are read but probably not meant. None of them stops anything.

use serde_json::Value;

use crate::config::Config;

/// Sentences for the person, in the order of the file's importance.
pub fn structure_warnings(config: &Config) -> Vec<String> {
    let mut warnings = Vec::new();
    let raw = config.raw();
    custom_providers(raw, config, &mut warnings);
    fallback(raw, &mut warnings);
    for name in ["base_url", "api_key", "rate_limit_delay", "api_mode"] {
        if raw.get(name).is_some() {
            warnings.push(format!(
                "`{name}` stands at the top level of config.yaml; it belongs under `model:` or a provider"
            ));
        }
    }
    for name in ["MESSAGING_CWD", "TERMINAL_CWD"] {
        if config.dotenv().variables.get(name).is_some() {
            warnings.push(format!(
                "`{name}` in .env is deprecated; set `terminal.cwd` in config.yaml instead"
            ));
        }
    }
    for name in &config.dotenv().cleaned {
        warnings.push(format!(
            "`{name}` in .env held characters outside ASCII, which were dropped; paste the key again"
        ));
    }
    for line in &config.dotenv().skipped_lines {
        warnings.push(format!(
            ".env line {line} is not of the form NAME=value and was skipped"
        ));
    }
    warnings
}

fn custom_providers(raw: &Value, config: &Config, warnings: &mut Vec<String>) {
    match raw.get("custom_providers") {
        None | Some(Value::Null) => return,
        Some(Value::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                let lacks = |name: &str| is_blank(item.get(name));
                if lacks("name") || (lacks("base_url") && lacks("url") && lacks("api")) {
                    warnings.push(format!(
                        "`custom_providers` item {} lacks `name` or `base_url`",
                        index + 1
                    ));
                }
            }
        }
        Some(Value::Object(_)) => warnings.push(
            "`custom_providers` is a map, but a list is expected; the map form is `providers`"
                .to_owned(),
        ),
        Some(_) => warnings.push("`custom_providers` must be a list".to_owned()),
    }
    if config.get("model.default").is_none() {
        warnings.push("`custom_providers` is set, but `model` names no model".to_owned());
    }
}

fn fallback(raw: &Value, warnings: &mut Vec<String>) {
    let lacks = |route: &Value| is_blank(route.get("provider")) || is_blank(route.get("model"));
    let incomplete = match raw.get("fallback_model") {
        None | Some(Value::Null) => return,
        Some(route @ Value::Object(_)) => lacks(route),
        Some(Value::Array(routes)) => routes.iter().any(lacks),
        Some(_) => {
            warnings.push("`fallback_model` must be a map with `provider` and `model`, or a list of such maps".to_owned());
            return;
        }
    };
    if incomplete {
        warnings.push("`fallback_model` lacks `provider` or `model`".to_owned());
    }
}

fn is_blank(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.trim().is_empty(),
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_shapes_are_named() {
        for (text, part) in [
            ("custom_providers: {a: 1}\nmodel: m\n", "is a map"),
            ("custom_providers: [{name: a}]\nmodel: m\n", "item 1"),
            (
                "custom_providers: [{name: a, base_url: b}]\n",
                "names no model",
            ),
            ("fallback_model: x\n", "must be a map"),
            ("fallback_model: {provider: x}\n", "lacks"),
            ("api_key: x\n", "`api_key` stands"),
        ] {
            let warnings = structure_warnings(&Config::from_yaml(text).unwrap());
            assert!(
                warnings.iter().any(|w| w.contains(part)),
                "{text}: {warnings:?}"
            );
        }
        let fine = "model: {default: m}\nfallback_model: [{provider: a, model: b}]\n";
        assert!(structure_warnings(&Config::from_yaml(fine).unwrap()).is_empty());
    }
}
