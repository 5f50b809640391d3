//! The signals that end a chat, and whether the terminal went with one.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM and SIGHUP, one after the other.
pub struct Signals {
    terminate: Signal,
    hang_up: Signal,
    hung_up: bool,
}

impl Signals {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            hung_up: false,
        })
    }

    /// Resolves when the chat is to end.
    pub async fn arrived(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => self.hung_up = true,
        }
    }

    /// Whether the terminal was closed: nothing can be shown on it any more.
    pub fn hung_up(&self) -> bool {
        self.hung_up
    }
}
