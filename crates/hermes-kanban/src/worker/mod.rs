//! The worker's side: where it works, what it is told, how it reports.

mod assignment;
mod context_text;
mod ending;
mod finish;
mod git;
mod guidance;
mod images;
mod log;
mod session;
mod skill;
mod workspace;

pub use assignment::{Assignment, Goal};
pub use context_text::worker_context;
pub(crate) use ending::once_nobody_works;
pub use finish::{complete, remove_finished_scratch};
pub(crate) use finish::{free_name, remove_managed};
pub use guidance::GUIDANCE;
pub use images::image_references;
pub use log::{LogTail, open_log, read_log};
pub(crate) use session::lock;
pub use session::{Next, NotMine, TurnEnd, WorkerSession};
pub use skill::seed_worker_skill;
pub use workspace::{Workspace, planned_path, resolve_workspace};
