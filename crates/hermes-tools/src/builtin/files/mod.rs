//! The tools that read, write, edit and search files where the sandbox keeps
//! them. Facts about a file come from the environment that holds it, never from
//! a path of the same name on the host.

mod desk;
mod lint;
mod patch;
mod patch_files;
mod policy;
mod read;
mod sandboxed;
mod search;
mod search_script;
mod workspace;
mod write;

pub use desk::FileDesk;
pub use patch::PatchTool;
pub use policy::FilePolicy;
pub use read::ReadFileTool;
pub use sandboxed::SandboxWorkspace;
pub use search::SearchFilesTool;
pub use workspace::{ScriptOutput, Workspace};
pub use write::WriteFileTool;

use std::sync::Arc;

use crate::registry::Registry;

/// How much the model gets to see at once (`tool_output.*`, `file_read_max_chars`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileLimits {
    pub max_lines: usize,
    pub max_line_length: usize,
    pub max_read_chars: usize,
}

impl Default for FileLimits {
    fn default() -> Self {
        Self {
            max_lines: 2_000,
            max_line_length: 2_000,
            max_read_chars: 100_000,
        }
    }
}

/// Adds the four file tools; they share one desk.
pub fn add_file_tools(
    registry: &mut Registry,
    workspace: &Arc<dyn Workspace>,
    policy: &Arc<FilePolicy>,
    limits: FileLimits,
) {
    let desk = Arc::new(FileDesk::new(
        Arc::clone(workspace),
        Arc::clone(policy),
        limits,
    ));
    registry
        .add(ReadFileTool::new(Arc::clone(&desk)))
        .add(WriteFileTool::new(Arc::clone(&desk)))
        .add(PatchTool::new(Arc::clone(&desk)))
        .add(SearchFilesTool::new(desk));
}

#[cfg(test)]
mod tests;
