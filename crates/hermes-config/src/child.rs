//! The environment of a child process, as a pure function of configuration and home.
//! Our own environment is never changed.

use hermes_home::{Environment, Home, env};
use serde_json::Value;

use crate::coerce::coerce;
use crate::config::Config;
use crate::dotenv::check_name;
use crate::expand::expand;
use crate::keys::{Bridge, Key, keys};
use crate::text::as_text;

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
            Some(text) if key.name == "terminal.cwd" => {
                environment.set(name, expand_tilde(text, home));
            }
            Some(text) => environment.set(name, text),
            // A placeholder directory must not reach the child as a path.
            None if key.name == "terminal.cwd" => environment.remove(name),
            None => {}
        }
    }
    if of == ChildOf::Gateway {
        top_level_scalars(config, &mut environment);
    }
    environment.set(env::HOME, home.path().to_string_lossy());
    let own_home = home.join("home");
    if own_home.is_dir() {
        environment.set("HOME", own_home.to_string_lossy());
    }
    environment
}

/// The gateway also passes on every scalar at the top level of the file under its own
/// name, as the reference does, unless the name is taken or could run code.
fn top_level_scalars(config: &Config, environment: &mut Environment) {
    let Value::Object(user) = config.raw() else {
        return;
    };
    for (name, value) in user {
        let scalar = !value.is_object() && !value.is_array() && !value.is_null();
        if scalar && environment.get(name).is_none() && check_name(name).is_ok() {
            let mut value = value.clone();
            expand(&mut value, config.environment());
            environment.set(name, as_text(&value));
        }
    }
}

/// The key's value as text; `None` when there is nothing to pass on.
fn text(config: &Config, key: &Key) -> Option<String> {
    let value = config.get(key.name)?;
    let value = coerce(key, value).unwrap_or_else(|| value.clone());
    if value.is_null() {
        return None;
    }
    let text = as_text(&value);
    let says_nothing = match key.bridge {
        Bridge::NonEmpty => text.is_empty() || text == "auto",
        _ => text.is_empty(),
    };
    let placeholder = key.name == "terminal.cwd" && matches!(text.as_str(), "." | "auto" | "cwd");
    (!says_nothing && !placeholder).then_some(text)
}

fn expand_tilde(text: String, home: &Home) -> String {
    match text.strip_prefix('~') {
        Some("") => home.user_home().to_string_lossy().into_owned(),
        Some(rest) if rest.starts_with('/') => home
            .user_home()
            .join(&rest[1..])
            .to_string_lossy()
            .into_owned(),
        _ => text,
    }
}
