//! All integration tests of the crate in one binary.
#![allow(clippy::disallowed_methods, clippy::expect_used, clippy::unwrap_used)]

mod suite;
