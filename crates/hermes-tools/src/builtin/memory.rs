//! `memory`: notes that outlive the conversation.

use futures_util::future::BoxFuture;
use hermes_knowledge::memory::{MemoryError, MemoryStore, Target, Written};
use hermes_types::{ToolOutput, ToolSpec};
use serde_json::{Value, json};

use super::arguments::{required, text};
use crate::tool::{Tool, ToolContext};

pub struct MemoryTool {
    store: MemoryStore,
}

impl MemoryTool {
    pub fn new(store: MemoryStore) -> Self {
        Self { store }
    }

    fn run(&self, arguments: &Value) -> Result<Value, Value> {
        let plain = |why: String| json!({"success": false, "error": why});
        let target = text(arguments, "target").unwrap_or("memory");
        let target = Target::parse(target)
            .ok_or_else(|| plain(format!("target {target:?} is neither memory nor user")))?;
        let action = required(arguments, "action").map_err(plain)?;
        let written = match action {
            "add" => self
                .store
                .add(target, required(arguments, "content").map_err(plain)?),
            "replace" => self.store.replace(
                target,
                required(arguments, "old_text").map_err(plain)?,
                required(arguments, "content").map_err(plain)?,
            ),
            "remove" => self
                .store
                .remove(target, required(arguments, "old_text").map_err(plain)?),
            other => {
                return Err(plain(format!(
                    "action {other:?} is none of add, replace, remove"
                )));
            }
        };
        written
            .map(|written| success(target, &written))
            .map_err(|error| failure(&error))
    }
}

fn success(target: Target, written: &Written) -> Value {
    json!({
        "success": true,
        "target": target.as_str(),
        "entries": written.entries,
        "usage": written.usage,
        "entry_count": written.entries.len(),
        "message": written.outcome.message(),
    })
}

fn failure(error: &MemoryError) -> Value {
    let mut value = json!({"success": false, "error": error.to_string()});
    match error {
        MemoryError::Full { entries, usage, .. } => {
            value["current_entries"] = json!(entries);
            value["usage"] = json!(usage);
        }
        MemoryError::Ambiguous { previews, .. } => value["matches"] = json!(previews),
        _ => {}
    }
    value
}

impl Tool for MemoryTool {
    fn name(&self) -> &str {
        "memory"
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "memory".to_owned(),
            description: "Keep short facts for later sessions; they stand in every future prompt, so be brief. Save without being asked what the user corrects, prefers or is (target user), and lasting facts about machine, project and workflow (target memory). Not for progress, results or anything a session search finds. When the store is full, replace or remove first.".to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "action": {"type": "string", "enum": ["add", "replace", "remove"], "description": "What to do"},
                    "target": {"type": "string", "enum": ["memory", "user"], "description": "memory: your notes; user: who the user is"},
                    "content": {"type": "string", "description": "The entry, for add and replace"},
                    "old_text": {"type": "string", "description": "A piece of the entry to replace or remove, unique to it"}
                },
                "required": ["action", "target"]
            }),
        }
    }

    fn call<'a>(
        &'a self,
        _context: &'a ToolContext,
        arguments: Value,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let store = self.store.clone();
            // The lock may be held by another process.
            let outcome =
                tokio::task::spawn_blocking(move || MemoryTool { store }.run(&arguments)).await;
            match outcome {
                Ok(Ok(value)) => ToolOutput::json(&value),
                Ok(Err(value)) => ToolOutput {
                    failed: true,
                    ..ToolOutput::json(&value)
                },
                Err(error) => ToolOutput::error(error.to_string()),
            }
        })
    }
}
