//! `terminal` and `process`: commands in the sandbox, in the foreground and in the
//! background.
//!
//! The execution itself is `hermes-sandbox`'s. Here is what a model sees of it:
//! arguments and their limits, guards, who may run what, and the shape of results.

mod ansi;
mod background;
mod foreground;
mod process;
mod sudo;
mod tool;

pub use ansi::strip_ansi;
pub use process::ProcessTool;
pub use tool::TerminalTool;
