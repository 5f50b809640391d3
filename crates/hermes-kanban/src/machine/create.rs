//! What a new card must look like, and where it starts.

use hermes_types::TaskId;
use serde_json::{Value, json};
use thiserror::Error;

use super::action::{EventRun, NewEvent};
use crate::model::{EventKind, Status, Task, WorkspaceKind};

/// Names a model likes to put into `skills` although they are toolsets.
const TOOLSETS: &[&str] = &[
    "browser",
    "clarify",
    "code_execution",
    "computer_use",
    "cronjob",
    "debugging",
    "delegation",
    "discord",
    "discord_admin",
    "feishu_doc",
    "feishu_drive",
    "file",
    "homeassistant",
    "image_gen",
    "kanban",
    "memory",
    "messaging",
    "moa",
    "safe",
    "search",
    "session_search",
    "skills",
    "spotify",
    "terminal",
    "todo",
    "tts",
    "video",
    "video_gen",
    "vision",
    "web",
    "x_search",
    "yuanbao",
];

/// What the caller says about where the task starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InitialStatus {
    /// `ready`, or `todo` while a parent is open.
    #[default]
    Normal,
    Triage,
    Blocked,
    Scheduled,
}

/// A card before it exists.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewTask {
    pub title: String,
    pub body: Option<String>,
    pub assignee: Option<String>,
    pub created_by: Option<String>,
    pub priority: i64,
    pub tenant: Option<String>,
    pub workspace_kind: WorkspaceKind,
    pub workspace_path: Option<String>,
    pub branch_name: Option<String>,
    pub parents: Vec<TaskId>,
    pub initial: InitialStatus,
    pub idempotency_key: Option<String>,
    pub max_runtime_seconds: Option<i64>,
    pub skills: Vec<String>,
    pub max_retries: Option<i64>,
    pub goal_mode: bool,
    pub goal_max_turns: Option<i64>,
    pub session_id: Option<String>,
    pub model_override: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidTask {
    #[error("title is required")]
    NoTitle,
    #[error("profile name cannot be empty")]
    BlankAssignee,
    #[error("a branch needs a worktree: use --workspace worktree or worktree:<path>")]
    BranchWithoutWorktree,
    #[error("skill name {name:?} contains a comma: give each skill by itself")]
    CommaInSkill { name: String },
    #[error(
        "{} {} toolset name{}, not skills: toolsets belong to the profile's configuration",
        names.join(", "),
        if names.len() == 1 { "is a" } else { "are" },
        if names.len() == 1 { "" } else { "s" }
    )]
    ToolsetsAsSkills { names: Vec<String> },
}

/// Trimmed and lower-cased; names of no profile are fine, they are lanes for
/// somebody else's workers.
pub fn normalize_assignee(text: &str) -> Result<String, InvalidTask> {
    let name = text.trim().to_lowercase();
    if name.is_empty() {
        Err(InvalidTask::BlankAssignee)
    } else {
        Ok(name)
    }
}

/// Trimmed, without blanks and repetitions.
pub fn normalize_skills(skills: &[String]) -> Result<Vec<String>, InvalidTask> {
    let mut out: Vec<String> = Vec::new();
    for name in skills.iter().map(|s| s.trim()).filter(|s| !s.is_empty()) {
        if name.contains(',') {
            return Err(InvalidTask::CommaInSkill {
                name: name.to_owned(),
            });
        }
        if !out.iter().any(|known| known == name) {
            out.push(name.to_owned());
        }
    }
    let names: Vec<String> = out
        .iter()
        .filter(|name| TOOLSETS.contains(&name.to_lowercase().as_str()))
        .cloned()
        .collect();
    if names.is_empty() {
        Ok(out)
    } else {
        Err(InvalidTask::ToolsetsAsSkills { names })
    }
}

/// The card, and the events that tell of its birth. `parents_open`: some parent is
/// neither done nor archived.
pub fn create(
    new: &NewTask,
    id: TaskId,
    parents_open: bool,
    now: i64,
) -> Result<(Task, Vec<NewEvent>), InvalidTask> {
    let title = new.title.trim();
    if title.is_empty() {
        return Err(InvalidTask::NoTitle);
    }
    if new.branch_name.is_some() && new.workspace_kind != WorkspaceKind::Worktree {
        return Err(InvalidTask::BranchWithoutWorktree);
    }
    let assignee = new
        .assignee
        .as_deref()
        .map(normalize_assignee)
        .transpose()?;
    let skills = normalize_skills(&new.skills)?;
    let status = match new.initial {
        InitialStatus::Blocked => Status::Blocked,
        InitialStatus::Scheduled => Status::Scheduled,
        InitialStatus::Triage => Status::Triage,
        InitialStatus::Normal if parents_open => Status::Todo,
        InitialStatus::Normal => Status::Ready,
    };
    let task = Task {
        body: new.body.clone(),
        assignee,
        priority: new.priority,
        created_by: new.created_by.clone(),
        workspace_kind: new.workspace_kind,
        workspace_path: new.workspace_path.clone(),
        branch_name: new.branch_name.clone(),
        tenant: new.tenant.clone(),
        idempotency_key: new.idempotency_key.clone(),
        max_runtime_seconds: new.max_runtime_seconds,
        skills: (!skills.is_empty()).then_some(skills),
        model_override: new.model_override.clone(),
        max_retries: new.max_retries,
        goal_mode: new.goal_mode,
        goal_max_turns: new.goal_max_turns,
        session_id: new.session_id.clone(),
        ..Task::new(id, title, status, now)
    };
    let payload = json!({
        "assignee": task.assignee,
        "status": status,
        "parents": new.parents,
        "tenant": task.tenant,
        "branch_name": task.branch_name,
        "skills": task.skills,
        "goal_mode": if task.goal_mode { Value::Bool(true) } else { Value::Null },
    });
    let mut events = vec![event(EventKind::Created, payload)];
    // Without an event of its own a block or a date would not outlive the next
    // recompute; the reference writes none and promotes the task.
    match status {
        Status::Blocked => events.push(event(EventKind::Blocked, json!({"reason": null}))),
        Status::Scheduled => events.push(event(EventKind::Scheduled, json!({"reason": null}))),
        _ => {}
    }
    Ok((task, events))
}

fn event(kind: EventKind, payload: Value) -> NewEvent {
    NewEvent {
        kind,
        payload: Some(payload),
        run: EventRun::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titled(title: &str) -> NewTask {
        NewTask {
            title: title.to_owned(),
            ..NewTask::default()
        }
    }

    #[test]
    fn blank_titles_assignees_and_toolsets_as_skills_are_refused() {
        let id = || TaskId::new("t_00000001");
        assert_eq!(
            create(&titled("  "), id(), false, 1),
            Err(InvalidTask::NoTitle)
        );
        let blank = NewTask {
            assignee: Some(" ".into()),
            ..titled("x")
        };
        assert_eq!(
            create(&blank, id(), false, 1),
            Err(InvalidTask::BlankAssignee)
        );
        let toolsets = NewTask {
            skills: vec!["Web".into(), "notes".into(), "terminal".into()],
            ..titled("x")
        };
        assert_eq!(
            create(&toolsets, id(), false, 1),
            Err(InvalidTask::ToolsetsAsSkills {
                names: vec!["Web".into(), "terminal".into()]
            })
        );
        let branch = NewTask {
            branch_name: Some("b".into()),
            ..titled("x")
        };
        assert_eq!(
            create(&branch, id(), false, 1),
            Err(InvalidTask::BranchWithoutWorktree)
        );
    }

    #[test]
    fn a_task_waits_for_open_parents_and_a_blocked_one_says_so() {
        let id = || TaskId::new("t_00000001");
        let (task, _) = create(&titled("x"), id(), true, 1).unwrap();
        assert_eq!(task.status, Status::Todo);
        let blocked = NewTask {
            initial: InitialStatus::Blocked,
            ..titled("x")
        };
        let (task, events) = create(&blocked, id(), true, 1).unwrap();
        assert_eq!(task.status, Status::Blocked);
        assert_eq!(
            events.iter().map(|e| e.kind).collect::<Vec<_>>(),
            [EventKind::Created, EventKind::Blocked]
        );
    }
}
