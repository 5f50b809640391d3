#![allow(
    clippy::unwrap_used,
    reason = "helpers panic like the tests themselves"
)]

mod suite;
