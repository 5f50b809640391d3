//! Kanban: boards whose rows are the truth, a dispatcher that starts one worker
//! per task, and the worker's side of the bargain.
//!
//! - [`model`] and [`machine`] are pure: what a board holds and what may happen.
//! - [`boards`] knows directories, [`store`] knows SQL, and nobody else does.
//! - [`dispatch`] decides what runs and starts it; [`worker`] and [`tools`] are the
//!   other end of that rope.
//! - [`command`] holds the verbs, for the terminal and for chats.
//!
//! The file format and the claim protocol are shared with Python Hermes 0.16.0,
//! which may work on the same boards at the same time.

pub mod attachments;
pub mod boards;
pub mod command;
pub mod diagnostics;
pub mod dispatch;
pub mod env;
mod error;
mod host;
pub mod machine;
pub mod model;
pub mod notify;
mod settings;
pub mod store;
pub mod tools;
pub mod triage;
pub mod worker;

pub use error::KanbanError;
pub use host::{Host, WorkerRef};
pub use settings::Settings;
