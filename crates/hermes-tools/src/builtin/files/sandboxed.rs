//! The file side of an agent's sandbox.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use hermes_sandbox::{Exit, Files, Launch, MountMap, Sandbox, SandboxPath, Shell};
use tokio::sync::OnceCell;

use super::workspace::{ScriptOutput, Workspace};

/// More output of a script of ours than this is cut.
const MAX_OUTPUT: usize = 8 << 20;
const GRACE: Duration = Duration::from_secs(1);

pub struct SandboxWorkspace {
    sandbox: Arc<Sandbox>,
    /// `$HOME` of commands; it does not change while the sandbox lives.
    home: OnceCell<SandboxPath>,
}

impl SandboxWorkspace {
    pub fn new(sandbox: Arc<Sandbox>) -> Self {
        Self {
            sandbox,
            home: OnceCell::new(),
        }
    }

    async fn ask(&self, script: &str) -> Result<SandboxPath, String> {
        let done = self
            .run_script(script.to_owned(), Duration::from_secs(20))
            .await?;
        let text = String::from_utf8_lossy(&done.output);
        SandboxPath::absolute(text.trim_end_matches('\n'))
            .ok_or_else(|| format!("the sandbox gave no usable path: {text:?}"))
    }
}

impl Workspace for SandboxWorkspace {
    fn files(&self) -> BoxFuture<'_, Result<Arc<dyn Files>, String>> {
        Box::pin(async { Ok(Arc::clone(self.sandbox.files())) })
    }

    fn cwd<'a>(&'a self, task: &'a str) -> BoxFuture<'a, Result<SandboxPath, String>> {
        Box::pin(async move {
            let cwd = self.sandbox.session(task).cwd();
            match SandboxPath::absolute(&cwd) {
                Some(path) => Ok(path),
                // Before the first command it may still be `~` or `.`.
                None if cwd == "~" => self.user_home().await,
                None => match cwd.strip_prefix("~/") {
                    Some(rest) => Ok(self.user_home().await?.join(rest)),
                    None => Ok(self.ask("pwd -P").await?.join(&cwd)),
                },
            }
        })
    }

    fn user_home(&self) -> BoxFuture<'_, Result<SandboxPath, String>> {
        Box::pin(async {
            let home = self
                .home
                .get_or_try_init(|| self.ask("printf '%s' \"$HOME\""))
                .await?;
            Ok(home.clone())
        })
    }

    fn mounts(&self) -> MountMap {
        self.sandbox.mounts().clone()
    }

    fn run_script(
        &self,
        script: String,
        timeout: Duration,
    ) -> BoxFuture<'_, Result<ScriptOutput, String>> {
        Box::pin(async move {
            let launch = Launch::new(script, Shell::Sh);
            let mut running = self
                .sandbox
                .target()
                .launch(launch)
                .await
                .map_err(|error| error.to_string())?;
            let (mut output, mut cut) = (Vec::new(), false);
            let collect = async {
                while let Some(chunk) = running.output.recv().await {
                    let room = MAX_OUTPUT.saturating_sub(output.len());
                    output.extend_from_slice(&chunk[..chunk.len().min(room)]);
                    cut |= chunk.len() > room;
                }
                running.exit.await
            };
            let exit_code = match tokio::time::timeout(timeout, collect).await {
                Ok(Exit::Code(code)) => code,
                Ok(Exit::Signal(signal)) => 128 + signal,
                Ok(Exit::Lost(reason)) => return Err(reason),
                Err(_) => {
                    running
                        .control
                        .terminate(GRACE)
                        .await
                        .map_err(|error| error.to_string())?;
                    124
                }
            };
            Ok(ScriptOutput {
                exit_code,
                output,
                cut,
            })
        })
    }
}
