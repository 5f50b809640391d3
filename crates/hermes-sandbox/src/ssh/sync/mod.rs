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
use std::time::{Duration, Instant};

use hermes_home::Home;

use crate::target::Target;
use manifest::Sent;

/// Between two looks at the files here.
const INTERVAL: Duration = Duration::from_secs(5);

/// The files of one home on one host.
pub(super) struct Sync {
    rules: ShareRules,
    home: Home,
    state: tokio::sync::Mutex<State>,
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
            state: tokio::sync::Mutex::default(),
        }
    }

    /// Sends what changed, when it is time to look.
    pub(super) async fn forth(&self, target: &dyn Target) {
        let mut state = self.state.lock().await;
        let recent = state.looked.is_some_and(|at| at.elapsed() < INTERVAL);
        if recent && !self.rules.always {
            return;
        }
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
    }

    /// Fetches what changed over there, once, at the end.
    pub(super) async fn back(&self, target: &dyn Target) {
        let mut state = self.state.lock().await;
        let Some(sent) = state.sent.take().filter(|sent| !sent.is_empty()) else {
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
