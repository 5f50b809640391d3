//! One key of the pool. The map of its fields is kept as it was read, so that what
//! other versions store survives.

use std::fmt::Write;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::endpoint::Secret;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Ok,
    /// Used up for a while.
    Exhausted,
    /// Will never work again.
    Dead,
}

impl Status {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Exhausted => "exhausted",
            Self::Dead => "dead",
        }
    }
}

/// How long a refused key rests when the provider does not say.
const REFUSED_REST: f64 = 300.0;
const EXHAUSTED_REST: f64 = 3600.0;
/// How long a dead entry that the user added is still shown.
const DEAD_SHOWN: f64 = 86_400.0;

#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    fields: Map<String, Value>,
}

impl From<Map<String, Value>> for Entry {
    fn from(fields: Map<String, Value>) -> Self {
        Self { fields }
    }
}

impl From<Entry> for Value {
    fn from(entry: Entry) -> Self {
        Value::Object(entry.fields)
    }
}

impl Entry {
    fn fresh(id: String, label: &str, priority: i64, source: &str, base_url: &str) -> Self {
        let fields = json!({
            "id": id, "label": label, "auth_type": "api_key", "priority": priority, "source": source,
            "last_status": null, "last_status_at": null, "last_error_code": null,
            "last_error_reason": null, "last_error_message": null, "last_error_reset_at": null,
            "base_url": base_url, "request_count": 0,
        });
        match fields {
            Value::Object(fields) => Self { fields },
            _ => Self { fields: Map::new() },
        }
    }

    /// A key that the user added.
    pub(super) fn manual(
        id: String,
        label: &str,
        priority: i64,
        key: &Secret,
        base_url: &str,
    ) -> Self {
        let mut entry = Self::fresh(id, label, priority, "manual", base_url);
        entry.fields.shift_insert(
            5,
            "access_token".to_owned(),
            Value::String(key.expose().to_owned()),
        );
        entry
    }

    /// A key that lives in a variable: the file holds only its fingerprint.
    pub(super) fn from_variable(
        id: String,
        variable: &str,
        priority: i64,
        key: &Secret,
        base_url: &str,
    ) -> Self {
        let source = format!("env:{variable}");
        let mut entry = Self::fresh(id, variable, priority, &source, base_url);
        entry
            .fields
            .insert("secret_fingerprint".to_owned(), json!(fingerprint(key)));
        entry
    }

    fn text(&self, name: &str) -> &str {
        self.fields.get(name).and_then(Value::as_str).unwrap_or("")
    }

    pub fn id(&self) -> &str {
        self.text("id")
    }

    pub fn label(&self) -> &str {
        self.text("label")
    }

    pub fn auth_type(&self) -> &str {
        self.text("auth_type")
    }

    pub fn source(&self) -> &str {
        self.text("source")
    }

    pub fn variable(&self) -> Option<&str> {
        self.source().strip_prefix("env:")
    }

    pub fn priority(&self) -> i64 {
        self.fields
            .get("priority")
            .and_then(Value::as_i64)
            .unwrap_or(0)
    }

    pub(super) fn set_priority(&mut self, priority: i64) {
        self.fields.insert("priority".to_owned(), json!(priority));
    }

    /// The key itself, when the file holds it. The token of a login is none: it must
    /// be renewed, which is not built here, and one that has run out would be marked
    /// as dead for Python Hermes too.
    pub fn token(&self) -> Option<Secret> {
        let is_login = self.auth_type() == "oauth" && !self.text("refresh_token").is_empty();
        Some(self.text("access_token"))
            .filter(|_| !is_login)
            .filter(|token| !token.is_empty())
            .map(Secret::new)
    }

    pub fn request_count(&self) -> u64 {
        self.fields
            .get("request_count")
            .and_then(Value::as_u64)
            .unwrap_or(0)
    }

    pub(super) fn add_requests(&mut self, requests: u64) {
        let sum = self.request_count() + requests;
        self.fields.insert("request_count".to_owned(), json!(sum));
    }

    pub fn status(&self) -> Option<Status> {
        match self.text("last_status") {
            "ok" => Some(Status::Ok),
            "exhausted" => Some(Status::Exhausted),
            "dead" => Some(Status::Dead),
            _ => None,
        }
    }

    /// When a resting key may be used again, in seconds since the epoch.
    pub fn rests_until(&self) -> Option<f64> {
        if self.status() != Some(Status::Exhausted) {
            return None;
        }
        if let Some(reset) = self.fields.get("last_error_reset_at").and_then(moment) {
            return Some(reset);
        }
        let since = self.fields.get("last_status_at").and_then(moment)?;
        let refused = self.fields.get("last_error_code").and_then(Value::as_u64) == Some(401);
        Some(
            since
                + if refused {
                    REFUSED_REST
                } else {
                    EXHAUSTED_REST
                },
        )
    }

    pub fn is_available(&self, now: f64) -> bool {
        match self.status() {
            Some(Status::Dead) => false,
            Some(Status::Exhausted) => self.rests_until().is_none_or(|until| until <= now),
            Some(Status::Ok) | None => true,
        }
    }

    /// A dead entry of the user's goes after a day.
    pub(super) fn is_over(&self, now: f64) -> bool {
        self.status() == Some(Status::Dead)
            && self.source().starts_with("manual")
            && self
                .fields
                .get("last_status_at")
                .and_then(moment)
                .is_some_and(|since| now - since > DEAD_SHOWN)
    }

    pub(super) fn mark(&mut self, status: Status, failure: &Failure<'_>, now: f64) {
        let mut put = |name: &str, value: Value| {
            self.fields.insert(name.to_owned(), value);
        };
        put("last_status", json!(status.as_str()));
        put("last_status_at", json!(now));
        put("last_error_code", json!(failure.code));
        put("last_error_reason", json!(failure.reason));
        put("last_error_message", json!(failure.message));
        put("last_error_reset_at", json!(failure.reset_at));
    }

    /// Forgets what went wrong; whether there was anything to forget.
    pub(super) fn clear(&mut self) -> bool {
        let had = self.status().is_some_and(|status| status != Status::Ok);
        for name in [
            "last_status",
            "last_status_at",
            "last_error_code",
            "last_error_reason",
            "last_error_message",
            "last_error_reset_at",
        ] {
            if self.fields.contains_key(name) {
                self.fields.insert(name.to_owned(), Value::Null);
            }
        }
        had
    }
}

pub(super) struct Failure<'a> {
    pub(super) code: Option<u16>,
    pub(super) reason: &'a str,
    pub(super) message: &'a str,
    pub(super) reset_at: Option<f64>,
}

/// Seconds since the epoch, written as a number or as a date.
fn moment(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| {
        let date = chrono::DateTime::parse_from_rfc3339(value.as_str()?).ok()?;
        Some(date.timestamp_micros() as f64 / 1e6)
    })
}

/// Enough of a hash to notice another key, not enough to guess one.
pub(super) fn fingerprint(key: &Secret) -> String {
    let digest = Sha256::digest(key.expose());
    let mut text = "sha256:".to_owned();
    for byte in &digest[..8] {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_those_of_the_reference() {
        let key = Secret::new("sk-or-v1-0000000000000000fake");
        assert_eq!(fingerprint(&key), "sha256:4ee2810333992c2e");
    }
}
