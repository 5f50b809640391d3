//! What a home has on disk, in the words of the program itself.

use std::path::Path;

use serde_json::Value;

use crate::TestHome;

/// The sessions of a source, newest last: id and messages of each.
pub fn stored_messages(
    program: &Path,
    home: &TestHome,
    source: &str,
) -> Result<Vec<(String, Vec<Value>)>, String> {
    let output = home
        .command(program)
        .args(["sessions", "export", "-", "--no-redact", "--source", source])
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!(
            "sessions export failed: {}",
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    let mut sessions: Vec<(f64, String, Vec<Value>)> = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(value) = serde_json::from_str::<Value>(line) else {
            // A sentence that there is nothing.
            continue;
        };
        sessions.push((
            value["started_at"].as_f64().unwrap_or(0.0),
            value["id"].as_str().unwrap_or("").to_owned(),
            value["messages"].as_array().cloned().unwrap_or_default(),
        ));
    }
    sessions.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(sessions
        .into_iter()
        .map(|(_, id, messages)| (id, messages))
        .collect())
}
