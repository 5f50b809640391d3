//! The crate from outside: what other crates see.
#![allow(clippy::expect_used, clippy::unwrap_used)]

mod suite;
