//! A session: commands one after another, or beside one another, in one state.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::drive::{Ending, Tee, drive};
use super::record::{Lasting, Record, Stamp};
use super::script::{self, Bootstrap, Dialect, Start, Tidy, Wrapped};
use super::slots::{Slot, Slots};
use super::trailer::{Nonce, Snapshot};
use super::window::OutputText;
use crate::local::leftovers::{self, PREFIX};
use crate::target::{Launch, LaunchError, Shell, Stdin, Target};

/// A snapshot that keeps vanishing is not worth a third bootstrap.
const MAX_BOOTSTRAPS: usize = 3;

/// Of the bootstrap's output, for the error message.
const BOOTSTRAP_OUTPUT: usize = 2_000;

#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// Where the first command starts; `~` is the sandbox's home.
    pub cwd: String,
    /// Set for the bootstrap only; later commands have it from the snapshot.
    pub environment: Vec<(String, String)>,
    /// Read by the bootstrap before the snapshot is taken, if they exist.
    pub init_files: Vec<String>,
    pub bootstrap_timeout: Duration,
    /// Written when the state changes, so that another process can take it up.
    pub record: Option<PathBuf>,
    /// Begin with what `record` says.
    pub resume: bool,
    /// Written while this session lives, so that another process can join it; changes
    /// that it makes are taken up with the next command.
    pub live: Option<PathBuf>,
    /// Where a sandbox keeps the `live` files of its sessions.
    pub live_in: Option<PathBuf>,
}

impl SessionOptions {
    pub fn starting_in(cwd: impl Into<String>) -> Self {
        Self {
            cwd: cwd.into(),
            environment: Vec::new(),
            init_files: Vec::new(),
            bootstrap_timeout: Duration::from_secs(30),
            record: None,
            resume: false,
            live: None,
            live_in: None,
        }
    }
}

#[derive(Clone, Debug)]
pub struct RunRequest {
    pub command: String,
    /// For this command only.
    pub workdir: Option<String>,
    pub timeout: Duration,
    pub stdin: Stdin,
    /// Exported before the command, in addition to the session's variables.
    pub exports: Vec<(String, String)>,
    pub cancel: CancellationToken,
    pub tee: Option<Tee>,
    /// Characters of output to keep.
    pub output_limit: usize,
}

impl RunRequest {
    pub fn new(command: impl Into<String>) -> Self {
        Self {
            command: command.into(),
            workdir: None,
            timeout: Duration::from_secs(180),
            stdin: Stdin::Null,
            exports: Vec::new(),
            cancel: CancellationToken::new(),
            tee: None,
            output_limit: 50_000,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOutcome {
    pub ending: Ending,
    pub output: OutputText,
    /// The session's directory after the command.
    pub cwd: String,
}

/// Why a command did not run. It had no effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Launch(#[from] LaunchError),
    #[error("a command cannot contain a NUL byte")]
    Nul,
    #[error("the shell state vanished {0} times in a row from {1}")]
    Unstable(usize, String),
    #[error("interrupted before the command was started")]
    Interrupted,
}

/// A command to be started without us.
pub struct Detached {
    pub script: String,
    pub shell: Shell,
    pub cwd: String,
    /// Keep until the script has read its snapshot.
    pub snapshot: SnapshotHold,
}

/// Keeps a snapshot file from being written anew.
pub struct SnapshotHold(#[expect(dead_code, reason = "held, not read")] Option<Arc<Slot>>);

pub struct ShellSession {
    target: Arc<dyn Target>,
    options: SessionOptions,
    slots: Arc<Slots>,
    state: Mutex<State>,
    /// One bootstrap at a time.
    bootstrapping: Semaphore,
}

struct State {
    cwd: String,
    ready: Option<Ready>,
    /// Kept only where the state is recorded.
    previous: Option<Arc<Slot>>,
    /// The record as we last wrote or read it.
    seen: Option<Stamp>,
    /// Exported before every command: what became visible after the bootstrap.
    passed_on: Vec<(String, String)>,
    /// Seen by scripts, which are started without the session's variables.
    for_scripts: Vec<(String, String)>,
    /// For the result of the next command.
    untold: Option<String>,
    /// The last snapshot could not be written, and that was told.
    keeps_nothing: bool,
}

#[derive(Clone)]
struct Ready {
    dialect: Dialect,
    /// `None`: snapshots cannot be written here, commands run without state.
    base: Option<Arc<Slot>>,
    /// For commands without state.
    plain: Shell,
}

impl State {
    fn go_on_from(&mut self, record: Record, seen: Option<Stamp>) {
        self.cwd = record.cwd;
        self.previous = record.previous.map(Slots::adopt);
        self.ready = Some(Ready {
            dialect: record.dialect,
            base: Some(Slots::adopt(record.snapshot)),
            plain: Shell::LoginBash,
        });
        self.seen = seen;
    }
}

impl ShellSession {
    pub fn new(target: Arc<dyn Target>, options: SessionOptions) -> Self {
        let id = uuid::Uuid::new_v4().simple().to_string();
        // What outlives this process on this machine lies beside its record, not where
        // nobody will ever look for it again.
        let beside = options
            .record
            .as_deref()
            .filter(|_| target.host_shell().is_some());
        let mut directory = match beside
            .and_then(|path| path.with_extension("state").to_str().map(str::to_owned))
        {
            Some(directory) => directory,
            None => format!("{}/{PREFIX}{}", target.temp_dir(), &id[..12]),
        };
        let mut state = State {
            cwd: options.cwd.clone(),
            ready: None,
            previous: None,
            // What a session of this name left behind is not this session's state.
            seen: options.live.as_deref().and_then(Stamp::of),
            passed_on: Vec::new(),
            for_scripts: Vec::new(),
            untold: None,
            keeps_nothing: false,
        };
        if let Some(path) = options.record.as_ref().filter(|_| options.resume) {
            let seen = Stamp::of(path);
            if let Some(record) = Record::read(path, &target.describe()) {
                // New snapshots lie beside the old one.
                if let Some((parent, _)) = record.snapshot.rsplit_once('/') {
                    directory = parent.to_owned();
                }
                state.go_on_from(record, seen);
            }
        }
        Self {
            slots: Slots::new(directory),
            target,
            options,
            state: Mutex::new(state),
            bootstrapping: Semaphore::new(1),
        }
    }

    pub fn target(&self) -> &Arc<dyn Target> {
        &self.target
    }

    /// Where the next command starts.
    pub fn cwd(&self) -> String {
        self.lock().cwd.clone()
    }

    /// Moves the session, as `cd` would.
    pub fn set_cwd(&self, cwd: impl Into<String>) {
        self.lock().cwd = cwd.into();
    }

    /// Lets later commands see these variables too.
    pub fn pass_on(&self, variables: impl IntoIterator<Item = (String, String)>) {
        let mut state = self.lock();
        for (name, value) in variables {
            state.passed_on.retain(|(known, _)| *known != name);
            state.passed_on.push((name, value));
        }
    }

    /// Lets scripts see these variables; commands have them already.
    pub fn pass_to_scripts(&self, variables: impl IntoIterator<Item = (String, String)>) {
        self.lock().for_scripts.extend(variables);
    }

    /// What a script sees beyond what every session begins with.
    pub fn script_variables(&self) -> Vec<(String, String)> {
        let state = self.lock();
        let all = state.passed_on.iter().chain(&state.for_scripts);
        all.cloned().collect()
    }

    fn record_path(&self) -> Option<&Path> {
        let options = &self.options;
        options.record.as_deref().or(options.live.as_deref())
    }

    /// Goes on from what another process made of this session.
    fn take_up(&self) {
        let Some(path) = self.record_path() else {
            return;
        };
        let now = Stamp::of(path);
        if now.is_none() || now == self.lock().seen {
            return;
        }
        if let Some(record) = Record::read(path, &self.target.describe()) {
            self.lock().go_on_from(record, now);
        }
    }

    /// Directory of the snapshots inside the target.
    pub fn state_directory(&self) -> &str {
        self.slots.directory()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one command. Calls may overlap; each starts in the state that the last
    /// finished one left behind.
    pub async fn run(&self, request: RunRequest) -> Result<RunOutcome, RunError> {
        if request.command.contains('\0') {
            return Err(RunError::Nul);
        }
        for _ in 0..MAX_BOOTSTRAPS {
            let work = self.attempt(&request);
            if let Some(outcome) = work.await? {
                return Ok(outcome);
            }
        }
        Err(RunError::Unstable(
            MAX_BOOTSTRAPS,
            self.slots.directory().to_owned(),
        ))
    }

    /// `None` when the snapshot was gone and the command therefore not run.
    async fn attempt(&self, request: &RunRequest) -> Result<Option<RunOutcome>, RunError> {
        self.take_up();
        let ready = self.ready(&request.cancel).await?;
        let start = match &request.workdir {
            Some(workdir) => Start::Explicit(workdir.clone()),
            None => Start::Session(self.cwd()),
        };
        let nonce = Nonce::fresh();
        let next = self.slots.claim();
        let (stale, mut exports) = {
            let state = self.lock();
            (state.previous.clone(), state.passed_on.clone())
        };
        exports.extend(request.exports.iter().cloned());
        let tidy = self.options.record.is_some().then(|| Tidy {
            stale: stale.as_ref().map(|slot| slot.path()),
        });
        let (script, shell) = match &ready.base {
            Some(base) => {
                let script = script::wrap(
                    ready.dialect,
                    &Wrapped {
                        command: &request.command,
                        start: &start,
                        snapshot: base.path(),
                        next_snapshot: next.path(),
                        exports: &exports,
                        tidy,
                        nonce: &nonce,
                    },
                );
                let shell = match ready.dialect {
                    Dialect::Bash => Shell::Bash,
                    Dialect::Sh => Shell::Sh,
                };
                (script, shell)
            }
            None => (
                script::bare(ready.dialect, &request.command, &start, &exports),
                ready.plain,
            ),
        };
        let mut launch = Launch::new(script, shell);
        launch.stdin = request.stdin.clone();
        if ready.base.is_none() {
            launch.environment.clone_from(&self.options.environment);
        }
        let running = tokio::select! {
            running = self.target.launch(launch) => running?,
            () = request.cancel.cancelled() => return Err(RunError::Interrupted),
        };
        let driven = drive(
            running,
            Some(&nonce),
            request.output_limit,
            request.timeout,
            &request.cancel,
            request.tee.as_ref(),
        )
        .await;
        if let Some(report) = &driven.report {
            if report.snapshot == Snapshot::Missing {
                self.forget(&ready);
                return Ok(None);
            }
            let changed = {
                let mut state = self.lock();
                let changed = report.snapshot == Snapshot::Changed;
                if changed {
                    if self.options.record.is_some() {
                        state.previous.clone_from(&ready.base);
                    }
                    state.ready = Some(Ready {
                        base: Some(next),
                        ..ready
                    });
                }
                // An explicit directory was for this command; so only a command that
                // moved on its own moves the session.
                match &report.cwd {
                    Some(cwd) if report.moved => {
                        state.cwd.clone_from(cwd);
                        true
                    }
                    _ => changed,
                }
            };
            if changed {
                self.write_record().await;
            }
        }
        let mut window = driven.window;
        let untold = self.untold(driven.report.as_ref().map(|report| report.snapshot));
        for note in note(&driven.ending, request.timeout)
            .into_iter()
            .chain(untold)
        {
            let lead = if window.is_empty() { "" } else { "\n" };
            window.push(format!("{lead}{note}").as_bytes());
        }
        Ok(Some(RunOutcome {
            ending: driven.ending,
            output: window.finish(),
            cwd: self.cwd(),
        }))
    }

    /// What became of the shell's state, once each time it changes for the worse.
    fn untold(&self, snapshot: Option<Snapshot>) -> Option<String> {
        let mut state = self.lock();
        let failed = snapshot == Some(Snapshot::Failed);
        if failed && !state.keeps_nothing {
            state.untold = Some(format!(
                "[The shell's state cannot be written to {}, which may be full: until it can, variables, functions and aliases that a command sets are lost]",
                self.slots.directory()
            ));
        }
        if snapshot.is_some() {
            state.keeps_nothing = failed;
        }
        state.untold.take()
    }

    /// The script of a command that shall outlive its call: in the session's state,
    /// and without a word back.
    pub async fn detached(
        &self,
        command: &str,
        workdir: Option<&str>,
    ) -> Result<Detached, RunError> {
        if command.contains('\0') {
            return Err(RunError::Nul);
        }
        self.take_up();
        let ready = self.ready(&CancellationToken::new()).await?;
        let cwd = workdir.map_or_else(|| self.cwd(), str::to_owned);
        let start = match workdir {
            Some(_) => Start::Explicit(cwd.clone()),
            None => Start::Session(cwd.clone()),
        };
        let snapshot = ready.base.as_ref().map(|base| base.path());
        let exports = self.lock().passed_on.clone();
        Ok(Detached {
            script: script::detached(ready.dialect, command, &start, snapshot, &exports),
            shell: match (&ready.base, ready.dialect) {
                (None, Dialect::Bash) => ready.plain,
                (Some(_), Dialect::Bash) => Shell::Bash,
                (_, Dialect::Sh) => Shell::Sh,
            },
            cwd,
            snapshot: SnapshotHold(ready.base),
        })
    }

    /// The snapshot this command was to read is gone: the next attempt makes one.
    fn forget(&self, ready: &Ready) {
        let mut state = self.lock();
        let same = match (&state.ready, &ready.base) {
            (
                Some(Ready {
                    base: Some(now), ..
                }),
                Some(then),
            ) => now.path() == then.path(),
            _ => false,
        };
        if same {
            state.ready = None;
        }
    }

    async fn ready(&self, cancel: &CancellationToken) -> Result<Ready, RunError> {
        if let Some(ready) = self.lock().ready.clone() {
            return Ok(ready);
        }
        let work = async {
            // Never closed, so this waits and does not fail.
            let _turn = self.bootstrapping.acquire().await;
            if let Some(ready) = self.lock().ready.clone() {
                return Ok(ready);
            }
            let ready = match self.bootstrap(Dialect::Bash).await {
                Err(RunError::Launch(LaunchError::NoShell(_))) => {
                    self.bootstrap(Dialect::Sh).await?
                }
                outcome => outcome?,
            };
            self.lock().ready = Some(ready.clone());
            self.write_record().await;
            Ok(ready)
        };
        tokio::select! {
            ready = work => ready,
            () = cancel.cancelled() => Err(RunError::Interrupted),
        }
    }

    async fn bootstrap(&self, dialect: Dialect) -> Result<Ready, RunError> {
        let nonce = Nonce::fresh();
        let slot = self.slots.claim();
        let cwd = self.cwd();
        let text = script::bootstrap(
            dialect,
            &Bootstrap {
                directory: self.slots.directory(),
                snapshot: slot.path(),
                cwd: &cwd,
                init_files: &self.options.init_files,
                nonce: &nonce,
            },
        );
        let shell = match dialect {
            Dialect::Bash => Shell::LoginBash,
            Dialect::Sh => Shell::Sh,
        };
        let mut launch = Launch::new(text, shell);
        launch.environment.clone_from(&self.options.environment);
        let running = self.target.launch(launch).await?;
        let driven = drive(
            running,
            Some(&nonce),
            BOOTSTRAP_OUTPUT,
            self.options.bootstrap_timeout,
            &CancellationToken::new(),
            None,
        )
        .await;
        if let Ending::Lost(reason) = driven.ending {
            return Err(LaunchError::Unavailable(reason).into());
        }
        let Some(report) = driven.report else {
            tracing::warn!(
                target = %self.target.describe(),
                output = %driven.window.finish().joined(),
                "no shell snapshot could be made; commands run without shared state"
            );
            let slow = matches!(driven.ending, Ending::TimedOut { .. });
            self.lock().untold = Some(match slow {
                true => format!(
                    "[The shell's start-up files took longer than {} s and are left out; variables that a command sets are not kept. `terminal.shell_init_files` and `terminal.auto_source_bashrc` say which are read]",
                    self.options.bootstrap_timeout.as_secs()
                ),
                false => format!(
                    "[No shell state can be kept in {}, which may be full or not writable: variables and directories that a command sets are lost]",
                    self.slots.directory()
                ),
            });
            return Ok(Ready {
                dialect,
                base: None,
                // What took too long once would again.
                plain: match (dialect, slow) {
                    (Dialect::Sh, _) => Shell::Sh,
                    (Dialect::Bash, true) => Shell::Bash,
                    (Dialect::Bash, false) => Shell::LoginBash,
                },
            });
        };
        // What another process may take up belongs to nobody.
        if self.target.host_shell().is_some() && self.options.record.is_none() {
            let directory = PathBuf::from(self.slots.directory());
            let _ = tokio::task::spawn_blocking(move || leftovers::claim(&directory)).await;
        }
        // A relative or `~` directory becomes what the shell made of it.
        if let Some(now) = report.cwd
            && !cwd.starts_with('/')
        {
            let mut state = self.lock();
            if state.cwd == cwd {
                state.cwd = now;
            }
        }
        Ok(Ready {
            dialect,
            base: Some(slot),
            plain: shell,
        })
    }

    async fn write_record(&self) {
        let Some(path) = self.record_path().map(Path::to_owned) else {
            return;
        };
        let lasting = match self.options.record {
            Some(_) => Lasting::BeyondUs,
            None => Lasting::WhileWeLive,
        };
        let record = {
            let state = self.lock();
            let Some(ready) = &state.ready else {
                return;
            };
            let Some(base) = &ready.base else {
                return;
            };
            Record {
                target: self.target.describe(),
                snapshot: base.path().to_owned(),
                previous: state.previous.as_ref().map(|slot| slot.path().to_owned()),
                cwd: state.cwd.clone(),
                dialect: ready.dialect,
            }
        };
        let write = move || record.write(&path, lasting).map(|()| Stamp::of(&path));
        match tokio::task::spawn_blocking(write).await {
            Ok(Ok(seen)) => self.lock().seen = seen,
            Ok(Err(error)) => tracing::warn!(%error, "cannot store the shell state"),
            Err(error) => tracing::warn!(%error, "cannot store the shell state"),
        }
    }

    /// Removes the snapshots, unless another process may take the session up.
    pub async fn close(&self) {
        if self.options.record.is_some() || self.lock().ready.take().is_none() {
            return;
        }
        if let Some(live) = &self.options.live {
            let _ = std::fs::remove_file(live);
        }
        let text = format!("rm -rf -- {}", script::quote(self.slots.directory()));
        if let Ok(running) = self.target.launch(Launch::new(text, Shell::Sh)).await {
            let _ = tokio::time::timeout(Duration::from_secs(5), running.exit).await;
        }
    }
}

fn note(ending: &Ending, limit: Duration) -> Option<String> {
    let (text, left) = match ending {
        Ending::Exited(_) => return None,
        Ending::TimedOut { left } => (
            format!("[Command timed out after {}s]", limit.as_secs()),
            left,
        ),
        Ending::Interrupted { left } => ("[Command interrupted]".to_owned(), left),
        Ending::Lost(reason) => {
            return Some(format!(
                "[{reason}. The command was started and may have had effects; it was not run again.]"
            ));
        }
    };
    Some(match left {
        Some(error) => format!("{text}\n[{error}]"),
        None => text,
    })
}
