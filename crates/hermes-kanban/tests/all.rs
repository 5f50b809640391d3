//! Everything in one binary.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests fail by panicking, and their helpers too"
)]

mod suite;
