//! The home directory: where it is, what lies in it, and the only safe ways to
//! write there.
//!
//! This is the one library crate that reads the process environment, and it
//! does so once, into an [`Environment`] value that is handed on. It knows paths
//! and files, not features.

mod atomic;
mod clock;
pub mod env;
mod environment;
mod home;
mod lock;

pub use atomic::{FileMode, write_atomic};
pub use clock::Clock;
pub use environment::Environment;
pub use home::Home;
pub use lock::{Lock, LockKind};
