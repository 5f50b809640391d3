//! The smaller rows around a task.

use hermes_types::TaskId;
use serde::Serialize;

use super::Status;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Comment {
    #[serde(skip)]
    pub id: i64,
    #[serde(skip)]
    pub task_id: TaskId,
    pub author: String,
    pub body: String,
    pub created_at: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Attachment {
    pub id: i64,
    pub task_id: TaskId,
    pub filename: String,
    pub stored_path: String,
    pub content_type: Option<String>,
    pub size: i64,
    pub uploaded_by: Option<String>,
    pub created_at: i64,
}

/// Who wants to hear about a task, and how far they have been told. Events after
/// `last_event_id` are the outbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Subscription {
    pub task_id: TaskId,
    pub platform: String,
    pub chat_id: String,
    pub thread_id: String,
    pub user_id: Option<String>,
    pub notifier_profile: Option<String>,
    pub created_at: i64,
    pub last_event_id: i64,
}

/// A parent as its child sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParentState {
    pub id: TaskId,
    pub status: Status,
}
