//! What a model may call: the tool contract, the registry and toolsets, the
//! built-in tools, and what wraps every call.
//!
//! This crate sees people only through an [`Asker`] and never looks down at the
//! products that bring tools of their own.

pub mod approval;
pub mod builtin;
pub mod checkpoint;
pub mod code;
pub mod coerce;
pub mod concurrency;
pub mod limits;
pub mod patch;
pub mod preview;
mod registry;
mod spill;
mod state;
pub mod terminal;
mod tool;
pub mod toolsets;

pub use builtin::TodoList;
pub use concurrency::Concurrency;
pub use registry::Registry;
pub use spill::SandboxSpill;
pub use state::{StateError, StateHandle};
pub use tool::{Asker, EventSink, RESULT_LIMIT, Reader, Tool, ToolContext, Unattended, Unheard};
