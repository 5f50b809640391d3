//! What an agent knows beyond one conversation: memory files and skills, in the
//! reference's formats, and the scan for instructions hidden in text.
//!
//! Everything here works on paths that are handed in and never talks to a model.

pub mod memory;
pub mod scan;
pub mod skills;
