//! The tools that need a place to run in.

use std::path::Path;
use std::sync::Arc;

use hermes_agent::prompt::Surroundings;
use hermes_sandbox::docker::{HostUser, Notify};
use hermes_sandbox::settings::{Backend, FrontEnd};
use hermes_sandbox::{Sandbox, SandboxPath, Sandboxes, SandboxesPlan};
use hermes_tools::approval::{ApprovalGate, ApprovalPolicy, ConfigAllowlist, Gate, Occasion, Yolo};
use hermes_tools::builtin::files::{
    FileLimits, FilePolicy, SandboxWorkspace, Workspace, add_file_tools,
};
use hermes_tools::checkpoint::{CheckpointSettings, CheckpointStore, Checkpoints};
use hermes_tools::code::{CodeLimits, ExecuteCodeTool, has_interpreter};
use hermes_tools::limits::Spill;
use hermes_tools::terminal::{ProcessTool, TerminalTool};
use hermes_tools::{Registry, SandboxSpill};

use crate::commands::sandbox_error;
use crate::output::clip;
use crate::{CommandError, Context};

/// The sandbox of everything that is not set apart on purpose.
const SHARED: &str = "default";

/// A place and what works in it. Several conversations of a process share one.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) sandboxes: Arc<Sandboxes>,
    pub(crate) sandbox: Arc<Sandbox>,
    /// Decides about commands, and remembers what was approved for a session.
    pub(crate) gate: Arc<ApprovalGate>,
    /// Whether dangerous commands run without a question.
    pub(crate) yolo: Yolo,
    /// What every conversation begins with.
    pub(crate) yolo_at_start: bool,
    /// Snapshots of files before they are changed, where they are wanted.
    pub(crate) checkpoints: Option<Arc<Checkpoints>>,
    /// Keeps results that are too long for the model.
    pub(super) spill: Option<Arc<dyn Spill>>,
    pub(super) tools: Registry,
    pub(super) surroundings: Surroundings,
}

impl Place {
    /// What goes on in the background when this process is gone, in a sentence.
    pub(crate) fn left_running(&self) -> Option<String> {
        let running = self.sandbox.processes().running();
        let each: Vec<String> = running
            .iter()
            .map(|process| format!("{} (`{}`)", process.id, clip(&process.command, 40)))
            .collect();
        (!each.is_empty()).then(|| {
            format!(
                "still running in the background: {}; `hermes --continue` goes on looking after it",
                each.join(", ")
            )
        })
    }
}

/// How a run wants its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) occasion: Occasion,
    pub(crate) yolo: bool,
    /// Snapshots, also where the configuration does not ask for them.
    pub(crate) checkpoints: bool,
}

/// Nothing is started: the first command does that. `notify` hears of what the
/// user should know about the container.
pub(crate) fn place(
    context: &Context,
    cwd: &Path,
    wanted: Wanted,
    notify: Notify,
) -> Result<Place, CommandError> {
    let config = context.config()?;
    let sandboxes = Sandboxes::new(SandboxesPlan {
        config: Arc::new(config.clone()),
        home: context.home.clone(),
        environment: context.environment.clone(),
        front_end: FrontEnd::Terminal,
        launched_in: Some(cwd.to_owned()),
        user: HostUser {
            uid: nix::unistd::geteuid().as_raw(),
            gid: nix::unistd::getegid().as_raw(),
        },
        clock: context.clock.clone(),
        notify,
    });
    let sandbox = sandboxes.get(SHARED).map_err(sandbox_error)?;
    let yolo = Yolo::new(wanted.yolo || context.environment.is_truthy(hermes_home::env::YOLO));
    let allowlist =
        ConfigAllowlist::read(context.home.clone(), context.environment.clone(), config)?;
    let policy = ApprovalPolicy::read(config, wanted.occasion)?;
    let gate = Arc::new(ApprovalGate::new(
        policy,
        Arc::new(allowlist),
        None,
        yolo.clone(),
    ));
    let mut tools = Registry::new();
    tools
        .add(TerminalTool::new(
            Arc::clone(&sandboxes),
            Arc::clone(&gate) as Arc<dyn Gate>,
        ))
        .add(ProcessTool::new(Arc::clone(&sandboxes)));
    let workspace: Arc<dyn Workspace> = Arc::new(SandboxWorkspace::new(Arc::clone(&sandbox)));
    add_file_tools(
        &mut tools,
        &workspace,
        &Arc::new(file_policy(context, &sandbox)),
        file_limits(context)?,
    );
    let checkpoints = checkpoints(context, &sandbox, wanted.checkpoints)?;
    if let Some(checkpoints) = &checkpoints {
        checkpoints.watch(&mut tools, &sandbox);
    }
    // Elsewhere nobody knows before the sandbox runs; there the tool says so itself.
    let variables = &sandbox.session_options().environment;
    if sandbox.backend() != Backend::Local || has_interpreter(variables) {
        let code = ExecuteCodeTool::new(
            Arc::clone(&sandboxes),
            Arc::clone(&gate) as Arc<dyn Gate>,
            CodeLimits::read(config)?,
            &tools,
        );
        tools.add(code);
    }
    let surroundings = match sandbox.backend() {
        Backend::Local => Surroundings::Host {
            system: hermes_agent::build::system_name(),
        },
        _ => Surroundings::Sandbox {
            description: sandbox.target().describe(),
        },
    };
    Ok(Place {
        spill: spill(context, &sandbox),
        checkpoints,
        sandboxes,
        sandbox,
        gate,
        yolo_at_start: yolo.is_on(),
        yolo,
        tools,
        surroundings,
    })
}

/// Only for files of this machine: others are out of git's reach.
fn checkpoints(
    context: &Context,
    sandbox: &Sandbox,
    wanted: bool,
) -> Result<Option<Arc<Checkpoints>>, CommandError> {
    let settings = CheckpointSettings::read(context.config()?)?;
    let on = (wanted || settings.enabled) && sandbox.backend() == Backend::Local;
    Ok(on.then(|| {
        Arc::new(Checkpoints::new(
            checkpoint_store(context),
            settings,
            context.home.user_home().to_owned(),
        ))
    }))
}

pub(crate) fn checkpoint_store(context: &Context) -> CheckpointStore {
    let variable = |name: &str| context.environment.get(name);
    CheckpointStore::new(
        context.home.join("checkpoints"),
        variable("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin"),
        variable(hermes_home::env::CHECKPOINT_TIMEOUT),
        context.clock.clone(),
    )
}

/// On this machine in the home, which others cannot read; elsewhere inside.
fn spill(context: &Context, sandbox: &Arc<Sandbox>) -> Option<Arc<dyn Spill>> {
    let sandbox = Arc::clone(sandbox);
    let spill = match sandbox.backend() {
        Backend::Local => {
            let directory = context.home.join("cache/results");
            SandboxSpill::new(sandbox, SandboxPath::absolute(directory.to_str()?)?)
        }
        _ => SandboxSpill::inside(sandbox)?,
    };
    Some(Arc::new(spill))
}

/// Paths of this machine mean nothing elsewhere; the rule about where to write holds
/// everywhere.
fn file_policy(context: &Context, sandbox: &Sandbox) -> FilePolicy {
    let path = |path: &Path| SandboxPath::absolute(&path.to_string_lossy());
    let everywhere = FilePolicy {
        safe_root: context
            .environment
            .get_non_empty(hermes_home::env::WRITE_SAFE_ROOT)
            .and_then(SandboxPath::absolute),
        ignores_other_writers: context
            .environment
            .get(hermes_home::env::DISABLE_FILE_STATE_GUARD)
            .is_some_and(|value| value == "1"),
        ..FilePolicy::default()
    };
    match sandbox.backend() {
        Backend::Local => FilePolicy {
            hermes_homes: [context.home.path(), context.home.root()]
                .into_iter()
                .filter_map(path)
                .collect(),
            active_home: path(context.home.path()),
            user_home: path(context.home.user_home()),
            ..everywhere
        },
        Backend::Ssh => FilePolicy {
            asks_for_home: true,
            ..everywhere
        },
        _ => FilePolicy {
            mirror: SandboxPath::absolute("/root/.hermes"),
            ..everywhere
        },
    }
}

fn file_limits(context: &Context) -> Result<FileLimits, CommandError> {
    let config = context.config()?;
    let size = |key: &str| -> Result<usize, CommandError> {
        Ok(usize::try_from(config.integer(key)?).unwrap_or(0))
    };
    Ok(FileLimits {
        max_lines: size("tool_output.max_lines")?,
        max_line_length: size("tool_output.max_line_length")?,
        max_read_chars: size("file_read_max_chars")?,
    })
}
