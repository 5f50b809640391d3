//! The binary from outside.
#![allow(clippy::disallowed_methods, clippy::expect_used, clippy::unwrap_used)]

mod suite;
