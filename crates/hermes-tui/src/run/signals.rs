//! The signals that end a chat, and whether the terminal went with one.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM and SIGHUP, one after the other.
pub struct Signals {
    terminate: Signal,
    hang_up: Signal,
    received: Option<SignalKind>,
}

impl Signals {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            received: None,
        })
    }

    /// Resolves when the chat is to end.
    pub async fn arrived(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => self.received = Some(SignalKind::terminate()),
            _ = self.hang_up.recv() => self.received = Some(SignalKind::hangup()),
        }
    }

    /// Whether the terminal was closed: nothing can be shown on it any more.
    pub fn hung_up(&self) -> bool {
        self.received == Some(SignalKind::hangup())
    }

    /// The number of the signal that arrived.
    pub fn received(&self) -> Option<i32> {
        self.received.map(|kind| kind.as_raw_value())
    }
}
