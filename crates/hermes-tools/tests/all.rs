//! Tools over real sandboxes.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used)]

mod suite {
    mod approval;
    mod code;
    mod odd_files;
    mod process;
    mod support;
    mod terminal;
}
