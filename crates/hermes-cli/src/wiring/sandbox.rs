//! The tools that need a place to run in.

use std::path::Path;
use std::sync::Arc;

use hermes_agent::prompt::Surroundings;
use hermes_sandbox::background::{Processes, ProcessesOptions};
use hermes_sandbox::local::{LocalPlan, local_sandbox};
use hermes_sandbox::settings::{Backend, FrontEnd, TerminalSettings};
use hermes_sandbox::{Sandbox, SandboxPath};
use hermes_tools::Registry;
use hermes_tools::builtin::files::{
    FileLimits, FilePolicy, SandboxWorkspace, Workspace, add_file_tools,
};

use crate::{CommandError, Context, ErrorKind};

/// A place and what works in it. Several conversations of a process share one.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) sandbox: Arc<Sandbox>,
    pub(super) tools: Registry,
    pub(super) surroundings: Surroundings,
}

pub(crate) fn place(context: &Context, cwd: &Path) -> Result<Place, CommandError> {
    let config = context.config()?;
    let settings = TerminalSettings::read(config, &context.home)?;
    if settings.backend != Backend::Local {
        return Err(CommandError::new(
            ErrorKind::NotBuilt,
            format!(
                "conversations with `terminal.backend: {}` are not built yet",
                settings.backend.as_str()
            ),
        ));
    }
    let sandbox = local_sandbox(LocalPlan {
        settings: &settings,
        environment: config.environment(),
        home: &context.home,
        front_end: FrontEnd::Terminal,
        launched_in: Some(cwd),
        processes: Processes::new(ProcessesOptions {
            checkpoint: Some(context.home.join("processes.json")),
        }),
    });
    let workspace: Arc<dyn Workspace> = Arc::new(SandboxWorkspace::new(Arc::clone(&sandbox)));
    let mut tools = Registry::new();
    add_file_tools(
        &mut tools,
        &workspace,
        &Arc::new(file_policy(context)),
        file_limits(context)?,
    );
    Ok(Place {
        sandbox,
        tools,
        surroundings: Surroundings::Host {
            system: hermes_agent::build::system_name(),
        },
    })
}

fn file_policy(context: &Context) -> FilePolicy {
    let path = |path: &Path| SandboxPath::absolute(&path.to_string_lossy());
    FilePolicy {
        hermes_homes: [context.home.path(), context.home.root()]
            .into_iter()
            .filter_map(path)
            .collect(),
        active_home: path(context.home.path()),
        user_home: path(context.home.user_home()),
        safe_root: context
            .environment
            .get_non_empty(hermes_home::env::WRITE_SAFE_ROOT)
            .and_then(SandboxPath::absolute),
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
