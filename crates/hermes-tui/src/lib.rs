//! The conversation in the terminal: inline, with the terminal's own scrollback.
//!
//! This crate shows [`hermes_types::TurnEvent`]s and sends inputs; it calls no
//! tool and formats no prompt. [`App`] is the whole behaviour without a terminal,
//! [`Painter`] puts it on one, [`run`] joins both with a conversation.

mod app;
mod editor;
mod error;
mod history;
mod host;
pub mod markdown;
mod paint;
mod pick;
mod run;
mod terminal;
mod theme;

pub use app::{
    App, BusyMode, Completer, Effect, PickItem, Picker, Preferences, Status, ToolLines,
    leading_picture,
};
pub use editor::{Editor, Layout};
pub use error::ChatError;
pub use history::History;
pub use host::{Call, Chat, Host, Incoming, Outcome, Switch, Then};
pub use paint::{Live, Painter, ansi};
pub use pick::{Picked, pick};
pub use run::{Beginning, Ended, Signals, run};
pub use theme::Theme;
