#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers panic like the tests themselves"
)]

mod suite;
