//! Where an agent's commands run: one place, its sessions, files and processes.
//!
//! The terminal, the file tools and the code tool of an agent share one
//! [`Sandbox`]: the same container, the same working directory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::background::Processes;
use crate::docker::session_file;
use crate::files::Files;
use crate::path::{MountMap, SandboxPath};
use crate::session::{SessionOptions, ShellSession};
use crate::settings::Backend;
use crate::target::Target;

/// Sessions kept at a time; one per agent, subagents share their parent's.
const SESSIONS: usize = 1024;

pub struct SandboxParts {
    pub backend: Backend,
    pub target: Arc<dyn Target>,
    pub files: Arc<dyn Files>,
    pub mounts: MountMap,
    /// How every session of this sandbox begins.
    pub session: SessionOptions,
    pub processes: Arc<Processes>,
}

pub struct Sandbox {
    parts: SandboxParts,
    exposed: Vec<SandboxPath>,
    sessions: Mutex<HashMap<String, Arc<ShellSession>>>,
}

impl Sandbox {
    /// Touches nothing before the first command.
    pub fn new(parts: SandboxParts) -> Arc<Self> {
        Self::exposing(parts, Vec::new())
    }

    /// `exposed` are directories of the host that commands inside can change: what
    /// happens there is not undone by removing the sandbox.
    pub fn exposing(parts: SandboxParts, exposed: Vec<SandboxPath>) -> Arc<Self> {
        Arc::new(Self {
            parts,
            exposed,
            sessions: Mutex::new(HashMap::new()),
        })
    }

    pub fn backend(&self) -> Backend {
        self.parts.backend
    }

    pub fn target(&self) -> &Arc<dyn Target> {
        &self.parts.target
    }

    pub fn files(&self) -> &Arc<dyn Files> {
        &self.parts.files
    }

    pub fn mounts(&self) -> &MountMap {
        &self.parts.mounts
    }

    /// How every session of this sandbox begins.
    pub fn session_options(&self) -> &SessionOptions {
        &self.parts.session
    }

    /// Directories of the host that commands inside can change.
    pub fn exposed(&self) -> &[SandboxPath] {
        &self.exposed
    }

    pub fn processes(&self) -> &Arc<Processes> {
        &self.parts.processes
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<ShellSession>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The shell state of `task`, made when first asked for. It is kept as long as
    /// the sandbox, however long nobody uses it.
    pub fn session(&self, task: &str) -> Arc<ShellSession> {
        let mut sessions = self.lock();
        if let Some(session) = sessions.get(task) {
            return session.clone();
        }
        if sessions.len() >= SESSIONS {
            // Nobody holds these: their agents are gone.
            sessions.retain(|_, session| Arc::strong_count(session) > 1);
        }
        let mut options = self.parts.session.clone();
        options.live = options
            .live_in
            .as_ref()
            .map(|directory| directory.join(session_file(task)));
        let session = Arc::new(ShellSession::new(self.parts.target.clone(), options));
        sessions.insert(task.to_owned(), session.clone());
        session
    }

    /// Starts the session of `task` elsewhere, or moves it there.
    pub fn set_cwd(&self, task: &str, cwd: &str) {
        self.session(task).set_cwd(cwd);
    }

    /// An absolute path for what a tool of `task` calls `text`. `~` needs a home,
    /// which only local and mounted sandboxes tell without asking.
    pub fn resolve(&self, task: &str, text: &str, home: Option<&str>) -> Option<SandboxPath> {
        let text = match (text.strip_prefix('~'), home) {
            (Some(""), Some(home)) => home.to_owned(),
            (Some(rest), Some(home)) if rest.starts_with('/') => format!("{home}{rest}"),
            _ => text.to_owned(),
        };
        match SandboxPath::absolute(&text) {
            Some(path) => Some(path),
            None if text.contains('\0') => None,
            None => SandboxPath::absolute(&self.session(task).cwd()).map(|cwd| cwd.join(&text)),
        }
    }

    /// Removes what sessions left in the target. Background processes stay.
    pub async fn close(&self) {
        let sessions: Vec<Arc<ShellSession>> =
            self.lock().drain().map(|(_, session)| session).collect();
        futures_util::future::join_all(sessions.iter().map(|session| session.close())).await;
    }
}
