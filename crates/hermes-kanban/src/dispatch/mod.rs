//! Deciding what runs next.

mod guard;
mod presence;
pub mod profiles;

pub use guard::names_a_pull_request;
pub use presence::is_someone_dispatching;
