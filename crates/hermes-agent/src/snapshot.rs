//! `sessions.write_json_snapshots`: a session as one JSON file beside the database,
//! for programs that read those of the reference. A copy, written when a turn is
//! over; a file that holds more messages is never replaced.

use std::fs;
use std::path::{Path, PathBuf};

use hermes_home::{FileMode, write_atomic};
use hermes_types::ToolSpec;
use serde_json::{Map, Value, json};

use crate::agent::Agent;

impl Agent {
    /// Writes the file of the current session, where that is wanted. A failure costs
    /// only the copy.
    pub(crate) async fn write_snapshot(&self) {
        let (Some(directory), Some(state)) = (
            self.setup.options.json_snapshots.clone(),
            self.session.state().filter(|_| self.session.is_stored()),
        ) else {
            return;
        };
        let id = self.session.id.clone();
        let stored = match state.run(move |database| database.export(&id)).await {
            Ok(Some(stored)) => stored,
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(%error, "a session was not written as JSON");
                return;
            }
        };
        let now = self.setup.clock.now_local();
        let snapshot = json!({
            "session_id": self.session.id.as_str(),
            "model": self.setup.model.name(),
            "platform": self.setup.options.source,
            "session_start": iso(stored["started_at"].as_f64().unwrap_or_default()),
            "last_updated": now.format("%Y-%m-%dT%H:%M:%S%.6f").to_string(),
            "system_prompt": stored["system_prompt"],
            "tools": self.specs.iter().map(tool).collect::<Vec<_>>(),
            "message_count": stored["messages"].as_array().map_or(0, Vec::len),
            "messages": messages(&stored["messages"]),
        });
        let path = directory.join(format!("session_{}.json", self.session.id));
        let wrote = tokio::task::spawn_blocking(move || write(&directory, &path, &snapshot)).await;
        if let Ok(Err(error)) = wrote {
            tracing::warn!(%error, "a session was not written as JSON");
        }
    }
}

fn write(directory: &Path, path: &PathBuf, snapshot: &Value) -> std::io::Result<()> {
    let known = fs::read(path)
        .ok()
        .and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok())
        .and_then(|value| value["messages"].as_array().map(Vec::len))
        .unwrap_or(0);
    if snapshot["messages"].as_array().map_or(0, Vec::len) < known {
        return Ok(());
    }
    fs::create_dir_all(directory)?;
    let text = serde_json::to_vec_pretty(snapshot)?;
    write_atomic(path, &text, FileMode::KeepOrPrivate)
}

fn tool(spec: &ToolSpec) -> Value {
    json!({"type": "function", "function": {
        "name": spec.name, "description": spec.description, "parameters": spec.parameters,
    }})
}

/// What a message consists of, without the columns of the table.
fn messages(stored: &Value) -> Vec<Value> {
    const KEPT: [&str; 8] = [
        "role",
        "content",
        "tool_calls",
        "tool_call_id",
        "tool_name",
        "reasoning",
        "reasoning_details",
        "finish_reason",
    ];
    stored
        .as_array()
        .into_iter()
        .flatten()
        .map(|row| {
            let kept: Map<String, Value> = KEPT
                .iter()
                .filter_map(|key| Some(((*key).to_owned(), row.get(key)?.clone())))
                .filter(|(_, value)| !value.is_null())
                .collect();
            Value::Object(kept)
        })
        .collect()
}

fn iso(seconds: f64) -> String {
    chrono::DateTime::from_timestamp_micros((seconds * 1e6) as i64)
        .map(|time| {
            time.with_timezone(&chrono::Local)
                .format("%Y-%m-%dT%H:%M:%S%.6f")
                .to_string()
        })
        .unwrap_or_default()
}
