//! `todo`: the model's own list of steps, kept for one conversation.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use hermes_types::{ToolOutput, ToolSpec};
use serde_json::{Value, json};

use super::arguments::flag;
use crate::tool::{Tool, ToolContext};

const STATES: [&str; 4] = ["pending", "in_progress", "completed", "cancelled"];
const MAX_ITEMS: usize = 200;
const MAX_CONTENT: usize = 2000;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Item {
    id: String,
    content: String,
    status: &'static str,
}

/// Shared between the tool and whoever condenses the conversation.
#[derive(Clone, Debug, Default)]
pub struct TodoList {
    items: Arc<Mutex<Vec<Item>>>,
}

impl TodoList {
    /// Rebuilds the list from the newest stored result, unless it has items.
    pub fn restore(&self, result: &str) {
        let Ok(value) = serde_json::from_str::<Value>(result) else {
            return;
        };
        let mut items = self.lock();
        if items.is_empty()
            && let Some(Ok(restored)) = value.get("todos").map(parse)
        {
            *items = restored;
        }
    }

    /// What is not done yet, one line each; `None` when nothing is.
    pub fn open_items(&self) -> Option<String> {
        let lines: Vec<String> = self
            .lock()
            .iter()
            .filter(|item| matches!(item.status, "pending" | "in_progress"))
            .map(|item| format!("- [{}] {} ({})", item.id, item.content, item.status))
            .collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    fn set(&self, new: Vec<Item>, merge: bool) -> Result<(), String> {
        let mut items = self.lock();
        let mut next = if merge { items.clone() } else { Vec::new() };
        for item in new {
            match next.iter_mut().find(|known| known.id == item.id) {
                Some(known) => *known = item,
                None => next.push(item),
            }
        }
        if next.len() > MAX_ITEMS {
            return Err(format!("the list may have at most {MAX_ITEMS} items"));
        }
        *items = next;
        Ok(())
    }

    fn result(&self) -> Value {
        let items = self.lock();
        let count = |status: &str| items.iter().filter(|item| item.status == status).count();
        json!({
            "todos": items
                .iter()
                .map(|item| json!({"id": item.id, "content": item.content, "status": item.status}))
                .collect::<Vec<_>>(),
            "summary": {
                "total": items.len(),
                "pending": count("pending"),
                "in_progress": count("in_progress"),
                "completed": count("completed"),
                "cancelled": count("cancelled"),
            },
        })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Item>> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn parse(value: &Value) -> Result<Vec<Item>, String> {
    let list = value.as_array().ok_or("todos must be a list")?;
    list.iter()
        .enumerate()
        .map(|(index, item)| {
            let id = match item.get("id") {
                Some(Value::String(id)) if !id.trim().is_empty() => id.trim().to_owned(),
                Some(Value::Number(id)) => id.to_string(),
                _ => return Err(format!("todos[{index}] has no id")),
            };
            let content = item
                .get("content")
                .and_then(Value::as_str)
                .map(str::trim)
                .filter(|text| !text.is_empty())
                .ok_or_else(|| format!("todos[{index}] has no content"))?;
            let status = item
                .get("status")
                .and_then(Value::as_str)
                .unwrap_or("pending");
            let status = STATES
                .into_iter()
                .find(|known| *known == status)
                .ok_or_else(|| {
                    format!(
                        "todos[{index}]: status {status:?} is none of {}",
                        STATES.join(", ")
                    )
                })?;
            Ok(Item {
                id,
                content: content.chars().take(MAX_CONTENT).collect(),
                status,
            })
        })
        .collect()
}

pub struct TodoTool {
    list: TodoList,
}

impl TodoTool {
    pub fn new(list: TodoList) -> Self {
        Self { list }
    }
}

impl Tool for TodoTool {
    fn name(&self) -> &str {
        "todo"
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "todo".to_owned(),
            description: "Your list of steps for work with three or more of them. Without todos: read it. With todos: replace it, or with merge=true update by id and append. Keep one item in_progress; mark items completed as soon as they are done.".to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "todos": {
                        "type": "array",
                        "description": "The items, in order. Leave out to read.",
                        "items": {
                            "type": "object",
                            "properties": {
                                "id": {"type": "string", "description": "Short unique id"},
                                "content": {"type": "string", "description": "What to do"},
                                "status": {"type": "string", "enum": STATES, "description": "Where it stands"}
                            },
                            "required": ["id", "content", "status"]
                        }
                    },
                    "merge": {"type": "boolean", "default": false, "description": "Update by id instead of replacing the list"}
                }
            }),
        }
    }

    fn call<'a>(
        &'a self,
        _context: &'a ToolContext,
        arguments: Value,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            if let Some(todos) = arguments.get("todos").filter(|todos| !todos.is_null()) {
                let outcome =
                    parse(todos).and_then(|items| self.list.set(items, flag(&arguments, "merge")));
                if let Err(why) = outcome {
                    return ToolOutput::error(why);
                }
            }
            ToolOutput::json(&self.list.result())
        })
    }

    fn preview(&self, arguments: &Value) -> String {
        match arguments.get("todos").and_then(Value::as_array) {
            Some(items) => format!("{} items", items.len()),
            None => "read".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replace_merge_and_read_keep_the_shape_of_the_reference() {
        let list = TodoList::default();
        let items = |value: Value| parse(&value).unwrap();
        list.set(
            items(json!([{"id": "1", "content": "look", "status": "in_progress"}, {"id": "2", "content": "report", "status": "pending"}])),
            false,
        )
        .unwrap();
        assert_eq!(
            list.result().to_string(),
            r#"{"todos":[{"id":"1","content":"look","status":"in_progress"},{"id":"2","content":"report","status":"pending"}],"summary":{"total":2,"pending":1,"in_progress":1,"completed":0,"cancelled":0}}"#
        );
        list.set(items(json!([{"id": "2", "content": "report", "status": "completed"}, {"id": "3", "content": "rest", "status": "pending"}])), true)
            .unwrap();
        assert_eq!(list.result()["summary"]["total"], 3);
        assert_eq!(
            list.open_items().unwrap(),
            "- [1] look (in_progress)\n- [3] rest (pending)"
        );
        let restored = TodoList::default();
        restored.restore(&list.result().to_string());
        assert_eq!(restored.result(), list.result());
    }

    #[test]
    fn of_equal_ids_the_last_wins_and_nonsense_is_named() {
        let list = TodoList::default();
        list.set(
            parse(&json!([{"id": "1", "content": "a", "status": "pending"}, {"id": "1", "content": "b", "status": "pending"}])).unwrap(),
            false,
        )
        .unwrap();
        assert_eq!(list.result()["todos"][0]["content"], "b");
        assert!(
            parse(&json!([{"id": "1", "content": "a", "status": "odd"}]))
                .unwrap_err()
                .contains("\"odd\"")
        );
        assert!(parse(&json!("text")).is_err());
    }
}
