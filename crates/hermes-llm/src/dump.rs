//! What was sent when it was refused, as a file for whoever has to find out why.
//! Keys are masked, the file is private, and only the newest few are kept.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use hermes_home::{Clock, Environment, FileMode, Home, env, write_atomic};
use hermes_types::{Redaction, mask, redact};
use serde_json::{Map, Value, json};

use crate::endpoint::{Endpoint, Secret};
use crate::model::ModelError;

/// Files kept; a provider that is down for a night must not fill a disk.
const KEPT: usize = 50;
const PREFIX: &str = "request_dump_";

/// Takes the text of a dump, for people who watch.
pub type Echo = Arc<dyn Fn(&str) + Send + Sync>;

#[derive(Clone)]
pub struct RequestDumps {
    directory: PathBuf,
    /// Every request, not only those that failed.
    all: bool,
    echo: Option<Echo>,
    clock: Clock,
}

/// One request, as far as it can be told afterwards.
pub(crate) struct Sent<'a> {
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) streamed: bool,
    pub(crate) key: Option<&'a Secret>,
    pub(crate) session: Option<&'a str>,
    pub(crate) body: &'a [u8],
}

impl RequestDumps {
    /// In the home's directory of session files, from where they go when their
    /// session is deleted.
    pub fn of(home: &Home, environment: &Environment, clock: Clock) -> Self {
        Self {
            directory: home.join("sessions"),
            all: environment.is_truthy(env::DUMP_REQUESTS),
            echo: None,
            clock,
        }
    }

    /// Also hands every dump to somebody.
    pub fn with_echo(mut self, echo: Echo) -> Self {
        self.echo = Some(echo);
        self
    }

    pub(crate) fn wants_all(&self) -> bool {
        self.all
    }

    /// Writes the file. That it cannot be written is no reason to fail for anybody.
    pub(crate) fn write(&self, sent: &Sent<'_>, error: Option<&ModelError>) {
        let now = self.clock.now_local();
        let dump = json!({
            "timestamp": now.to_rfc3339(),
            "session_id": sent.session,
            "reason": error.map_or("requested", |_| "failed"),
            "request": {
                "method": "POST",
                "url": sent.endpoint.url(sent.streamed).as_str(),
                "headers": headers(sent),
                "body": serde_json::from_slice::<Value>(sent.body).unwrap_or(Value::Null),
            },
            "error": error.map(|error| json!({
                "class": format!("{:?}", error.class),
                "status": error.status,
                "code": error.code,
                "message": redact(&error.message, Redaction::Text),
                "tried": error.tried.iter().map(|line| redact(line, Redaction::Text)).collect::<Vec<_>>(),
            })),
        });
        let text = format!("{dump:#}\n");
        if let Some(echo) = &self.echo {
            echo(&text);
        }
        let name = format!(
            "{PREFIX}{}_{}.json",
            sent.session.unwrap_or("none"),
            now.format("%Y%m%d_%H%M%S_%6f")
        );
        let written = std::fs::create_dir_all(&self.directory)
            .map_err(|error| error.to_string())
            .and_then(|()| {
                write_atomic(
                    &self.directory.join(&name),
                    text.as_bytes(),
                    FileMode::Private,
                )
                .map_err(|error| error.to_string())
            });
        match written {
            Ok(()) => {
                tracing::info!(file = name, "a request was written down");
                forget_oldest(&self.directory);
            }
            Err(error) => tracing::warn!(error, "a request could not be written down"),
        }
    }
}

fn headers(sent: &Sent<'_>) -> Map<String, Value> {
    let mut headers: Map<String, Value> = sent
        .endpoint
        .headers
        .iter()
        .map(|(name, value)| {
            let shown = if is_credential(name) {
                mask(value)
            } else {
                value.clone()
            };
            (name.clone(), json!(shown))
        })
        .collect();
    if let Some(key) = sent.key {
        let masked = Secret::new(mask(key.expose()));
        let (name, value) = sent.endpoint.auth.header(&masked);
        headers.insert(name.to_owned(), json!(value));
    }
    headers
}

/// Headers that a configuration may carry beside the key proper.
fn is_credential(header: &str) -> bool {
    let header = header.to_ascii_lowercase();
    ["auth", "key", "token", "secret", "cookie"]
        .iter()
        .any(|word| header.contains(word))
}

fn forget_oldest(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    let mut dumps: Vec<(SystemTime, PathBuf)> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    dumps.sort();
    let excess = dumps.len().saturating_sub(KEPT);
    for (_, path) in &dumps[..excess] {
        // Another process may have been faster.
        let _ = std::fs::remove_file(path);
    }
}
