//! `delegate_task`: work that a fresh agent does in a context of its own, while
//! this one waits. Children share budget, model and sandbox settings with their
//! parent, know nothing of its conversation, and end with it.

mod child;
mod report;
mod tool;

pub use tool::{DelegateTool, DelegationLimits};
