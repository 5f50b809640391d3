//! Messages that stand in front of every conversation on the wire and are never
//! stored: examples, a fixed opening.

use std::path::Path;
use std::sync::Arc;

use hermes_config::{Config, ConfigError};
use hermes_home::Home;
use hermes_types::Message;
use serde::Deserialize;

#[derive(Deserialize)]
struct Line {
    role: String,
    content: String,
}

/// The messages of `prefill_messages_file`; what is wrong with it is a warning and
/// leaves them all out.
pub(super) fn prefill(
    config: &Config,
    home: &Home,
    warnings: &mut Vec<String>,
) -> Result<Vec<Arc<Message>>, ConfigError> {
    let Some(name) = config
        .optional_string("prefill_messages_file")?
        .filter(|name| !name.trim().is_empty())
    else {
        return Ok(Vec::new());
    };
    let path = match name.trim().strip_prefix("~/") {
        Some(rest) => home.user_home().join(rest),
        // An absolute path stays what it is.
        None => home.join(name.trim()),
    };
    Ok(read(&path).unwrap_or_else(|why| {
        warnings.push(format!(
            "prefill_messages_file ({}) is left out: {why}",
            path.display()
        ));
        Vec::new()
    }))
}

fn read(path: &Path) -> Result<Vec<Arc<Message>>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let lines: Vec<Line> = serde_json::from_str(&text).map_err(|error| {
        format!("it is no JSON list of {{\"role\": …, \"content\": …}} ({error})")
    })?;
    lines
        .into_iter()
        .map(|line| match line.role.as_str() {
            "user" => Ok(Arc::new(Message::user(line.content.as_str()))),
            "assistant" => Ok(Arc::new(Message::assistant(line.content.as_str()))),
            other => Err(format!("the role {other:?} is neither user nor assistant")),
        })
        .collect()
}
