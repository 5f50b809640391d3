//! Takes the snapshots: stands in front of the tools that change files.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use hermes_sandbox::Sandbox;
use hermes_types::{SessionId, ToolOutput, ToolSpec};
use serde_json::Value;

use super::error::CheckpointError;
use super::project::project_root;
use super::settings::CheckpointSettings;
use super::snapshot::Skipped;
use super::store::CheckpointStore;
use super::trigger::{Change, change};
use crate::concurrency::Concurrency;
use crate::registry::Registry;
use crate::tool::{Tool, ToolContext};

const WATCHED: &[&str] = &["write_file", "patch", "terminal"];

/// What stands between a conversation's tools and its files on this machine.
pub struct Checkpoints {
    pub store: CheckpointStore,
    pub settings: CheckpointSettings,
    user_home: PathBuf,
    /// Projects that the calls of one answer were looked after for.
    done: Mutex<Option<Round>>,
    looked: AtomicBool,
    warned: AtomicBool,
}

struct Round {
    session: SessionId,
    number: u64,
    projects: HashSet<PathBuf>,
}

impl Checkpoints {
    pub fn new(store: CheckpointStore, settings: CheckpointSettings, user_home: PathBuf) -> Self {
        Self {
            store,
            settings,
            user_home,
            done: Mutex::default(),
            looked: AtomicBool::new(false),
            warned: AtomicBool::new(false),
        }
    }

    /// The project that `/rollback` speaks of when people are in `directory`.
    pub fn project_of(&self, directory: &Path) -> PathBuf {
        project(directory, &self.user_home).unwrap_or_else(|| directory.to_owned())
    }

    pub fn user_home(&self) -> &Path {
        &self.user_home
    }

    /// Puts itself in front of the tools that change files in `sandbox`.
    pub fn watch(self: &Arc<Self>, tools: &mut Registry, sandbox: &Arc<Sandbox>) {
        for name in WATCHED {
            if let Some(inner) = tools.get(name).cloned() {
                tools.add(Watched {
                    inner,
                    checkpoints: Arc::clone(self),
                    sandbox: Arc::clone(sandbox),
                });
            }
        }
    }

    /// Once per project for all calls of one answer.
    fn is_new(&self, context: &ToolContext, project: &Path) -> bool {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        match done.as_mut() {
            Some(round) if round.session == context.session && round.number == context.round => {
                round.projects.insert(project.to_owned())
            }
            _ => {
                *done = Some(Round {
                    session: context.session.clone(),
                    number: context.round,
                    projects: HashSet::from([project.to_owned()]),
                });
                true
            }
        }
    }

    async fn take(&self, context: &ToolContext, change: Change) {
        for directory in &change.directories {
            let Some(project) = project(directory, &self.user_home) else {
                continue;
            };
            if !self.is_new(context, &project) {
                continue;
            }
            let taken = self
                .store
                .snapshot(&project, &self.user_home, &change.reason, &self.settings)
                .await;
            match taken {
                Ok(Ok(commit)) => {
                    tracing::debug!(project = %project.display(), commit, "checkpoint taken");
                    self.look_after_the_store().await;
                }
                Ok(Err(Skipped::TooManyFiles)) => {
                    tracing::warn!(project = %project.display(), "too many files for a checkpoint");
                }
                Ok(Err(_)) => {}
                Err(error) => self.complain(&project, &error),
            }
        }
    }

    async fn look_after_the_store(&self) {
        let due =
            !self.looked.swap(true, Ordering::Relaxed) && self.store.prune_is_due(&self.settings);
        let kept_small = match due {
            true => self.store.prune(&(&self.settings).into()).await.map(drop),
            false => self.store.fit_if_needed(&self.settings).await,
        };
        if let Err(error) = kept_small {
            tracing::warn!(%error, "the checkpoint store was not tidied");
        }
    }

    /// The same trouble is told once.
    fn complain(&self, project: &Path, error: &CheckpointError) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(%error, project = %project.display(), "no checkpoint was taken");
        }
    }
}

/// The project of a directory that may not exist yet, with its links resolved.
fn project(directory: &Path, user_home: &Path) -> Option<PathBuf> {
    let existing = directory.ancestors().find(|path| path.is_dir())?;
    let real = existing.canonicalize().ok()?;
    let home = user_home
        .canonicalize()
        .unwrap_or_else(|_| user_home.to_owned());
    Some(project_root(&real, &home))
}

struct Watched {
    inner: Arc<dyn Tool>,
    checkpoints: Arc<Checkpoints>,
    sandbox: Arc<Sandbox>,
}

impl Tool for Watched {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn spec(&self) -> ToolSpec {
        self.inner.spec()
    }

    fn call<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let coming = change(
                self.inner.name(),
                &arguments,
                &context.task,
                &self.sandbox,
                &self.checkpoints.user_home,
            );
            if let Some(coming) = coming {
                tokio::select! {
                    () = self.checkpoints.take(context, coming) => {}
                    () = context.cancel.cancelled() => {}
                }
            }
            self.inner.call(context, arguments).await
        })
    }

    fn concurrency(&self, arguments: &Value) -> Concurrency {
        self.inner.concurrency(arguments)
    }

    fn result_limit(&self) -> Option<usize> {
        self.inner.result_limit()
    }

    fn preview(&self, arguments: &Value) -> String {
        self.inner.preview(arguments)
    }
}
