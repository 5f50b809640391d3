//! Moments that one side reaches and the other waits for, without sleeping.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use tokio::sync::watch;

use crate::PATIENCE;

/// A number that only grows; plain threads and async tasks can wait for it.
#[derive(Clone, Debug)]
pub(super) struct Counter(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    value: Mutex<usize>,
    grown: Condvar,
    watch: watch::Sender<usize>,
}

impl Counter {
    pub(super) fn new() -> Self {
        Self(Arc::new(Inner {
            value: Mutex::new(0),
            grown: Condvar::new(),
            watch: watch::Sender::new(0),
        }))
    }

    pub(super) fn increment(&self) {
        let mut value = self.0.value.lock().unwrap();
        *value += 1;
        self.0.watch.send_replace(*value);
        self.0.grown.notify_all();
    }

    /// Blocks the thread. Panics when the number is not reached in time.
    pub(super) fn wait(&self, at_least: usize, what: &str) {
        let deadline = Instant::now() + PATIENCE;
        let mut value = self.0.value.lock().unwrap();
        while *value < at_least {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "waited in vain for {what}");
            value = self.0.grown.wait_timeout(value, left).unwrap().0;
        }
    }

    pub(super) async fn reached(&self, at_least: usize, what: &str) {
        let mut receiver = self.0.watch.subscribe();
        let waiting = receiver.wait_for(|value| *value >= at_least);
        let outcome = tokio::time::timeout(PATIENCE, waiting).await;
        assert!(outcome.is_ok(), "waited in vain for {what}");
    }

    /// Waits as long as it takes; the server's side of a gate.
    async fn reached_some_day(&self, at_least: usize) {
        let mut receiver = self.0.watch.subscribe();
        // The sender lives as long as `self`.
        let _ = receiver.wait_for(|value| *value >= at_least).await;
    }
}

/// Holds an answer back until the test releases it.
#[derive(Clone, Debug)]
pub struct Gate {
    arrived: Counter,
    released: Counter,
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

impl Gate {
    pub fn new() -> Self {
        Self {
            arrived: Counter::new(),
            released: Counter::new(),
        }
    }

    /// Lets every answer pass that waits here, now and later.
    pub fn release(&self) {
        self.released.increment();
    }

    /// Blocks until an answer waits here.
    pub fn wait_reached(&self) {
        self.arrived.wait(1, "an answer to reach the gate");
    }

    /// Resolves when an answer waits here.
    pub async fn reached(&self) {
        self.arrived.reached(1, "an answer to reach the gate").await;
    }

    pub(super) async fn pass(&self) {
        self.arrived.increment();
        self.released.reached_some_day(1).await;
    }
}
