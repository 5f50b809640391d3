//! Commands as text: what a shell would make of them, as far as we must know.
//!
//! Pure code. [`tokens`] cuts a command the way a shell does, [`rewrite`] makes the
//! two changes we ever make to a command, [`inspect`] answers questions about one.

pub mod inspect;
mod lexer;
pub mod rewrite;

pub use lexer::{Token, TokenKind, tokens};
