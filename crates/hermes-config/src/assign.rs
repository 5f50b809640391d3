//! What `config set KEY VALUE` means: which file, which place in it, which type.
//! Deciding is pure; [`crate::edit`] carries it out.

use serde_json::Value;

use crate::coerce::{coerce, expected, truth};
use crate::config::Config;
use crate::dotenv;
use crate::error::ConfigError;
use crate::keys::{Key, Known, Type, lookup, suggestion};
use crate::text::as_text;

/// Undotted names that belong into `.env`, besides those that end like a credential.
#[rustfmt::skip]
const SECRETS: &[&str] = &[
    "OPENROUTER_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "VOICE_TOOLS_OPENAI_KEY", "EXA_API_KEY",
    "PARALLEL_API_KEY", "FIRECRAWL_API_KEY", "FIRECRAWL_API_URL", "FIRECRAWL_GATEWAY_URL",
    "TOOL_GATEWAY_DOMAIN", "TOOL_GATEWAY_SCHEME", "TOOL_GATEWAY_USER_TOKEN", "TAVILY_API_KEY",
    "BROWSERBASE_API_KEY", "BROWSERBASE_PROJECT_ID", "BROWSER_USE_API_KEY", "FAL_KEY",
    "TELEGRAM_BOT_TOKEN", "DISCORD_BOT_TOKEN", "TERMINAL_SSH_HOST", "TERMINAL_SSH_USER",
    "TERMINAL_SSH_KEY", "SUDO_PASSWORD", "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "GITHUB_TOKEN",
    "HONCHO_API_KEY",
];

/// Where a value goes.
#[derive(Clone, Debug, PartialEq)]
pub enum Assignment {
    /// A line of `.env`.
    Variable {
        name: String,
        value: String,
        /// Characters outside ASCII were dropped.
        cleaned: bool,
    },
    /// A key of `config.yaml`, and the variable that goes with it into `.env` for
    /// Python Hermes, whose tools read only that.
    Key {
        path: String,
        value: Value,
        mirror: Option<(&'static str, String)>,
        remarks: Vec<Remark>,
    },
}

/// Something worth saying about a key that was set all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remark {
    /// `model` is a map in the file, so its `default` was meant.
    ModelDefault,
    Unknown {
        suggestion: Option<&'static str>,
    },
    Planned,
    Inert,
}

/// The variable of `.env` that an undotted name means, if it means one.
pub fn variable_name(key: &str) -> Option<String> {
    let name = key.to_ascii_uppercase();
    let is_variable = !key.contains('.')
        && (SECRETS.contains(&name.as_str())
            || name.ends_with("_API_KEY")
            || name.ends_with("_TOKEN")
            || name.starts_with("TERMINAL_SSH"));
    is_variable.then_some(name)
}

/// Decides what a pair of words means for this configuration.
pub fn assign(config: &Config, key: &str, text: &str) -> Result<Assignment, ConfigError> {
    if let Some(name) = variable_name(key) {
        dotenv::check_name(&name)?;
        let value: String = text
            .chars()
            .filter(|c| c.is_ascii() && !matches!(c, '\r' | '\n' | '\0'))
            .collect();
        let cleaned = !text.is_ascii();
        return Ok(Assignment::Variable {
            name,
            value,
            cleaned,
        });
    }
    let mut remarks = Vec::new();
    let mut path = key.to_owned();
    let mut known = lookup(key);
    if key == "model"
        && !text.starts_with('{')
        && config.raw().get("model").is_some_and(Value::is_object)
    {
        path = "model.default".to_owned();
        known = lookup(&path);
        remarks.push(Remark::ModelDefault);
    }
    let value = match known {
        Known::Key(row) => {
            if row.inert {
                remarks.push(Remark::Inert);
            } else if row.planned {
                remarks.push(Remark::Planned);
            }
            typed(row, text)?
        }
        Known::Below(row) => {
            if row.planned {
                remarks.push(Remark::Planned);
            }
            json(text).unwrap_or_else(|| untyped(text))
        }
        Known::Section => {
            return Err(ConfigError::NotAccepted {
                key: key.to_owned(),
                value: text.to_owned(),
                expected: format!(
                    "a section; set one of its keys, such as `{}`",
                    first_below(key)
                ),
            });
        }
        Known::Unknown => {
            remarks.push(Remark::Unknown {
                suggestion: suggestion(key),
            });
            untyped(text)
        }
    };
    let mirror = match known {
        Known::Key(row) if row.mirrored => row.env.map(|name| (name, as_text(&value))),
        _ => None,
    };
    Ok(Assignment::Key {
        path,
        value,
        mirror,
        remarks,
    })
}

fn first_below(section: &str) -> &'static str {
    let below = |key: &&Key| {
        key.name
            .strip_prefix(section)
            .is_some_and(|rest| rest.starts_with('.'))
    };
    crate::keys().iter().find(below).map_or("", |key| key.name)
}

/// A value for a key whose type is known.
fn typed(row: &Key, text: &str) -> Result<Value, ConfigError> {
    let refuse = || {
        let mut wanted = expected(row);
        match row.kind {
            Type::List => wanted.push_str(", written as JSON: '[\"a\", \"b\"]'"),
            Type::Map => wanted.push_str(", written as JSON: '{\"name\": \"value\"}'"),
            _ => {}
        }
        ConfigError::NotAccepted {
            key: row.name.to_owned(),
            value: text.to_owned(),
            expected: wanted,
        }
    };
    let word = text.trim();
    if row.nullable && (word == "null" || (word.is_empty() && row.kind != Type::String)) {
        return Ok(Value::Null);
    }
    let raw = Value::String(text.to_owned());
    match row.kind {
        Type::Any => Ok(json(text).unwrap_or_else(|| untyped(text))),
        Type::Float => {
            let value = untyped(word);
            if value.is_number() {
                Ok(value)
            } else {
                coerce(row, &raw).ok_or_else(refuse)
            }
        }
        Type::String => match coerce(row, &raw) {
            Some(value) => Ok(value),
            // `on` and `off` in other words, where the key has them as choices.
            None => truth(word)
                .and_then(|value| coerce(row, &Value::Bool(value)))
                .ok_or_else(refuse),
        },
        Type::Bool | Type::Integer | Type::List | Type::Map => coerce(row, &raw).ok_or_else(refuse),
    }
}

/// A value without a type in the table. Only these words and digits mean something;
/// the rest is text, as in the reference, except that `-5` is a number here.
fn untyped(text: &str) -> Value {
    let lower = text.to_ascii_lowercase();
    if matches!(lower.as_str(), "true" | "yes" | "on") {
        return Value::Bool(true);
    }
    if matches!(lower.as_str(), "false" | "no" | "off") {
        return Value::Bool(false);
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    let all_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if !digits.is_empty() && all_digits(digits) {
        if let Ok(number) = text.parse::<i64>() {
            return Value::from(number);
        }
    } else if let Some((whole, fraction)) = digits.split_once('.')
        && all_digits(whole)
        && all_digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && let Ok(number) = text.parse::<f64>()
    {
        return Value::from(number);
    }
    Value::String(text.to_owned())
}

fn json(text: &str) -> Option<Value> {
    if !text.trim_start().starts_with(['[', '{']) {
        return None;
    }
    serde_json::from_str::<Value>(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn value(key: &str, text: &str) -> Value {
        match assign(&Config::defaults(), key, text).unwrap() {
            Assignment::Key { value, .. } => value,
            Assignment::Variable { value, .. } => json!({ "variable": value }),
        }
    }

    #[test]
    fn unknown_keys_take_words_and_digits_as_the_reference_does() {
        for (text, want) in [
            ("true", json!(true)),
            ("Yes", json!(true)),
            ("ON", json!(true)),
            ("no", json!(false)),
            ("off", json!(false)),
            ("0", json!(0)),
            ("007", json!(7)),
            ("42", json!(42)),
            ("-5", json!(-5)),
            ("1.5", json!(1.5)),
            (".5", json!(0.5)),
            ("1.", json!(1.0)),
            ("1e3", json!("1e3")),
            ("1.2.3", json!("1.2.3")),
            (".", json!(".")),
            ("null", json!("null")),
            ("", json!("")),
            ("[1, 2]", json!("[1, 2]")),
            ("  padded ", json!("  padded ")),
            ("99999999999999999999", json!("99999999999999999999")),
        ] {
            assert_eq!(value("probe.v", text), want, "{text}");
        }
    }

    #[test]
    fn known_keys_take_their_own_type() {
        assert_eq!(value("terminal.timeout", "33"), json!(33));
        assert_eq!(
            value("terminal.docker_env", "{\"A\": \"b\"}"),
            json!({"A": "b"})
        );
        assert_eq!(
            value("terminal.docker_volumes", "[\"/a:/b\"]"),
            json!(["/a:/b"])
        );
        assert_eq!(value("display.tool_progress", "OFF"), json!("off"));
        assert_eq!(value("terminal.docker_image", "3"), json!("3"));
        assert_eq!(value("compression.threshold", "0.6"), json!(0.6));
        assert_eq!(
            value("kanban.max_in_progress_per_profile", "null"),
            json!(null)
        );
        assert_eq!(value("mcp_servers.files.args", "[\"a\"]"), json!(["a"]));
        for (key, text) in [
            ("terminal.timeout", "soon"),
            ("terminal.backend", "dokcer"),
            ("terminal.docker_volumes", "/a:/b"),
            ("display.compact", "maybe"),
            ("terminal", "docker"),
        ] {
            assert!(
                assign(&Config::defaults(), key, text).is_err(),
                "{key}={text}"
            );
        }
    }

    #[test]
    fn undotted_credentials_go_to_the_env_file() {
        assert_eq!(
            variable_name("github_token").as_deref(),
            Some("GITHUB_TOKEN")
        );
        assert_eq!(
            variable_name("MY_SERVICE_API_KEY").as_deref(),
            Some("MY_SERVICE_API_KEY")
        );
        assert_eq!(
            variable_name("TERMINAL_SSH_PORT").as_deref(),
            Some("TERMINAL_SSH_PORT")
        );
        assert_eq!(variable_name("x.openai_api_key"), None);
        assert_eq!(variable_name("model"), None);
    }
}
