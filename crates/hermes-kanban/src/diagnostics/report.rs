//! The shape of a finding.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Warning,
    Error,
    Critical,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
            Severity::Critical => "critical",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Severity::Warning, Severity::Error, Severity::Critical]
            .into_iter()
            .find(|severity| severity.as_str() == text)
    }

    pub fn mark(self) -> &'static str {
        match self {
            Severity::Warning => "⚠",
            Severity::Error => "!!",
            Severity::Critical => "!!!",
        }
    }
}

impl Serialize for Severity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Something a person can do about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Action {
    pub kind: &'static str,
    pub label: String,
    pub payload: Value,
    pub suggested: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnostic {
    pub kind: &'static str,
    pub severity: Severity,
    pub title: String,
    pub detail: String,
    pub actions: Vec<Action>,
    pub first_seen_at: i64,
    pub last_seen_at: i64,
    pub count: i64,
    pub run_id: Option<i64>,
    pub data: Map<String, Value>,
}

/// `a=1 | b=x`.
pub fn data_line(data: &Map<String, Value>) -> String {
    data.iter()
        .map(|(key, value)| match value {
            Value::String(text) => format!("{key}={text}"),
            other => format!("{key}={other}"),
        })
        .collect::<Vec<_>>()
        .join(" | ")
}
