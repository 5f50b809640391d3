//! Notes that outlive a conversation: `MEMORY.md` for the agent, `USER.md` about
//! the person. Files are byte for byte what Python Hermes 0.16.0 writes, and
//! both programs may write the same home at the same time.

mod file;
mod store;

pub use file::{DELIMITER, joined, parse};
pub use store::{MemoryError, MemoryLimits, MemoryStore, Outcome, Target, Written};
