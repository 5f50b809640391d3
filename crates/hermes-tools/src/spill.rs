//! Where long results are kept: in a directory that the sandbox's own tools can
//! open, for their owner only, and not for ever.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use hermes_sandbox::session::quote;
use hermes_sandbox::target::Stdin;
use hermes_sandbox::{NewFileMode, Sandbox, SandboxPath, run_script};
use tokio::sync::OnceCell;

use crate::limits::Spill;

/// Results of this process that are kept at a time; the oldest go first.
const KEPT: usize = 200;
/// What other processes left behind is removed after a day.
const OLD_MINUTES: u32 = 24 * 60;
const PATIENCE: Duration = Duration::from_secs(20);

pub struct SandboxSpill {
    sandbox: Arc<Sandbox>,
    directory: SandboxPath,
    ready: OnceCell<()>,
    written: Mutex<VecDeque<SandboxPath>>,
}

impl SandboxSpill {
    /// `directory` as the sandbox sees it; it is made when first needed.
    pub fn new(sandbox: Arc<Sandbox>, directory: SandboxPath) -> Self {
        Self {
            sandbox,
            directory,
            ready: OnceCell::new(),
            written: Mutex::default(),
        }
    }

    /// The usual directory of a sandbox that is not this machine.
    pub fn inside(sandbox: Arc<Sandbox>) -> Option<Self> {
        let directory = format!("{}/hermes-results", sandbox.target().temp_dir());
        Some(Self::new(sandbox, SandboxPath::absolute(&directory)?))
    }

    /// Ours alone, and swept once per process. A directory that somebody else made
    /// first is refused: they could put links into it.
    async fn prepare(&self) -> Result<(), String> {
        let script = format!(
            "d={}\nmkdir -p \"${{d%/*}}\" && {{ mkdir -m 700 \"$d\" 2>/dev/null || {{ [ -d \"$d\" ] && [ ! -L \"$d\" ] && [ -O \"$d\" ] && chmod 700 \"$d\"; }}; }} || exit 1\nfind \"$d\" -type f -mmin +{OLD_MINUTES} -exec rm -f {{}} + 2>/dev/null\nexit 0",
            quote(self.directory.as_str())
        );
        let target = &**self.sandbox.target();
        let done = run_script(target, script, Stdin::Null, 4096, PATIENCE)
            .await
            .map_err(|error| error.to_string())?;
        match done.code {
            0 => Ok(()),
            _ => Err(format!("{} cannot be used", self.directory)),
        }
    }

    /// Remembers the new one; what has to go for it is returned.
    fn remember(&self, path: &SandboxPath) -> Option<SandboxPath> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.retain(|known| known != path);
        written.push_back(path.clone());
        if written.len() > KEPT {
            return written.pop_front();
        }
        None
    }
}

impl Spill for SandboxSpill {
    fn write<'a>(&'a self, name: &'a str, text: &'a str) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            self.ready.get_or_try_init(|| self.prepare()).await?;
            let path = self.directory.join(name);
            let files = self.sandbox.files();
            files
                .write(&path, text.as_bytes().to_vec(), NewFileMode::Private)
                .await
                .map_err(|error| error.to_string())?;
            if let Some(old) = self.remember(&path) {
                let _ = files.remove(&old).await;
            }
            Ok(path.to_string())
        })
    }
}
