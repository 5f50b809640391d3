//! The home directory: where it is, what lies in it, and the only safe ways to
//! write there.
//!
//! This is the one library crate that reads the process environment, and it
//! does so once, into an [`Environment`] value that is handed on. It knows paths
//! and files, not features.

mod atomic;
mod clock;
mod creation;
pub mod env;
mod environment;
mod error;
mod home;
mod lock;
mod policy;
pub mod profile;

pub use atomic::{FileMode, write_atomic};
pub use clock::Clock;
pub use creation::DIRECTORIES;
pub use environment::Environment;
pub use error::{HomeError, ProfileError};
pub use home::Home;
pub use lock::{Lock, LockKind};
pub use policy::{FilePolicy, Managed};
