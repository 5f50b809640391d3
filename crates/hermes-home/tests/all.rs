//! The home directory on a real file system.
#![allow(clippy::disallowed_methods, clippy::expect_used, clippy::unwrap_used)]

mod suite;
