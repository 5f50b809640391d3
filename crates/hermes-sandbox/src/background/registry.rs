//! All background processes of this Hermes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use tokio_util::sync::CancellationToken;

use super::checkpoint::{Checkpoint, Record};
use super::entry::{Entry, Handle, NewEntry, Owner, ProcessStatus, ProcessView};
use super::host;
use super::inside;
use super::notice::{Notice, Notices};
use crate::session::ShellSession;
use crate::target::PtySize;

/// Processes remembered; the oldest finished one makes room.
const TRACKED: usize = 64;
/// A finished process is forgotten this long after its start.
const FORGET_AFTER: Duration = Duration::from_secs(30 * 60);
/// Between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);

#[derive(Clone, Debug, Default)]
pub struct ProcessesOptions {
    /// `<home>/processes.json`; `None` remembers nothing.
    pub checkpoint: Option<PathBuf>,
}

pub struct StartRequest {
    pub session: Arc<ShellSession>,
    pub command: String,
    pub workdir: Option<String>,
    /// A terminal of this size; only where [`Processes::can_use_terminal`].
    pub terminal: Option<PtySize>,
    pub notify_on_complete: bool,
    pub watch_patterns: Vec<String>,
    pub owner: Owner,
}

impl StartRequest {
    /// A command in the session's directory, without a terminal and without notices.
    pub fn new(session: Arc<ShellSession>, command: impl Into<String>, owner: Owner) -> Self {
        Self {
            session,
            command: command.into(),
            workdir: None,
            terminal: None,
            notify_on_complete: false,
            watch_patterns: Vec::new(),
            owner,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    pub id: String,
    pub pid: Option<i32>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum WaitOutcome {
    Exited(ProcessView),
    TimedOut(ProcessView),
    Interrupted(ProcessView),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProcessError {
    #[error("No process with ID {0}")]
    NotFound(String),
    #[error("{0} background processes are running, which is the limit: end one first")]
    Full(usize),
    #[error("{0}")]
    NotStarted(String),
    #[error("process has already finished")]
    Finished,
    #[error("{0}")]
    Failed(String),
}

pub struct Processes {
    entries: Mutex<BTreeMap<String, Arc<Entry>>>,
    notices: Arc<Notices>,
    checkpoint: Option<Checkpoint>,
}

impl Processes {
    pub fn new(options: ProcessesOptions) -> Arc<Self> {
        Arc::new(Self {
            entries: Mutex::new(BTreeMap::new()),
            notices: Arc::new(Notices::default()),
            checkpoint: options.checkpoint.map(Checkpoint::new),
        })
    }

    pub(super) fn checkpoint(&self) -> Option<&Checkpoint> {
        self.checkpoint.as_ref()
    }

    pub(super) fn notices(&self) -> &Arc<Notices> {
        &self.notices
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<Entry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, id: &str, task: &str) -> Result<Arc<Entry>, ProcessError> {
        self.lock()
            .get(id)
            .filter(|entry| entry.owner.task == task)
            .cloned()
            .ok_or_else(|| ProcessError::NotFound(id.to_owned()))
    }

    /// `None` when the id is taken.
    pub(super) fn insert(&self, entry: Arc<Entry>) -> Option<Arc<Entry>> {
        let mut entries = self.lock();
        if entries.contains_key(&entry.id) {
            return None;
        }
        entries.insert(entry.id.clone(), entry.clone());
        Some(entry)
    }

    /// Forgets what is long over, and the oldest finished one when there is no room.
    fn make_room(&self) -> Result<(), ProcessError> {
        let mut entries = self.lock();
        entries.retain(|_, entry| entry.is_running() || entry.began.elapsed() < FORGET_AFTER);
        if entries.len() < TRACKED {
            return Ok(());
        }
        let oldest = entries
            .values()
            .filter(|entry| !entry.is_running())
            .min_by_key(|entry| entry.began)
            .map(|entry| entry.id.clone());
        match oldest {
            Some(id) => {
                entries.remove(&id);
                Ok(())
            }
            None => Err(ProcessError::Full(TRACKED)),
        }
    }

    /// Whether processes of this session can have a terminal.
    pub fn can_use_terminal(session: &ShellSession) -> bool {
        session.target().host_shell().is_some()
    }

    /// Starts a command and returns at once.
    pub async fn start(self: &Arc<Self>, request: StartRequest) -> Result<Started, ProcessError> {
        self.make_room()?;
        let id = format!("proc_{}", &uuid::Uuid::new_v4().simple().to_string()[..12]);
        let detached = request
            .session
            .detached(&request.command, request.workdir.as_deref())
            .await
            .map_err(|error| ProcessError::NotStarted(error.to_string()))?;
        let target = request.session.target().clone();
        let started_at = SystemTime::now();
        let mut record = Record {
            session_id: id.clone(),
            command: request.command.clone(),
            cwd: detached.cwd.clone(),
            started_at: started_at
                .duration_since(SystemTime::UNIX_EPOCH)
                .map_or(0.0, |age| age.as_secs_f64()),
            notify_on_complete: request.notify_on_complete,
            watch_patterns: request.watch_patterns.clone(),
            owner: self
                .checkpoint
                .as_ref()
                .map(|checkpoint| checkpoint.me().clone()),
            ..Record::default()
        };
        record.set_owner(&request.owner);
        let mut following = None;
        let (handle, pid) = match target.host_shell() {
            Some(shell) => {
                let log = PathBuf::from(inside::base_path(&*target, &id)).with_extension("log");
                let command = shell
                    .command(&detached.script, detached.shell)
                    .map_err(|error| ProcessError::NotStarted(error.to_string()))?
                    .env("PYTHONUNBUFFERED", "1");
                let started = host::start(command, &log, request.terminal)
                    .await
                    .map_err(ProcessError::NotStarted)?;
                let identity = started.identity().clone();
                let (handle, rest) = started.split();
                record.pid_scope = "host".to_owned();
                record.pid = Some(identity.pid);
                record.start_ticks = Some(identity.start_ticks);
                record.boot_id = Some(identity.boot_id);
                record.mark = Some(handle.tree.mark.value());
                if request.terminal.is_none() {
                    record.log = Some(log.display().to_string());
                }
                following = Some(rest);
                (Handle::Host(handle), Some(identity.pid))
            }
            None => {
                let base = inside::base_path(&*target, &id);
                let script = format!("export PYTHONUNBUFFERED=1\n{}", detached.script);
                let handle = inside::start(target.clone(), base.clone(), &script, detached.shell)
                    .await
                    .map_err(ProcessError::NotStarted)?;
                let pid = handle.pid();
                record.pid_scope = "sandbox".to_owned();
                record.pid = Some(pid);
                record.log = Some(base);
                (Handle::Inside(handle), Some(pid))
            }
        };
        let entry = Entry::new(NewEntry {
            id: id.clone(),
            command: request.command,
            cwd: detached.cwd,
            pid,
            started_at,
            owner: request.owner,
            detached: false,
            handle,
            record,
            notices: self.notices.clone(),
            notify_on_complete: request.notify_on_complete,
            watch_patterns: request.watch_patterns,
        });
        self.insert(entry.clone());
        self.write_checkpoint().await;
        match following {
            Some(following) => {
                let processes = self.clone();
                // The snapshot the script reads must not be reused before it was read.
                let snapshot = detached.snapshot;
                tokio::spawn(async move {
                    let code = following.run(&entry).await;
                    drop(snapshot);
                    processes.finished(&entry, code).await;
                });
            }
            None => self.follow_inside(entry),
        }
        Ok(Started { id, pid })
    }

    pub(super) fn follow_inside(self: &Arc<Self>, entry: Arc<Entry>) {
        let processes = self.clone();
        tokio::spawn(async move {
            if let Handle::Inside(handle) = &entry.handle {
                let code = handle.follow(&entry).await;
                processes.finished(&entry, Some(code)).await;
            }
        });
    }

    pub(super) async fn finished(&self, entry: &Arc<Entry>, code: Option<i32>) {
        if entry.finish(code) {
            self.write_checkpoint().await;
        }
    }

    pub(super) async fn write_checkpoint(&self) {
        let Some(checkpoint) = self.checkpoint.clone() else {
            return;
        };
        let ours: Vec<Record> = self
            .lock()
            .values()
            .filter(|entry| entry.is_running())
            .map(|entry| Record {
                notify_on_complete: entry.notify_on_complete.load(Ordering::SeqCst),
                watch_patterns: entry.watch_patterns(),
                owner: Some(checkpoint.me().clone()),
                ..entry.record.clone()
            })
            .collect();
        match tokio::task::spawn_blocking(move || checkpoint.write(&ours)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "cannot write processes.json"),
            Err(error) => tracing::warn!(%error, "cannot write processes.json"),
        }
    }

    /// Everything of `task`, oldest first.
    pub fn list(&self, task: &str) -> Vec<ProcessView> {
        let mut views: Vec<ProcessView> = self
            .lock()
            .values()
            .filter(|entry| entry.owner.task == task)
            .map(|entry| entry.view())
            .collect();
        views.sort_by_key(|view| view.started_at);
        views
    }

    /// Everything that runs, for whoever shuts down or looks around.
    pub fn running(&self) -> Vec<ProcessView> {
        self.lock()
            .values()
            .filter(|entry| entry.is_running())
            .map(|entry| entry.view())
            .collect()
    }

    /// How things stand. Does not count as having seen the end.
    pub async fn poll(&self, id: &str, task: &str) -> Result<ProcessView, ProcessError> {
        let entry = self.find(id, task)?;
        self.refresh(&entry).await;
        Ok(entry.view())
    }

    /// The same; who reads the log of a finished process has seen its end.
    pub async fn log(&self, id: &str, task: &str) -> Result<ProcessView, ProcessError> {
        let entry = self.find(id, task)?;
        self.refresh(&entry).await;
        if !entry.is_running() {
            entry.exit_seen.store(true, Ordering::SeqCst);
        }
        Ok(entry.view())
    }

    /// What runs elsewhere is looked at now and then; a question looks at once.
    async fn refresh(&self, entry: &Arc<Entry>) {
        if let Handle::Inside(handle) = &entry.handle
            && entry.is_running()
            && handle.refresh(entry).await.is_some()
        {
            // The follower sees it too and brings it to its end.
            handle.nudge();
            let _ = entry
                .status
                .subscribe()
                .wait_for(|status| *status != ProcessStatus::Running)
                .await;
        }
    }

    pub async fn wait(
        &self,
        id: &str,
        task: &str,
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<WaitOutcome, ProcessError> {
        let entry = self.find(id, task)?;
        let mut status = entry.status.subscribe();
        let deadline = tokio::time::Instant::now() + limit;
        if let Handle::Inside(handle) = &entry.handle {
            handle.nudge();
        }
        tokio::select! {
            biased;
            _ = status.wait_for(|status| *status != ProcessStatus::Running) => {
                entry.exit_seen.store(true, Ordering::SeqCst);
                Ok(WaitOutcome::Exited(entry.view()))
            }
            () = cancel.cancelled() => Ok(WaitOutcome::Interrupted(entry.view())),
            () = tokio::time::sleep_until(deadline) => Ok(WaitOutcome::TimedOut(entry.view())),
        }
    }

    /// Ends the whole tree. `Err(Finished)` when there is nothing to end.
    pub async fn kill(&self, id: &str, task: &str) -> Result<(), ProcessError> {
        let entry = self.find(id, task)?;
        if !entry.is_running() {
            entry.exit_seen.store(true, Ordering::SeqCst);
            return Err(ProcessError::Finished);
        }
        self.end(&entry).await
    }

    async fn end(&self, entry: &Arc<Entry>) -> Result<(), ProcessError> {
        // Who ends a process needs no notice that it ended.
        entry.exit_seen.store(true, Ordering::SeqCst);
        entry.killed.store(true, Ordering::SeqCst);
        let outcome = match &entry.handle {
            Handle::Host(handle) => handle
                .tree
                .terminate(GRACE)
                .await
                .map_err(|survivors| survivors.to_string()),
            Handle::Inside(handle) => handle.kill().await,
        };
        outcome.map_err(|error| {
            entry.exit_seen.store(false, Ordering::SeqCst);
            entry.killed.store(false, Ordering::SeqCst);
            ProcessError::Failed(error)
        })?;
        self.finished(entry, None).await;
        if let Handle::Inside(handle) = &entry.handle {
            handle.nudge();
        }
        Ok(())
    }

    pub async fn write(&self, id: &str, task: &str, bytes: Bytes) -> Result<(), ProcessError> {
        let entry = self.find(id, task)?;
        if !entry.is_running() {
            return Err(ProcessError::Finished);
        }
        match &entry.handle {
            Handle::Host(handle) => handle.write(bytes).await.map_err(|error| error.to_string()),
            Handle::Inside(handle) => handle.write(bytes).await,
        }
        .map_err(ProcessError::Failed)
    }

    /// The end of its input.
    pub async fn close_input(&self, id: &str, task: &str) -> Result<(), ProcessError> {
        let entry = self.find(id, task)?;
        if !entry.is_running() {
            return Err(ProcessError::Finished);
        }
        match &entry.handle {
            Handle::Host(handle) => handle.close().await.map_err(|error| error.to_string()),
            Handle::Inside(handle) => handle.close().await,
        }
        .map_err(ProcessError::Failed)
    }

    pub fn resize(&self, id: &str, task: &str, size: PtySize) -> Result<(), ProcessError> {
        let entry = self.find(id, task)?;
        match &entry.handle {
            Handle::Host(handle) => handle.resize(size).map_err(|error| error.to_string()),
            Handle::Inside(_) => Err("it has no terminal".to_owned()),
        }
        .map_err(ProcessError::Failed)
    }

    /// Takes the notices for whom `wanted` accepts, except of ends that the agent
    /// has seen.
    pub fn take_notices(&self, wanted: impl Fn(&Owner) -> bool) -> Vec<Notice> {
        let entries = self.lock();
        self.notices
            .take(|notice| wanted(notice.owner()))
            .into_iter()
            .filter(|notice| match notice {
                Notice::Completion { session_id, .. } => entries
                    .get(session_id)
                    .is_none_or(|entry| !entry.exit_seen.load(Ordering::SeqCst)),
                _ => true,
            })
            .collect()
    }

    /// Resolves when a notice arrives.
    pub async fn notice_arrival(&self) {
        self.notices.arrival().await;
    }

    /// Ends everything, as a gateway does when it stops. Returns what could not be
    /// ended.
    pub async fn end_all(self: &Arc<Self>) -> Vec<(String, ProcessError)> {
        let running: Vec<Arc<Entry>> = self
            .lock()
            .values()
            .filter(|entry| entry.is_running())
            .cloned()
            .collect();
        let ends = running.into_iter().map(|entry| {
            let processes = self.clone();
            async move {
                let outcome = processes.end(&entry).await;
                outcome.err().map(|error| (entry.id.clone(), error))
            }
        });
        futures_util::future::join_all(ends)
            .await
            .into_iter()
            .flatten()
            .collect()
    }
}
