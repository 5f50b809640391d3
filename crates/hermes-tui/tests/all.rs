//! The loop of the chat, in a real terminal.
#![allow(clippy::disallowed_methods, clippy::expect_used, clippy::unwrap_used)]

mod suite;
