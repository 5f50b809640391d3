//! What is wrong with tasks, and the commands that would put it right.
//!
//! Rules are pure functions over a task with its events and runs; they read and
//! never repair. A rule that finds nothing says nothing.

mod report;
mod rules;
mod thresholds;

pub use report::{Action, Diagnostic, Severity, data_line};
pub use rules::{Auxiliary, diagnose};
pub use thresholds::Thresholds;
