//! What of the home a host gets to see, and what comes back from it.
//!
//! Credential files, skills and caches lie under `~/.hermes` over there, as they lie
//! in the home here. Before a command, at most every few seconds, what changed here
//! is sent in one stream; when the sandbox is closed, what changed there is fetched
//! (`terminal.ssh_sync_back`), but never credential files and never anything outside
//! of those directories. A host remembers what it was sent, so that the next process
//! sends only the difference. Trouble with files never fails a command.

mod archive;
mod back;
mod files;
mod forth;
mod manifest;

pub use files::ShareRules;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hermes_home::Home;
use tokio::sync::Semaphore;

use crate::target::Target;
use manifest::Sent;

/// Between two looks at the files here.
const INTERVAL: Duration = Duration::from_secs(5);

/// The files of one home on one host.
pub(super) struct Sync {
    rules: ShareRules,
    home: Home,
    state: Mutex<State>,
    /// One at a time; others wait until the files are there.
    turn: Semaphore,
}

#[derive(Default)]
struct State {
    /// What the host has from us; `None` before it was asked.
    sent: Option<BTreeMap<String, Sent>>,
    looked: Option<Instant>,
    warned: bool,
}

impl Sync {
    pub(super) fn new(home: Home, rules: ShareRules) -> Self {
        Self {
            rules,
            home,
            state: Mutex::default(),
            turn: Semaphore::new(1),
        }
    }

    /// Sends what changed, when it is time to look.
    pub(super) async fn forth(&self, target: &dyn Target) {
        // Never closed, so this waits and does not fail.
        let _turn = self.turn.acquire().await;
        if self.looked_recently() && !self.rules.always {
            return;
        }
        let mut state = std::mem::take(&mut *self.state());
        let sent = self.send(target, &mut state).await;
        state.looked = Some(Instant::now());
        match sent {
            Ok(()) => state.warned = false,
            // Told once; tried again with the next look.
            Err(reason) if !state.warned => {
                tracing::warn!(host = target.describe(), reason, "files were not sent");
                state.warned = true;
            }
            Err(_) => {}
        }
        *self.state() = state;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn looked_recently(&self) -> bool {
        let looked = self.state().looked;
        looked.is_some_and(|at| at.elapsed() < INTERVAL)
    }

    /// Fetches what changed over there, once, at the end.
    pub(super) async fn back(&self, target: &dyn Target) {
        let _turn = self.turn.acquire().await;
        let sent = self.state().sent.take();
        let Some(sent) = sent.filter(|sent| !sent.is_empty()) else {
            return;
        };
        if !self.rules.back {
            return;
        }
        match self.fetch(target, &sent).await {
            Ok(changed) if changed.is_empty() => {}
            Ok(changed) => {
                let files = changed.join(", ");
                tracing::info!(host = target.describe(), files, "files came back");
            }
            Err(reason) => {
                tracing::warn!(host = target.describe(), reason, "files were not fetched");
            }
        }
    }
}
