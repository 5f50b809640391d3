//! The test kit tested: a helper that lies makes every other test lie.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "children of tests, and helpers that may panic like the tests themselves"
)]

mod suite;
