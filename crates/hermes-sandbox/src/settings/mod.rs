//! The typed view of `terminal.*`, and what follows from it.
//!
//! [`TerminalSettings`] reads every key once; a value that does not fit is an error
//! that names key, value and origin, never a default. [`directory`] decides where
//! commands start, [`environment`] what they see.

pub mod directory;
pub mod environment;
mod terminal;
mod withheld;

pub use directory::FrontEnd;
pub use terminal::{Backend, SshKeys, TerminalSettings};
