//! Where boards lie on disk, which one is meant, and what is said about it.
//!
//! Boards belong to the root, never to a profile: a worker runs in a profile's
//! home and must still find the board it was sent from. Nothing here opens a
//! database.

mod metadata;
mod paths;
mod select;
mod slug;

pub use metadata::BoardMetadata;
pub use paths::{BoardPaths, Boards, RemovedBoard};
pub use select::{Pinned, Selection, pin};
pub use slug::{InvalidSlug, Slug};
