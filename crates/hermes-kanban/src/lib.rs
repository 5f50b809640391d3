//! Kanban: boards whose rows are the truth, a dispatcher that starts one worker
//! per task, and the worker's side of the bargain.
//!
//! - [`model`] and [`machine`] are pure: what a board holds and what may happen.
//! - [`boards`] knows directories, [`store`] knows SQL, and nobody else does.
//!
//! The file format and the claim protocol are shared with Python Hermes 0.16.0,
//! which may work on the same boards at the same time.

pub mod boards;
pub mod command;
pub mod diagnostics;
pub mod dispatch;
pub mod env;
mod error;
mod host;
pub mod machine;
pub mod model;
mod settings;
pub mod store;
pub mod worker;

pub use error::KanbanError;
pub use host::{Host, WorkerRef};
pub use settings::Settings;
