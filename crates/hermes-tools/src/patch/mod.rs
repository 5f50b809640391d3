//! Editing text by quoting it: find the quoted lines, replace them, or say why
//! not. Pure; reading and writing files is the tools' business.
//!
//! Models quote with small errors: other indentation, curly quotes, a lost
//! blank. Those are forgiven when exactly one place can be meant. A place that
//! differs in a word or a number is never "close enough": it is refused and
//! shown.

mod apply;
mod find;
mod indent;
mod lines;
mod replace;
mod similarity;
mod v4a;

#[cfg(test)]
mod tests;

pub use apply::{Content, FileChange, PatchError, apply};
pub use find::Strategy;
pub use replace::{Edit, EditError, Scope, replace};
pub use similarity::ratio;
pub use v4a::{Hunk, HunkLine, Operation, ParseError, parse};
