//! From what went wrong to what may be tried: faults as they are seen, and their
//! classification by the table that decides retries, rotation, fallback and
//! compression.

mod classify;
mod fault;
mod limits;
mod retry_after;
mod words;

pub use classify::{Conversation, classify};
pub(crate) use classify::{RefusedParameter, refused_parameter, says_quota_is_used_up};
pub use fault::{Broken, Fault};
pub use retry_after::retry_after;
