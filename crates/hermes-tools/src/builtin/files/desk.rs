//! What the file tools share: finding the file that a path means, remembering
//! what was read, and one writer per file.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use hermes_sandbox::{Contents, FileError, FileKind, Files, Glance, LineRange, SandboxPath, Stat};
use hermes_types::SessionId;
use serde_json::{Map, Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::FileLimits;
use super::policy::FilePolicy;
use super::workspace::Workspace;
use crate::tool::ToolContext;

/// More files than this are not remembered; the oldest are forgotten.
const REMEMBERED: usize = 2_000;

pub struct FileDesk {
    pub(super) workspace: Arc<dyn Workspace>,
    pub(super) policy: Arc<FilePolicy>,
    pub(super) limits: FileLimits,
    seen: Mutex<HashMap<Known, Seen>>,
    /// Who wrote a file last, and what it was then.
    writes: Mutex<HashMap<SandboxPath, (SessionId, Version)>>,
    writers: Mutex<HashMap<SandboxPath, Arc<Semaphore>>>,
}

/// A file, and the conversation that knows it: a subagent has read nothing yet, and
/// a conversation that was condensed goes on under another id.
type Known = (SessionId, SandboxPath);

/// What the model knows of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) version: Option<Version>,
    pub(super) whole: bool,
    /// The last range that was read.
    pub(super) range: Option<(usize, usize)>,
    /// How often in a row it was shown, and how often that was refused since.
    pub(super) shown: u32,
    pub(super) repeats: u32,
    /// When that was.
    pub(super) round: u64,
    pub(super) failed_edits: u32,
    order: u64,
}

impl Seen {
    /// Whether a call of this number comes next, with nothing in between.
    pub(super) fn is_followed_by(&self, round: u64) -> bool {
        round <= self.round + 1
    }
}

/// Tells two states of a file apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version {
    modified: i128,
    size: u64,
}

impl From<&Stat> for Version {
    fn from(stat: &Stat) -> Self {
        Self {
            modified: stat.modified_nanos,
            size: stat.size,
        }
    }
}

/// A file as the model named it and as it is.
pub(super) struct Located {
    session: SessionId,
    pub(super) files: Arc<dyn Files>,
    pub(super) path: SandboxPath,
    /// With every link resolved: the rules look at this one.
    pub(super) real: SandboxPath,
    pub(super) stat: Option<Stat>,
    pub(super) warning: Option<String>,
}

impl FileDesk {
    pub fn new(workspace: Arc<dyn Workspace>, policy: Arc<FilePolicy>, limits: FileLimits) -> Self {
        Self {
            workspace,
            policy,
            limits,
            seen: Mutex::default(),
            writes: Mutex::default(),
            writers: Mutex::default(),
        }
    }

    pub(super) async fn locate(
        &self,
        context: &ToolContext,
        text: &str,
    ) -> Result<Located, String> {
        Ok(self.locate_and_read(context, text, None).await?.0)
    }

    /// With what a page of a regular file needs: asking a sandbox once more would cost
    /// more than the page.
    pub(super) async fn locate_and_read(
        &self,
        context: &ToolContext,
        text: &str,
        page: Option<LineRange>,
    ) -> Result<(Located, Option<Contents>), String> {
        if text.trim().is_empty() {
            return Err("path is empty".to_owned());
        }
        if text.contains('\0') {
            return Err("path contains a NUL byte".to_owned());
        }
        let files = self.workspace.files().await?;
        let cwd = self.workspace.cwd(&context.task).await?;
        let path = match text.strip_prefix('~') {
            Some("") => self.workspace.user_home().await?,
            Some(rest) if rest.starts_with('/') => self
                .workspace
                .user_home()
                .await?
                .join(rest.trim_start_matches('/')),
            _ => cwd.join(text),
        };
        // What may not be read is not opened: it may have no end.
        let page = page.filter(|_| self.policy.refuses_read(&path).is_none());
        let glance = match page {
            None => files.look(&path).await.map(|(real, stat)| Glance {
                real,
                stat,
                contents: None,
            }),
            Some(page) => files.look_into(&path, page).await,
        };
        let glance = glance.map_err(|error| plain(&error))?;
        let outside = !text.starts_with(['/', '~']) && path.below(&cwd).is_none();
        let warning =
            outside.then(|| format!("'{text}' leads out of the working directory to {path}"));
        let located = Located {
            session: context.session.clone(),
            files,
            path,
            real: glance.real,
            stat: glance.stat,
            warning,
        };
        Ok((located, glance.contents))
    }

    /// Held while a file is read, changed and written back.
    pub(super) async fn turn_to_write(&self, path: &SandboxPath) -> Option<OwnedSemaphorePermit> {
        // Only a closed semaphore refuses, and these are never closed.
        self.writer(path).acquire_owned().await.ok()
    }

    fn writer(&self, path: &SandboxPath) -> Arc<Semaphore> {
        let mut writers = self.writers.lock().unwrap_or_else(PoisonError::into_inner);
        if writers.len() > REMEMBERED {
            writers.retain(|_, lock| Arc::strong_count(lock) > 1);
        }
        let turn = writers
            .entry(path.clone())
            .or_insert_with(|| Arc::new(Semaphore::new(1)));
        Arc::clone(turn)
    }

    pub(super) fn recall(&self, located: &Located) -> Seen {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get(&located.known()).cloned().unwrap_or_default()
    }

    pub(super) fn remember(&self, located: &Located, change: impl FnOnce(&mut Seen)) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let order = seen.values().map(|entry| entry.order).max().unwrap_or(0) + 1;
        let entry = seen.entry(located.known()).or_default();
        change(entry);
        entry.order = order;
        if seen.len() > REMEMBERED
            && let Some(oldest) = seen
                .iter()
                .min_by_key(|(_, e)| e.order)
                .map(|(p, _)| p.clone())
        {
            seen.remove(&oldest);
        }
    }

    /// What the model should know before it trusts its own picture of the file.
    pub(super) fn staleness(&self, located: &Located) -> Option<String> {
        let known = self.recall(located);
        let stat = located.stat.as_ref()?;
        let by_another =
            !self.policy.ignores_other_writers && self.written_by_another(located, &known);
        let warning = match known.version {
            Some(version) if version != Version::from(stat) && by_another => {
                "another agent wrote this file after you read it; read it again before you trust your picture of it"
            }
            Some(version) if version != Version::from(stat) => {
                "the file changed since you read it; your picture of it may be out of date"
            }
            Some(_) if !known.whole => "you have read only a part of this file",
            None if by_another => {
                "another agent wrote this file and you have not read it; read it first"
            }
            _ => return None,
        };
        Some(warning.to_owned())
    }

    /// Somebody else's write is the last that we know of, and newer than our picture.
    fn written_by_another(&self, located: &Located, known: &Seen) -> bool {
        let writes = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        writes.get(&located.real).is_some_and(|(who, version)| {
            *who != located.session && known.version != Some(*version)
        })
    }

    /// Notes the state after a write of our own.
    pub(super) async fn wrote(&self, located: &Located) {
        if let Ok(Some(stat)) = located.files.stat(&located.path).await {
            let version = Version::from(&stat);
            self.remember(located, |seen| {
                *seen = Seen {
                    version: Some(version),
                    whole: true,
                    ..Seen::default()
                };
            });
            let mut writes = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
            if writes.len() > REMEMBERED {
                writes.clear();
            }
            writes.insert(located.real.clone(), (located.session.clone(), version));
        }
    }
}

impl Located {
    fn known(&self) -> Known {
        (self.session.clone(), self.real.clone())
    }

    /// An existing regular file, or the sentence that says what it is instead.
    pub(super) fn regular(&self) -> Result<&Stat, String> {
        match &self.stat {
            None => Err(format!("File not found: {}", self.path)),
            Some(stat) => match stat.kind {
                FileKind::File => Ok(stat),
                FileKind::Directory => Err(format!(
                    "{} is a directory; list it with search_files (target 'files') or `ls`",
                    self.path
                )),
                FileKind::Link | FileKind::Other => Err(format!(
                    "{} is a device, pipe or socket, not a file",
                    self.path
                )),
            },
        }
    }
}

/// An error of the sandbox as the model reads it.
pub(super) fn plain(error: &FileError) -> String {
    error.to_string()
}

/// The result object, with what is to be warned about.
pub(super) fn with_warnings(mut result: Map<String, Value>, warnings: Vec<String>) -> Value {
    if !warnings.is_empty() {
        result.insert("_warning".to_owned(), json!(warnings.join("; ")));
    }
    Value::Object(result)
}
