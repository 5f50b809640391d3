//! The conversation in the terminal: inline, with the terminal's own scrollback.
//!
//! This crate shows [`hermes_types::TurnEvent`]s and sends inputs; it calls no
//! tool and formats no prompt.

pub mod markdown;
mod theme;

pub use theme::Theme;
