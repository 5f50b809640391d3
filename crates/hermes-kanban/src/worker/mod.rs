//! The worker's side: where it works, what it is told, how it reports.

mod context_text;
mod finish;
mod git;
mod log;
mod workspace;

pub use context_text::worker_context;
pub(crate) use finish::remove_managed;
pub use finish::{complete, remove_finished_scratch};
pub use log::{LogTail, open_log, read_log};
pub use workspace::{Workspace, resolve_workspace};
