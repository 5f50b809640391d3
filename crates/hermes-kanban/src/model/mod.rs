//! What a board holds, as plain values: tasks, runs, events, comments, links,
//! attachments, subscriptions, with the names and JSON shapes that the reference
//! stores and prints. Nothing here does I/O.

mod event;
mod json;
mod records;
mod run;
mod status;
mod task;

pub use event::{Event, EventKind};
pub use json::{from_stored, pretty, python, python_sorted};
pub use records::{Attachment, Comment, ParentState, Subscription};
pub use run::{Outcome, Run, Termination, WorkerIdentity};
pub use status::{Status, WorkspaceKind};
pub use task::{PublicTask, Task, new_task_id};
