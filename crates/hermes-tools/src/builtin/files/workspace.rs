//! What the file tools need of a sandbox.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use hermes_sandbox::{Files, MountMap, SandboxPath};

/// The side of a sandbox that deals in files. Asking for it may start the sandbox.
pub trait Workspace: Send + Sync {
    fn files(&self) -> BoxFuture<'_, Result<Arc<dyn Files>, String>>;

    /// Where relative paths of this agent begin: the directory its commands run in.
    fn cwd<'a>(&'a self, task: &'a str) -> BoxFuture<'a, Result<SandboxPath, String>>;

    /// What `~` means in the sandbox.
    fn user_home(&self) -> BoxFuture<'_, Result<SandboxPath, String>>;

    /// Which of its directories this machine can reach directly.
    fn mounts(&self) -> MountMap;

    /// Runs a short script of ours that leaves no trace in the shell's state.
    fn run_script(
        &self,
        script: String,
        timeout: Duration,
    ) -> BoxFuture<'_, Result<ScriptOutput, String>>;
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptOutput {
    pub exit_code: i32,
    /// Standard output and error, merged; at most a few megabytes.
    pub output: Vec<u8>,
    /// There was more.
    pub cut: bool,
}
