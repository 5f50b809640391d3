//! The binary from outside.
#![allow(clippy::disallowed_methods)]

mod suite;
