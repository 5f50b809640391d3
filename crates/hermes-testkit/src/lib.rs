//! What tests need and must not write twice: homes that vanish, a model server
//! that obeys a script, children that can be killed at any moment, and filters
//! that make output comparable.
//!
//! Nothing here ships. Helpers panic where a test could not go on: a helper that
//! returns an error makes every test repeat the same `unwrap`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "test support: a failed precondition must end the test where it happens"
)]

pub mod docker;
pub mod engine;
pub mod faults;
mod home;
pub mod model;
pub mod process;
mod snapshot;
pub mod ssh;
pub mod terminal;
pub mod tmux;

pub use home::TestHome;
pub use snapshot::Scrub;

use std::time::Duration;

/// How long any helper waits for an event before it calls the test failed. No
/// test spends this time unless something is broken.
pub const PATIENCE: Duration = Duration::from_secs(30);
