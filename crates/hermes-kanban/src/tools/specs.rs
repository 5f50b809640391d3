//! What a model is told about each tool.

use hermes_types::ToolSpec;
use serde_json::{Value, json};

/// The nine of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Show,
    List,
    Complete,
    Block,
    Heartbeat,
    Comment,
    Create,
    Unblock,
    Link,
}

impl Kind {
    /// For somebody who plans and hands out work.
    pub(super) const ALL: [Kind; 9] = [
        Kind::Show,
        Kind::List,
        Kind::Complete,
        Kind::Block,
        Kind::Heartbeat,
        Kind::Comment,
        Kind::Create,
        Kind::Unblock,
        Kind::Link,
    ];
    /// For somebody who works on one task.
    pub(super) const WORKER: [Kind; 7] = [
        Kind::Show,
        Kind::Complete,
        Kind::Block,
        Kind::Heartbeat,
        Kind::Comment,
        Kind::Create,
        Kind::Link,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Show => "kanban_show",
            Kind::List => "kanban_list",
            Kind::Complete => "kanban_complete",
            Kind::Block => "kanban_block",
            Kind::Heartbeat => "kanban_heartbeat",
            Kind::Comment => "kanban_comment",
            Kind::Create => "kanban_create",
            Kind::Unblock => "kanban_unblock",
            Kind::Link => "kanban_link",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Kind::Show => {
                "Read a board task: its text, parents, children, comments, events, earlier attempts, \
                 and worker_context, which has everything you need to start. Defaults to your own task."
            }
            Kind::List => {
                "List tasks of the board, highest priority first. Tasks whose parents are finished \
                 become ready on the way."
            }
            Kind::Complete => {
                "Finish your task. Give a summary of one to three sentences and put facts that the \
                 next worker can use into metadata. Name files worth keeping in artifacts and cards \
                 you created in created_cards. Never put secrets into any of them."
            }
            Kind::Block => {
                "Stop and wait for a person: something is missing, unclear or needs a decision. One \
                 sentence as reason; put details into a comment first. Use the prefix \
                 'review-required: ' when finished changes must be looked at."
            }
            Kind::Heartbeat => {
                "Say that you are still at work. Use it in long operations, at least once an hour."
            }
            Kind::Comment => {
                "Add a comment to any task: progress, facts for others, questions. It is signed with \
                 your profile."
            }
            Kind::Create => {
                "Create a task for another profile, for example follow-up work. parents are tasks it \
                 waits for. Returns the new task's id."
            }
            Kind::Unblock => "Let a blocked or scheduled task go on.",
            Kind::Link => "Let child_id wait until parent_id is finished.",
        }
    }

    fn properties(self) -> Value {
        let text = |about: &str| json!({"type": "string", "description": about});
        let list = |about: &str| json!({"type": "array", "items": {"type": "string"}, "description": about});
        let task = || text("Task id, like t_1a2b3c4d. Your own task if left out.");
        match self {
            Kind::Show => json!({"task_id": task()}),
            Kind::List => json!({
                "assignee": text("Only tasks of this profile"),
                "status": {
                    "type": "string",
                    "enum": ["triage", "todo", "ready", "running", "blocked", "done", "archived"],
                },
                "tenant": text("Only tasks of this tenant"),
                "include_archived": {"type": "boolean"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 200, "description": "Default 50"},
            }),
            Kind::Complete => json!({
                "task_id": task(),
                "summary": text("One to three sentences for people"),
                "metadata": {"type": "object", "description": "Facts for machines and later workers"},
                "result": text("The outcome itself, when it is a short text"),
                "created_cards": list("Ids of tasks you created for this one"),
                "artifacts": list("Paths of files to keep"),
            }),
            Kind::Block => json!({"reason": text("One sentence"), "task_id": task()}),
            Kind::Heartbeat => json!({"task_id": task(), "note": text("What you are doing")}),
            Kind::Comment => {
                json!({"task_id": text("The task to comment on"), "body": text("The comment")})
            }
            Kind::Create => json!({
                "title": text("What is to be done"),
                "assignee": text("Profile that does it"),
                "body": text("Everything its worker must know"),
                "parents": list("Tasks it waits for"),
                "tenant": text("Defaults to your own tenant"),
                "priority": {"type": "integer", "description": "Higher goes first, default 0"},
                "workspace_kind": {"type": "string", "enum": ["scratch", "dir", "worktree"]},
                "workspace_path": text("Absolute path, for dir and worktree"),
                "triage": {"type": "boolean", "description": "Leave it for specification first"},
                "idempotency_key": text("The same key returns the same task"),
                "max_runtime_seconds": {"type": "integer", "minimum": 1},
                "initial_status": {"type": "string", "enum": ["running", "blocked"]},
                "skills": list("Skills its worker loads"),
                "goal_mode": {"type": "boolean", "description": "Work on until a judge is satisfied"},
                "goal_max_turns": {"type": "integer", "minimum": 1},
            }),
            Kind::Unblock => json!({"task_id": text("The task to let go on")}),
            Kind::Link => json!({
                "parent_id": text("The task that comes first"),
                "child_id": text("The task that waits"),
            }),
        }
    }

    fn required(self) -> &'static [&'static str] {
        match self {
            Kind::Show | Kind::List | Kind::Complete | Kind::Heartbeat => &[],
            Kind::Block => &["reason"],
            Kind::Comment => &["task_id", "body"],
            Kind::Create => &["title", "assignee"],
            Kind::Unblock => &["task_id"],
            Kind::Link => &["parent_id", "child_id"],
        }
    }

    pub(super) fn spec(self) -> ToolSpec {
        let mut properties = self.properties();
        properties["board"] =
            json!({"type": "string", "description": "Another board's slug; yours if left out"});
        ToolSpec {
            name: self.name().to_owned(),
            description: self.description().to_owned(),
            parameters: json!({
                "type": "object",
                "properties": properties,
                "required": self.required(),
            }),
        }
    }
}
