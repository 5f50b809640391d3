//! From a claimed task to a process: the worker's command line, environment and
//! log, exactly as both implementations expect them.

use std::fs;
use std::path::{Path, PathBuf};

use hermes_home::{Environment, Home, env as home_env};
use hermes_process::{Command, Grouping, Input, Output, OwnerDeath};
use hermes_types::ProfileName;

use crate::boards::BoardPaths;
use crate::env;
use crate::error::KanbanError;
use crate::model::Task;
use crate::settings::Settings;
use crate::worker::{Workspace, open_log};

/// The skill that review workers get instead of their task's.
const REVIEW_SKILL: &str = "sdlc-review";
const WORKER_SKILL: &str = "kanban-worker";
/// Shell commands end this long before the worker would be ended.
const TERMINAL_MARGIN: i64 = 30;

/// Everything about a worker that is not its task.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    pub home: &'a Home,
    pub environment: &'a Environment,
    /// The program that runs now; workers run it too unless `HERMES_BIN` says otherwise.
    pub program: &'a Path,
    pub paths: &'a BoardPaths,
    pub settings: &'a Settings,
}

/// Whether a task is worked on or looked over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Work,
    Review,
}

/// The command that starts a worker for a claimed task.
pub fn worker_command(
    task: &Task,
    assignee: &str,
    workspace: &Workspace,
    purpose: Purpose,
    around: Surroundings<'_>,
) -> Result<Command, KanbanError> {
    let profile =
        ProfileName::parse(assignee).map_err(|error| KanbanError::Process(error.to_string()))?;
    let home = around.home.of_profile(&profile);
    let mut command = Command::new(program(around)?)
        .args(["-p", assignee, "--accept-hooks"])
        .args(
            skills(task, purpose, &home)
                .iter()
                .flat_map(|name| ["--skills", name.as_str()]),
        );
    if let Some(model) = &task.model_override {
        command = command.args(["-m", model]);
    }
    command = command
        .args(["chat", "-q"])
        .arg(format!("work kanban task {}", task.id));
    for (name, value) in environment(task, assignee, workspace, &home, around) {
        command = command.env(name, value);
    }
    let log = around.paths.log_of(task.id.as_str());
    let file = open_log(
        &log,
        around.settings.log_rotate_bytes,
        around.settings.log_backups,
    )
    .map_err(KanbanError::io(&log))?;
    let file_again = file.try_clone().map_err(KanbanError::io(&log))?;
    if workspace.path.is_dir() {
        command = command.directory(&workspace.path);
    }
    Ok(command
        .env_remove(env::TUI)
        .stdin(Input::Null)
        .stdout(Output::File(file))
        .stderr(Output::File(file_again))
        .grouping(Grouping::Session)
        .owner_death(OwnerDeath::LeaveRunning))
}

/// `HERMES_BIN`: a path as it is, a name from `PATH` and never from here.
fn program(around: Surroundings<'_>) -> Result<PathBuf, KanbanError> {
    let Some(wanted) = around.environment.get_non_empty(env::BIN) else {
        return Ok(around.program.to_owned());
    };
    if wanted.contains('/') {
        return std::path::absolute(wanted).map_err(KanbanError::io(wanted));
    }
    let path = around.environment.get("PATH").unwrap_or_default();
    path.split(':')
        .filter(|directory| directory.starts_with('/'))
        .map(|directory| Path::new(directory).join(wanted))
        .find(|candidate| candidate.is_file())
        .ok_or_else(|| KanbanError::Process(format!("{}={wanted} is not in PATH", env::BIN)))
}

fn skills(task: &Task, purpose: Purpose, home: &Home) -> Vec<String> {
    let mut names = Vec::new();
    // An unknown skill would end the worker at once.
    if has_skill(&home.join("skills"), WORKER_SKILL, 4) {
        names.push(WORKER_SKILL.to_owned());
    }
    match purpose {
        Purpose::Review => names.push(REVIEW_SKILL.to_owned()),
        Purpose::Work => {
            let own = task
                .skills
                .iter()
                .flatten()
                .filter(|name| *name != WORKER_SKILL);
            names.extend(own.cloned());
        }
    }
    names
}

fn has_skill(directory: &Path, name: &str, depth: u8) -> bool {
    if directory.join(name).join("SKILL.md").is_file() {
        return true;
    }
    depth > 0
        && fs::read_dir(directory).is_ok_and(|entries| {
            entries
                .flatten()
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .any(|entry| has_skill(&entry.path(), name, depth - 1))
        })
}

/// What is added to the dispatcher's own environment.
fn environment(
    task: &Task,
    assignee: &str,
    workspace: &Workspace,
    home: &Home,
    around: Surroundings<'_>,
) -> Vec<(&'static str, String)> {
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let mut out = vec![
        (home_env::HOME, path(home.path())),
        (env::PROFILE, assignee.to_owned()),
        (env::TASK, task.id.to_string()),
        (env::WORKSPACE, path(&workspace.path)),
        (env::DB, path(&around.paths.database)),
        (env::WORKSPACES_ROOT, path(&around.paths.workspaces)),
        (env::BOARD, around.paths.slug.to_string()),
    ];
    if let Some(run) = task.current_run_id {
        out.push((env::RUN_ID, run.to_string()));
    }
    if let Some(lock) = &task.claim_lock {
        out.push((env::CLAIM_LOCK, lock.clone()));
    }
    if let Some(tenant) = &task.tenant {
        out.push((env::TENANT, tenant.clone()));
    }
    if let Some(branch) = workspace.branch.as_ref().or(task.branch_name.as_ref()) {
        out.push((env::BRANCH, branch.clone()));
    }
    if task.goal_mode {
        out.push((env::GOAL_MODE, "1".to_owned()));
        if let Some(turns) = task.goal_max_turns {
            out.push((env::GOAL_MAX_TURNS, turns.to_string()));
        }
    }
    if let Some(limit) = task.max_runtime_seconds.filter(|seconds| *seconds > 0) {
        let wanted = (limit - TERMINAL_MARGIN).max(1);
        for name in [env::TERMINAL_TIMEOUT, env::TERMINAL_MAX_FOREGROUND_TIMEOUT] {
            let current = around
                .environment
                .get_non_empty(name)
                .and_then(|text| text.parse::<i64>().ok());
            if current.is_none_or(|seconds| seconds < wanted) {
                out.push((name, wanted.to_string()));
            }
        }
    }
    out
}
