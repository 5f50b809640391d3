//! Snapshots of a project's files before the agent changes them, and the way back.
//!
//! One bare git repository in the home, `checkpoints/store`, shared with Python
//! Hermes: per project a ref `refs/hermes/<hash>`, an index `indexes/<hash>` and
//! `projects/<hash>.json`. The user's own git settings, repositories and hooks are
//! never touched. A snapshot never fails or delays a tool for long: what goes wrong
//! is logged and the tool runs. Files inside containers and on other hosts are not
//! covered.

mod error;
mod git;
mod history;
mod project;
mod prune;
mod restore;
mod settings;
mod snapshot;
mod store;
mod trigger;
mod watch;

#[cfg(test)]
mod tests;

pub use error::CheckpointError;
pub use history::Checkpoint;
pub use project::project_root;
pub use prune::{PruneRules, Pruned};
pub use restore::{Leftovers, Restored};
pub use settings::CheckpointSettings;
pub use snapshot::Skipped;
pub use store::{CheckpointStore, ProjectRow, Sizes};
pub use watch::Checkpoints;
