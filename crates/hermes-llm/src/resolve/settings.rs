//! What was asked for, and small readers of a configuration tree.

use hermes_home::Environment;
use serde_json::Value;

/// What flags or a caller ask for; empty fields leave it to configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    pub provider: Option<String>,
    pub model: Option<String>,
    pub base_url: Option<String>,
    pub api_key: Option<String>,
    pub api_mode: Option<String>,
}

impl Selection {
    pub fn of(provider: Option<&str>, model: Option<&str>) -> Self {
        Self {
            provider: provider.map(str::to_owned),
            model: model.map(str::to_owned),
            ..Self::default()
        }
    }
}

/// A text that is not blank.
pub(super) fn text<'a>(tree: &'a Value, name: &str) -> Option<&'a str> {
    tree.get(name)?
        .as_str()
        .map(str::trim)
        .filter(|text| !text.is_empty())
}

/// A positive whole number. Anything else that is set becomes a warning.
pub(super) fn positive(
    tree: &Value,
    name: &str,
    key: &str,
    warnings: &mut Vec<String>,
) -> Option<u64> {
    let value = tree.get(name).filter(|value| !value.is_null())?;
    let number = value.as_u64().filter(|number| *number > 0);
    if number.is_none() {
        warnings.push(format!(
            "`{key}` is {value}, which is not a positive whole number; it is ignored"
        ));
    }
    number
}

/// Seconds from a configuration value: whole or not, positive.
pub(super) fn seconds(tree: &Value, name: &str) -> Option<f64> {
    let value = tree.get(name)?;
    value
        .as_f64()
        .or_else(|| value.as_str()?.trim().parse().ok())
        .filter(|seconds| *seconds > 0.0 && seconds.is_finite())
}

pub(super) fn env_seconds(environment: &Environment, name: &str) -> Option<f64> {
    environment
        .get_non_empty(name)?
        .parse()
        .ok()
        .filter(|seconds: &f64| *seconds > 0.0 && seconds.is_finite())
}

/// The keys of `model`, whether it is written as a map or as a name.
pub(super) fn model_section(config: &Value) -> Value {
    match config.get("model") {
        Some(Value::Object(map)) => Value::Object(map.clone()),
        Some(Value::String(name)) if !name.trim().is_empty() => {
            serde_json::json!({"default": name.trim()})
        }
        _ => serde_json::json!({}),
    }
}

pub(super) fn default_model(section: &Value) -> Option<&str> {
    text(section, "default").or_else(|| text(section, "model"))
}
