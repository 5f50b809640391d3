//! This machine, put together from settings.

use std::path::Path;
use std::sync::Arc;

use hermes_home::{Environment, Home};

use super::{LocalFiles, LocalTarget};
use crate::background::Processes;
use crate::docker::session_records;
use crate::path::MountMap;
use crate::sandbox::{Sandbox, SandboxParts};
use crate::session::SessionOptions;
use crate::settings::directory::local_directory;
use crate::settings::environment::local_environment;
use crate::settings::{Backend, FrontEnd, TerminalSettings};

/// Read by the bootstrap when no files are named.
const START_UP_FILES: &[&str] = &[".profile", ".bash_profile", ".bashrc"];

/// What a sandbox of this machine is made from.
pub struct LocalPlan<'a> {
    pub settings: &'a TerminalSettings,
    pub environment: &'a Environment,
    pub home: &'a Home,
    pub front_end: FrontEnd,
    /// The directory of this process; `None` when it was deleted.
    pub launched_in: Option<&'a Path>,
    pub processes: Arc<Processes>,
}

pub fn local_sandbox(plan: LocalPlan<'_>) -> Arc<Sandbox> {
    let (target, mut session) = parts(&plan, temp_dir(plan.environment));
    let sandbox_dir = &plan.settings.sandbox_dir;
    session.live_in = Some(session_records(sandbox_dir, Backend::Local.as_str()));
    Sandbox::new(SandboxParts {
        backend: Backend::Local,
        target: Arc::new(target),
        files: Arc::new(LocalFiles),
        mounts: MountMap::same_machine(),
        session,
        processes: plan.processes,
    })
}

fn parts(plan: &LocalPlan<'_>, temp_dir: String) -> (LocalTarget, SessionOptions) {
    let LocalPlan {
        settings,
        environment,
        home,
        front_end,
        launched_in,
        ..
    } = *plan;
    let variables = local_environment(environment, home);
    let find = |name: &str| {
        variables
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.clone())
    };
    // Commands have their variables from the snapshot; the shell itself needs only
    // to be found. A variable that a command unset must not come back.
    let shell_environment = ["PATH", "HOME"]
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), find(name)?)))
        .collect();
    let init_files = init_files(settings, find("HOME").as_deref());
    let target = LocalTarget::new(temp_dir, shell_environment);
    let cwd = local_directory(settings, front_end, launched_in, environment, home);
    let session = SessionOptions {
        environment: variables,
        init_files,
        ..SessionOptions::starting_in(cwd)
    };
    (target, session)
}

fn init_files(settings: &TerminalSettings, home: Option<&str>) -> Vec<String> {
    if !settings.shell_init_files.is_empty() {
        return settings.shell_init_files.clone();
    }
    match home {
        Some(home) if settings.auto_source_bashrc => START_UP_FILES
            .iter()
            .map(|name| format!("{home}/{name}"))
            .collect(),
        _ => Vec::new(),
    }
}

fn temp_dir(environment: &Environment) -> String {
    ["TMPDIR", "TMP", "TEMP"]
        .iter()
        .filter_map(|name| environment.get_non_empty(name))
        .find(|path| path.starts_with('/'))
        .map_or_else(
            || "/tmp".to_owned(),
            |path| path.trim_end_matches('/').to_owned(),
        )
}
