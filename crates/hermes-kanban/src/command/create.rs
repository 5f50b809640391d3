//! `kanban create`, one card or a file of them.

use std::fs;
use std::io::{self, Read};

use hermes_types::TaskId;
use serde::Deserialize;

use super::arguments::{CreateArgs, InitialStatusArg};
use super::context::{Failure, Output, Session, task_id};
use super::format;
use crate::dispatch;
use crate::env;
use crate::error::KanbanError;
use crate::machine::{InitialStatus, NewTask};
use crate::model::{Status, Task, WorkspaceKind};

pub(super) fn run(
    args: CreateArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    if let Some(source) = &args.from {
        return batch(source, &args, session, output);
    }
    let new = from_arguments(&args, session)?;
    let task = session.board.create(&new)?;
    if args.json {
        output.json(&task)?;
        return Ok(());
    }
    output.line(format!(
        "Created {}  ({}, assignee={})",
        task.id,
        task.status,
        task.assignee.as_deref().unwrap_or("-")
    ))?;
    warn_without_dispatcher(&task, session, output);
    Ok(())
}

/// A ready task with an assignee that nobody will start.
fn warn_without_dispatcher(task: &Task, session: &Session<'_>, output: &mut Output<'_>) {
    if task.status != Status::Ready || task.assignee.is_none() {
        return;
    }
    if dispatch::is_someone_dispatching(&session.boards, &session.context.home, &session.settings) {
        return;
    }
    output.remark(
        "kanban: no dispatcher is running, so nobody will start this task; \
         `hermes kanban daemon` runs one, `hermes kanban dispatch` makes one round",
    );
}

fn from_arguments(args: &CreateArgs, session: &Session<'_>) -> Result<NewTask, Failure> {
    let (workspace_kind, workspace_path) = workspace(&args.workspace).map_err(|()| {
        Failure::usage(format!(
            "kanban: unknown --workspace value '{}': use scratch, worktree, worktree:<path>, or dir:<path>",
            args.workspace
        ))
    })?;
    let max_runtime_seconds = args
        .max_runtime
        .as_deref()
        .map(|text| format::duration("--max-runtime", text))
        .transpose()?;
    let initial = match (args.initial_status, args.triage) {
        (Some(InitialStatusArg::Blocked), _) => InitialStatus::Blocked,
        (_, true) => InitialStatus::Triage,
        _ => InitialStatus::Normal,
    };
    Ok(NewTask {
        title: args.title.clone().unwrap_or_default(),
        body: args.body.clone(),
        assignee: args.assignee.clone(),
        created_by: Some(args.created_by.clone()),
        priority: args.priority,
        tenant: args.tenant.clone(),
        workspace_kind,
        workspace_path: workspace_path.or_else(|| default_workdir(workspace_kind, session)),
        branch_name: args.branch.clone(),
        parents: args.parent.iter().map(|id| task_id(id)).collect(),
        initial,
        idempotency_key: args.idempotency_key.clone(),
        max_runtime_seconds,
        skills: args.skill.clone(),
        max_retries: args.max_retries,
        goal_mode: args.goal,
        goal_max_turns: args.goal_max_turns,
        session_id: session
            .context
            .environment
            .get_non_empty(env::SESSION_ID)
            .map(str::to_owned),
        model_override: None,
    })
}

fn workspace(text: &str) -> Result<(WorkspaceKind, Option<String>), ()> {
    match text.trim().split_once(':') {
        None => WorkspaceKind::parse(text.trim())
            .map(|kind| (kind, None))
            .ok_or(()),
        Some(("dir", path)) if !path.is_empty() => Ok((WorkspaceKind::Dir, Some(path.to_owned()))),
        Some(("worktree", "")) => Ok((WorkspaceKind::Worktree, None)),
        Some(("worktree", path)) => Ok((WorkspaceKind::Worktree, Some(path.to_owned()))),
        Some(_) => Err(()),
    }
}

/// Never for scratch: completion removes scratch directories.
fn default_workdir(kind: WorkspaceKind, session: &Session<'_>) -> Option<String> {
    match kind {
        WorkspaceKind::Scratch => None,
        WorkspaceKind::Dir | WorkspaceKind::Worktree => session
            .boards
            .metadata(&session.paths.slug)
            .default_workdir(),
    }
}

/// One line of a batch file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    title: String,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    assignee: Option<String>,
    #[serde(default)]
    priority: i64,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    parents: Vec<String>,
    #[serde(default)]
    tenant: Option<String>,
    #[serde(default)]
    workspace: Option<String>,
    #[serde(default)]
    key: Option<String>,
}

fn batch(
    source: &str,
    args: &CreateArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let text = read(source)?;
    // What the command line says holds for every line that says nothing else.
    let base = from_arguments(args, session)?;
    let mut cards = Vec::new();
    let mut numbers = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let card = parse_line(line, &base, session)
            .map_err(|reason| refused(source, index + 1, &reason))?;
        cards.push(card);
        numbers.push(index + 1);
    }
    let tasks = session.board.create_many(&cards).map_err(|(at, error)| {
        refused(
            source,
            numbers.get(at).copied().unwrap_or(0),
            &error.to_string(),
        )
    })?;
    if args.json {
        output.json(&tasks)?;
    } else {
        for task in &tasks {
            output.line(task.id.as_str())?;
        }
    }
    Ok(())
}

fn refused(source: &str, line: usize, reason: &str) -> Failure {
    let name = if source == "-" {
        "standard input"
    } else {
        source
    };
    Failure::failed(format!(
        "kanban: {name}, line {line}: {reason}; nothing was created"
    ))
}

fn read(source: &str) -> Result<String, Failure> {
    let mut text = String::new();
    let outcome = if source == "-" {
        io::stdin().lock().read_to_string(&mut text).map(|_| ())
    } else {
        fs::read_to_string(source).map(|content| text = content)
    };
    outcome.map_err(|error| Failure::failed(format!("kanban: {source}: {error}")))?;
    Ok(text)
}

fn parse_line(line: &str, base: &NewTask, session: &Session<'_>) -> Result<NewTask, String> {
    let line: Line = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let initial = match line.status.as_deref() {
        None => base.initial,
        Some("ready" | "todo" | "running") => InitialStatus::Normal,
        Some("triage") => InitialStatus::Triage,
        Some("blocked") => InitialStatus::Blocked,
        Some("scheduled") => InitialStatus::Scheduled,
        Some(other) => {
            return Err(format!(
                "status {other:?} is not one a task can start in (ready, todo, triage, blocked, scheduled)"
            ));
        }
    };
    let (workspace_kind, workspace_path) = match line.workspace.as_deref() {
        None => (base.workspace_kind, base.workspace_path.clone()),
        Some(text) => {
            let (kind, path) = workspace(text).map_err(|()| {
                format!("unknown workspace {text:?}: use scratch, worktree, worktree:<path>, or dir:<path>")
            })?;
            (kind, path.or_else(|| default_workdir(kind, session)))
        }
    };
    if line.title.trim().is_empty() {
        return Err(KanbanError::Required { what: "title" }.to_string());
    }
    Ok(NewTask {
        title: line.title,
        body: line.body,
        assignee: line.assignee.or_else(|| base.assignee.clone()),
        priority: if line.priority == 0 {
            base.priority
        } else {
            line.priority
        },
        tenant: line.tenant.or_else(|| base.tenant.clone()),
        workspace_kind,
        workspace_path,
        parents: line.parents.into_iter().map(TaskId::new).collect(),
        initial,
        idempotency_key: line.key,
        ..base.clone()
    })
}
