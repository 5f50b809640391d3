//! What a command prints: data to stdout, everything else to stderr.
//!
//! Promises: output is buffered unless a person watches; a reader that goes away
//! (`| head`) ends the command quietly; colour only on a terminal and never with
//! `NO_COLOR`; meaning is never only in colour.

pub mod human;
mod out;
mod style;
mod table;

pub use out::Out;
pub use style::Style;
pub use table::{Column, Table, clip, pad, wrap};
