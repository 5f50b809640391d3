//! Each tool's work.

use hermes_types::TaskId;
use serde_json::{Value, json};

use super::access::ToolAccess;
use super::arguments::{Arguments, Complaint};
use super::specs::Kind;
use crate::error::KanbanError;
use crate::machine::{Fence, InitialStatus, NewTask};
use crate::model::{Run, Status, Task, WorkspaceKind};
use crate::store::{Board, CompletionRequest, ListFilter, ListSort, TaskView};
use crate::worker::{self, Assignment, lock, worker_context};

/// Whose call it is.
pub(super) struct Caller {
    pub(super) session: String,
}

const EVENTS_SHOWN: usize = 50;
const LIST_DEFAULT: i64 = 50;
const LIST_MOST: i64 = 200;

pub(super) fn run(
    kind: Kind,
    access: &ToolAccess,
    caller: &Caller,
    arguments: &Value,
) -> Result<Value, Complaint> {
    let arguments = Arguments(arguments);
    let (board, paths) = access
        .board(arguments.text("board").as_deref())
        .map_err(say)?;
    let board = lock(&board);
    match kind {
        Kind::Show => show(access, &board, &arguments),
        Kind::List => list(&board, &arguments),
        Kind::Complete => complete(access, &board, &paths, caller, &arguments),
        Kind::Block => {
            let reason = arguments.required("reason")?;
            let id = own(access, &arguments)?;
            let run = once_nobody_else_works(access, &board, &id, |task, fence| {
                board.block(&id, Some(&reason), fence, None)?;
                Ok(task.current_run_id)
            })?;
            Ok(json!({"ok": true, "task_id": id, "run_id": run}))
        }
        Kind::Heartbeat => {
            let id = own(access, &arguments)?;
            let held = access
                .assignment
                .as_ref()
                .and_then(|own| own.lock.as_deref());
            let claim = held.map(|lock| (lock, access.settings.claim_ttl));
            let note = arguments.text("note");
            board
                .heartbeat(&id, note.as_deref(), fence(access, &id), claim)
                .map_err(say)?;
            Ok(json!({"ok": true, "task_id": id}))
        }
        Kind::Comment => {
            let id = TaskId::new(arguments.required("task_id")?);
            let body = arguments.required("body")?;
            let comment = board.comment(&id, access.actor(), &body).map_err(say)?;
            Ok(json!({"ok": true, "task_id": id, "comment_id": comment}))
        }
        Kind::Create => create(access, &board, &paths, caller, &arguments),
        Kind::Unblock => {
            let id = TaskId::new(arguments.required("task_id")?);
            let task = board.unblock(&id, None).map_err(say)?;
            Ok(json!({"ok": true, "task_id": id, "status": task.status}))
        }
        Kind::Link => {
            let parent = TaskId::new(arguments.required("parent_id")?);
            let child = TaskId::new(arguments.required("child_id")?);
            board.link(&parent, &child).map_err(say)?;
            Ok(json!({"ok": true, "parent_id": parent, "child_id": child}))
        }
    }
}

fn say(error: KanbanError) -> Complaint {
    match error {
        KanbanError::PhantomCards { phantom, .. } => format!(
            "nothing was changed: created_cards names {}, which you did not create for this task; \
             leave them out and try again",
            crate::error::join(&phantom)
        ),
        other => other.to_string(),
    }
}

/// The task a call is about; a worker's own by default.
fn named(access: &ToolAccess, arguments: &Arguments<'_>) -> Result<TaskId, Complaint> {
    arguments
        .text("task_id")
        .map(TaskId::new)
        .or_else(|| access.assignment.as_ref().map(|own| own.task.clone()))
        .ok_or_else(|| "task_id is required".to_owned())
}

/// A worker reports on its own task only.
fn own(access: &ToolAccess, arguments: &Arguments<'_>) -> Result<TaskId, Complaint> {
    let id = named(access, arguments)?;
    match &access.assignment {
        Some(Assignment { task, .. }) if *task != id => Err(format!(
            "worker is scoped to task {task}; refusing to mutate {id}. Comment on it or create a \
             task for its owner instead."
        )),
        _ => Ok(id),
    }
}

/// A worker acts on its own run. Anybody else decides about a task only when its
/// worker has ended.
fn once_nobody_else_works<T>(
    access: &ToolAccess,
    board: &Board,
    id: &TaskId,
    mut act: impl FnMut(&Task, Fence) -> Result<T, KanbanError>,
) -> Result<T, Complaint> {
    if access
        .assignment
        .as_ref()
        .is_some_and(|own| own.task == *id)
    {
        let task = board.task(id).map_err(say)?;
        return act(&task, fence(access, id)).map_err(say);
    }
    worker::once_nobody_works(board, &access.host, id, |task, fence, _| act(task, fence))
        .map_err(say)
}

fn fence(access: &ToolAccess, id: &TaskId) -> Fence {
    access
        .assignment
        .as_ref()
        .filter(|own| own.task == *id)
        .and_then(|own| own.run)
        .map_or(Fence::Open, Fence::Run)
}

fn task_json(task: &Task) -> Value {
    json!({
        "id": task.id,
        "title": task.title,
        "body": task.body,
        "assignee": task.assignee,
        "status": task.status,
        "tenant": task.tenant,
        "priority": task.priority,
        "workspace_kind": task.workspace_kind,
        "workspace_path": task.workspace_path,
        "created_by": task.created_by,
        "created_at": task.created_at,
        "started_at": task.started_at,
        "completed_at": task.completed_at,
        "result": task.result,
        "current_run_id": task.current_run_id,
        "model_override": task.model_override,
    })
}

fn run_json(run: &Run) -> Value {
    json!({
        "id": run.id,
        "profile": run.profile,
        "status": run.status,
        "outcome": run.outcome,
        "summary": run.summary,
        "error": run.error,
        "metadata": run.metadata,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
    })
}

fn show(access: &ToolAccess, board: &Board, arguments: &Arguments<'_>) -> Result<Value, Complaint> {
    let id = named(access, arguments)?;
    let view: TaskView = board.view(&id).map_err(say)?;
    let context = worker_context(board, &view).map_err(say)?;
    let skipped = view.events.len().saturating_sub(EVENTS_SHOWN);
    let events: Vec<_> = view.events.iter().skip(skipped).collect();
    let runs: Vec<Value> = view.runs.iter().map(run_json).collect();
    Ok(json!({
        "task": task_json(&view.task),
        "parents": view.parents,
        "children": view.children,
        "comments": view.comments,
        "events": events,
        "runs": runs,
        "worker_context": context,
    }))
}

fn list(board: &Board, arguments: &Arguments<'_>) -> Result<Value, Complaint> {
    let limit = arguments
        .integer("limit")?
        .unwrap_or(LIST_DEFAULT)
        .clamp(1, LIST_MOST);
    let status = match arguments.text("status") {
        None => None,
        Some(text) => {
            Some(Status::parse(&text).ok_or_else(|| format!("there is no status {text:?}"))?)
        }
    };
    let promoted = board.recompute_ready().map_err(say)?;
    let wanted = usize::try_from(limit).unwrap_or(50);
    let filter = ListFilter {
        assignee: arguments.text("assignee").map(|name| name.to_lowercase()),
        status,
        tenant: arguments.text("tenant"),
        archived: arguments.flag("include_archived")?,
        limit: Some(wanted + 1),
        ..ListFilter::default()
    };
    let mut tasks = board.list(&filter, ListSort::Priority).map_err(say)?;
    let truncated = tasks.len() > wanted;
    tasks.truncate(wanted);
    let mut rows = Vec::with_capacity(tasks.len());
    for task in &tasks {
        let parents = board.parents(&task.id).map_err(say)?;
        let children = board.children(&task.id).map_err(say)?;
        let mut row = task_json(task);
        row["parent_count"] = json!(parents.len());
        row["child_count"] = json!(children.len());
        row["parents"] = json!(parents);
        row["children"] = json!(children);
        rows.push(row);
    }
    let next_limit = (truncated && limit < LIST_MOST).then_some((limit * 2).min(LIST_MOST));
    Ok(json!({
        "tasks": rows,
        "count": tasks.len(),
        "limit": limit,
        "truncated": truncated,
        "next_limit": next_limit,
        "promoted": promoted,
    }))
}

fn complete(
    access: &ToolAccess,
    board: &Board,
    paths: &crate::boards::BoardPaths,
    caller: &Caller,
    arguments: &Arguments<'_>,
) -> Result<Value, Complaint> {
    let id = own(access, arguments)?;
    let summary = arguments.text("summary");
    let result = arguments.text("result");
    if summary.is_none() && result.is_none() {
        return Err("give a summary or a result".to_owned());
    }
    let mut metadata = arguments.object("metadata")?;
    if access.assignment.as_ref().is_some_and(|own| own.task == id) {
        // Ours to say, whatever the model wrote there.
        metadata
            .get_or_insert_default()
            .insert("worker_session_id".to_owned(), json!(caller.session));
    }
    let request = CompletionRequest {
        result,
        summary,
        metadata: metadata.map(Value::Object),
        artifacts: arguments.list("artifacts")?,
        created_cards: arguments.ids("created_cards")?,
        fence: Fence::Open,
    };
    let run = once_nobody_else_works(access, board, &id, |task, fence| {
        let request = CompletionRequest {
            fence,
            ..request.clone()
        };
        worker::complete(board, paths, &id, &request)?;
        Ok(task.current_run_id)
    })?;
    Ok(json!({"ok": true, "task_id": id, "run_id": run}))
}

fn create(
    access: &ToolAccess,
    board: &Board,
    paths: &crate::boards::BoardPaths,
    caller: &Caller,
    arguments: &Arguments<'_>,
) -> Result<Value, Complaint> {
    let initial = match arguments.text("initial_status").as_deref() {
        Some("blocked") => InitialStatus::Blocked,
        None | Some("running") if arguments.flag("triage")? => InitialStatus::Triage,
        None | Some("running") => InitialStatus::Normal,
        Some(other) => {
            return Err(format!(
                "initial_status must be running or blocked, not {other:?}"
            ));
        }
    };
    let (workspace_kind, workspace_path) = workspace(access, board, paths, arguments)?;
    let task = board
        .create(&NewTask {
            title: arguments.required("title")?,
            assignee: Some(arguments.required("assignee")?),
            body: arguments.text("body"),
            created_by: Some(access.actor().to_owned()),
            priority: arguments.integer("priority")?.unwrap_or(0),
            tenant: arguments
                .text("tenant")
                .or_else(|| access.tenant().map(str::to_owned)),
            workspace_kind,
            workspace_path,
            parents: arguments.ids("parents")?,
            initial,
            idempotency_key: arguments.text("idempotency_key"),
            max_runtime_seconds: arguments.positive("max_runtime_seconds")?,
            skills: arguments.list("skills")?,
            goal_mode: arguments.flag("goal_mode")?,
            goal_max_turns: arguments.positive("goal_max_turns")?,
            session_id: Some(caller.session.clone()),
            ..NewTask::default()
        })
        .map_err(say)?;
    Ok(json!({"ok": true, "task_id": task.id, "status": task.status}))
}

/// What the call says, else where the worker itself works. A scratch directory is
/// never handed on: the parent's completion removes it.
fn workspace(
    access: &ToolAccess,
    board: &Board,
    paths: &crate::boards::BoardPaths,
    arguments: &Arguments<'_>,
) -> Result<(WorkspaceKind, Option<String>), Complaint> {
    let path = arguments.text("workspace_path");
    match arguments.text("workspace_kind") {
        Some(text) => {
            let kind = WorkspaceKind::parse(&text)
                .ok_or_else(|| format!("there is no workspace_kind {text:?}"))?;
            let default = || access.boards.metadata(&paths.slug).default_workdir();
            let path = match kind {
                WorkspaceKind::Scratch => path,
                WorkspaceKind::Dir | WorkspaceKind::Worktree => path.or_else(default),
            };
            Ok((kind, path))
        }
        None if path.is_some() => Ok((WorkspaceKind::Dir, path)),
        None => {
            let own = access
                .assignment
                .as_ref()
                .map(|own| board.find(&own.task))
                .transpose();
            Ok(match own.map_err(say)?.flatten() {
                Some(task) if task.workspace_kind != WorkspaceKind::Scratch => {
                    (task.workspace_kind, task.workspace_path)
                }
                _ => (WorkspaceKind::Scratch, None),
            })
        }
    }
}
