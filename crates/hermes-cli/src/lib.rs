//! The command line: wiring, exit codes, and nothing else.
//!
//! The way of a call: [`arguments`] puts the words into the shape that clap can
//! parse, [`cli`] parses them, [`context`] decides profile and home, and
//! `commands` has one file per verb. A verb gets its parsed arguments, the
//! [`Context`] and the [`Out`]; it returns an [`Exit`] or a [`CommandError`].
//! Nobody but [`command_error`] turns an error into text or a number.
//!
//! Nothing happens before it is needed: no runtime, no directory scan, no
//! config file for verbs that ask for none.

mod archive;
pub mod arguments;
pub mod cli;
pub mod command_error;
mod commands;
pub mod context;
mod editor;
mod endpoint;
mod entry;
mod gateway_process;
pub mod logging;
pub mod man;
pub mod output;
pub mod reference;
#[cfg(test)]
mod test_support;
mod wiring;

pub use command_error::{CommandError, ErrorKind, Exit};
pub use context::Context;
pub use entry::run;
pub use output::Out;
