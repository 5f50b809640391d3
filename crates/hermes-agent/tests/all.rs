//! Conversations against a scripted model, with a real database.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    unreachable_pub,
    reason = "a failed precondition ends the test"
)]

mod suite {
    mod answers;
    mod compression;
    mod control;
    mod delegate;
    mod endings;
    mod persistence;
    mod prompt;
    mod spend;
    mod support;
    mod titles;
    mod tools;
    mod wire;
}
