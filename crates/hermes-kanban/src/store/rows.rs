//! Columns by name, rows as values.

use std::borrow::Cow;

use hermes_types::TaskId;
use rusqlite::Row;
use rusqlite::types::ValueRef;

use crate::model::{
    Attachment, Comment, Event, PublicTask, Run, Status, Subscription, Task, WorkerIdentity,
    WorkspaceKind, from_stored,
};

/// In the order in which [`task`] reads them.
pub(super) const TASK_COLUMNS: &str = "id, title, body, assignee, status, priority, created_by, \
    created_at, started_at, completed_at, workspace_kind, workspace_path, branch_name, claim_lock, \
    claim_expires, tenant, result, idempotency_key, consecutive_failures, worker_pid, \
    last_failure_error, max_runtime_seconds, last_heartbeat_at, current_run_id, \
    workflow_template_id, current_step_key, skills, model_override, max_retries, goal_mode, \
    goal_max_turns, session_id";

pub(super) fn task(row: &Row<'_>) -> rusqlite::Result<Task> {
    Ok(Task {
        id: TaskId::new(text(row, 0)?),
        title: text(row, 1)?,
        body: optional_text(row, 2)?,
        assignee: optional_text(row, 3)?,
        status: status(row, 4)?,
        priority: integer(row, 5)?.unwrap_or(0),
        created_by: optional_text(row, 6)?,
        created_at: integer(row, 7)?.unwrap_or(0),
        started_at: integer(row, 8)?,
        completed_at: integer(row, 9)?,
        workspace_kind: workspace_kind(row, 10)?,
        workspace_path: optional_text(row, 11)?,
        branch_name: optional_text(row, 12)?,
        claim_lock: optional_text(row, 13)?,
        claim_expires: integer(row, 14)?,
        tenant: optional_text(row, 15)?,
        result: optional_text(row, 16)?,
        idempotency_key: optional_text(row, 17)?,
        consecutive_failures: integer(row, 18)?.unwrap_or(0),
        worker_pid: integer(row, 19)?,
        last_failure_error: optional_text(row, 20)?,
        max_runtime_seconds: integer(row, 21)?,
        last_heartbeat_at: integer(row, 22)?,
        current_run_id: integer(row, 23)?,
        workflow_template_id: optional_text(row, 24)?,
        current_step_key: optional_text(row, 25)?,
        skills: skills(row, 26)?,
        model_override: optional_text(row, 27)?,
        max_retries: integer(row, 28)?,
        goal_mode: integer(row, 29)?.unwrap_or(0) != 0,
        goal_max_turns: integer(row, 30)?,
        session_id: optional_text(row, 31)?,
    })
}

/// In the order in which [`public_task`] reads them.
pub(super) const PUBLIC_COLUMNS: &str = "id, title, body, assignee, status, priority, tenant, \
    workspace_kind, workspace_path, branch_name, created_by, created_at, started_at, completed_at, \
    result, skills, max_retries, session_id, workflow_template_id, current_step_key";

/// A row in the shape that is printed, without a copy of its texts.
pub(super) fn public_task<T>(
    row: &Row<'_>,
    visit: impl FnOnce(PublicTask<'_>) -> T,
) -> rusqlite::Result<T> {
    let texts = [0, 1, 2, 3, 6, 8, 9, 10, 14, 17, 18, 19].map(|column| borrowed(row, column));
    let [
        id,
        title,
        body,
        assignee,
        tenant,
        workspace_path,
        branch_name,
        created_by,
        result,
        session_id,
        workflow_template_id,
        current_step_key,
    ] = texts;
    let skills = skills(row, 15)?;
    Ok(visit(PublicTask {
        id: id?.as_deref().unwrap_or_default(),
        title: title?.as_deref().unwrap_or_default(),
        body: body?.as_deref(),
        assignee: assignee?.as_deref(),
        status: status(row, 4)?.as_str(),
        priority: integer(row, 5)?.unwrap_or(0),
        tenant: tenant?.as_deref(),
        workspace_kind: workspace_kind(row, 7)?.as_str(),
        workspace_path: workspace_path?.as_deref(),
        branch_name: branch_name?.as_deref(),
        created_by: created_by?.as_deref(),
        created_at: integer(row, 11)?.unwrap_or(0),
        started_at: integer(row, 12)?,
        completed_at: integer(row, 13)?,
        result: result?.as_deref(),
        skills: skills.as_deref().unwrap_or_default(),
        max_retries: integer(row, 16)?,
        session_id: session_id?.as_deref(),
        workflow_template_id: workflow_template_id?.as_deref(),
        current_step_key: current_step_key?.as_deref(),
    }))
}

pub(super) const RUN_COLUMNS: &str = "id, task_id, profile, step_key, status, claim_lock, \
    claim_expires, worker_pid, max_runtime_seconds, last_heartbeat_at, started_at, ended_at, \
    outcome, summary, metadata, error";

pub(super) fn run(row: &Row<'_>) -> rusqlite::Result<Run> {
    Ok(Run {
        id: row.get(0)?,
        task_id: TaskId::new(text(row, 1)?),
        profile: optional_text(row, 2)?,
        step_key: optional_text(row, 3)?,
        status: text(row, 4)?,
        claim_lock: optional_text(row, 5)?,
        claim_expires: integer(row, 6)?,
        worker_pid: integer(row, 7)?,
        max_runtime_seconds: integer(row, 8)?,
        last_heartbeat_at: integer(row, 9)?,
        started_at: integer(row, 10)?.unwrap_or(0),
        ended_at: integer(row, 11)?,
        outcome: optional_text(row, 12)?,
        summary: optional_text(row, 13)?,
        metadata: from_stored(optional_text(row, 14)?),
        error: optional_text(row, 15)?,
    })
}

pub(super) const EVENT_COLUMNS: &str = "id, task_id, run_id, kind, payload, created_at";

pub(super) fn event(row: &Row<'_>) -> rusqlite::Result<Event> {
    Ok(Event {
        id: row.get(0)?,
        task_id: TaskId::new(text(row, 1)?),
        run_id: integer(row, 2)?,
        kind: text(row, 3)?,
        payload: from_stored(optional_text(row, 4)?),
        created_at: integer(row, 5)?.unwrap_or(0),
    })
}

pub(super) const COMMENT_COLUMNS: &str = "id, task_id, author, body, created_at";

pub(super) fn comment(row: &Row<'_>) -> rusqlite::Result<Comment> {
    Ok(Comment {
        id: row.get(0)?,
        task_id: TaskId::new(text(row, 1)?),
        author: text(row, 2)?,
        body: text(row, 3)?,
        created_at: integer(row, 4)?.unwrap_or(0),
    })
}

pub(super) const ATTACHMENT_COLUMNS: &str =
    "id, task_id, filename, stored_path, content_type, size, uploaded_by, created_at";

pub(super) fn attachment(row: &Row<'_>) -> rusqlite::Result<Attachment> {
    Ok(Attachment {
        id: row.get(0)?,
        task_id: TaskId::new(text(row, 1)?),
        filename: text(row, 2)?,
        stored_path: text(row, 3)?,
        content_type: optional_text(row, 4)?,
        size: integer(row, 5)?.unwrap_or(0),
        uploaded_by: optional_text(row, 6)?,
        created_at: integer(row, 7)?.unwrap_or(0),
    })
}

pub(super) const SUBSCRIPTION_COLUMNS: &str = "task_id, platform, chat_id, thread_id, user_id, \
    notifier_profile, created_at, last_event_id";

pub(super) fn subscription(row: &Row<'_>) -> rusqlite::Result<Subscription> {
    Ok(Subscription {
        task_id: TaskId::new(text(row, 0)?),
        platform: text(row, 1)?,
        chat_id: text(row, 2)?,
        thread_id: text(row, 3)?,
        user_id: optional_text(row, 4)?,
        notifier_profile: optional_text(row, 5)?,
        created_at: integer(row, 6)?.unwrap_or(0),
        last_event_id: integer(row, 7)?.unwrap_or(0),
    })
}

pub(super) const IDENTITY_COLUMNS: &str =
    "run_id, pid, start_time, boot_id, host, exit_code, signal, ended_at";

pub(super) fn identity(row: &Row<'_>) -> rusqlite::Result<WorkerIdentity> {
    Ok(WorkerIdentity {
        run_id: integer(row, 0)?.unwrap_or(0),
        pid: integer(row, 1)?,
        start_time: integer(row, 2)?,
        boot_id: optional_text(row, 3)?,
        host: optional_text(row, 4)?.unwrap_or_default(),
        exit_code: integer(row, 5)?,
        signal: integer(row, 6)?,
        ended_at: integer(row, 7)?,
    })
}

/// Text, whatever type another program stored it with; SQLite does not enforce any.
pub(super) fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    Ok(optional_text(row, column)?.unwrap_or_default())
}

pub(super) fn optional_text(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<String>> {
    Ok(borrowed(row, column)?.map(Cow::into_owned))
}

fn borrowed<'r>(row: &'r Row<'_>, column: usize) -> rusqlite::Result<Option<Cow<'r, str>>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null => None,
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes)),
        ValueRef::Integer(number) => Some(number.to_string().into()),
        ValueRef::Real(number) => Some(number.to_string().into()),
    })
}

fn workspace_kind(row: &Row<'_>, column: usize) -> rusqlite::Result<WorkspaceKind> {
    Ok(row
        .get_ref(column)?
        .as_str()
        .ok()
        .and_then(WorkspaceKind::parse)
        .unwrap_or_default())
}

pub(super) fn integer(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<i64>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number),
        ValueRef::Real(number) => Some(number as i64),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            String::from_utf8_lossy(bytes).trim().parse().ok()
        }
    })
}

pub(super) fn status(row: &Row<'_>, column: usize) -> rusqlite::Result<Status> {
    Ok(row
        .get_ref(column)?
        .as_str()
        .map_or(Status::Other, Status::from_stored))
}

fn skills(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Vec<String>>> {
    let ValueRef::Text(bytes) = row.get_ref(column)? else {
        return Ok(None);
    };
    Ok(serde_json::from_slice::<Vec<String>>(bytes)
        .ok()
        .filter(|names| !names.is_empty()))
}
