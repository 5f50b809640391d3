//! Real shells and real processes.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used)]

mod suite {
    mod background;
    mod docker;
    mod files;
    mod podman;
    mod session_ends;
    mod session_output;
    mod session_state;
    mod ssh;
    mod support;
}
