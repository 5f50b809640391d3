//! Deciding what runs next.

mod guard;

pub use guard::names_a_pull_request;
