//! The environment of a child process, as a pure function of configuration and home.
//! Our own environment is never changed.

use hermes_home::{Environment, Home, env};
use serde_json::Value;

use crate::coerce::coerce;
use crate::config::Config;
use crate::keys::{Bridge, Key, keys};

/// Whose child it is; the gateway passes on more than a chat does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildOf {
    Chat,
    Gateway,
}

/// What a child of `home`'s profile sees: the process environment with `.env` over
/// it, the bridged keys, an explicit `HERMES_HOME`, and `HOME` when the profile has
/// one of its own. Build `config` from that same home, not from the parent's.
pub fn child_environment(config: &Config, home: &Home, of: ChildOf) -> Environment {
    let mut environment = config.environment().clone();
    for key in keys() {
        let Some(name) = key.env else { continue };
        let bridged = match key.bridge {
            Bridge::None => false,
            Bridge::Always | Bridge::NonEmpty => true,
            Bridge::Gateway => of == ChildOf::Gateway,
        };
        if !bridged {
            continue;
        }
        match text(config, key) {
            Some(text) => environment.set(name, text),
            // A placeholder directory must not reach the child as a path.
            None if key.name == "terminal.cwd" => environment.remove(name),
            None => {}
        }
    }
    environment.set(env::HOME, home.path().to_string_lossy());
    let own_home = home.join("home");
    if own_home.is_dir() {
        environment.set("HOME", own_home.to_string_lossy());
    }
    environment
}

/// The key's value as text; `None` when there is nothing to pass on.
fn text(config: &Config, key: &Key) -> Option<String> {
    let value = config.get(key.name)?;
    let value = coerce(key, value).unwrap_or_else(|| value.clone());
    let text = match value {
        Value::Null => return None,
        Value::String(text) => text,
        Value::Number(number) => match number.as_f64() {
            // 1.0 cores is `1`, as in the reference.
            Some(float) if number.is_f64() && float.fract() == 0.0 => format!("{float:.0}"),
            _ => number.to_string(),
        },
        other => other.to_string(),
    };
    let says_nothing = match key.bridge {
        Bridge::NonEmpty => text.is_empty() || text == "auto",
        _ => text.is_empty(),
    };
    let placeholder = key.name == "terminal.cwd" && matches!(text.as_str(), "." | "auto" | "cwd");
    (!says_nothing && !placeholder).then_some(text)
}
