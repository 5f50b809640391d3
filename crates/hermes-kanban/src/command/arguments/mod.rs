//! What can be typed.

mod boards;
mod running;
mod tasks;
mod verbs;

pub(super) use boards::{BoardsArgs, BoardsVerb};
pub(super) use running::*;
pub(super) use tasks::*;
pub(super) use verbs::SHORT_HELP;
pub use verbs::{Args, Verb};
pub(super) use verbs::{JsonArgs, TaskArgs};
