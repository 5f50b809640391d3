//! Background processes that a person or a model asked for: started at once,
//! watched while they run, remembered when we are gone.
//!
//! - `registry`: [`Processes`], all of them in this process, and what can be asked.
//! - `host` starts them on this machine, `inside` within another target. Both write
//!   their output to a file where they run, so that they outlive us and are found
//!   again with their output.
//! - `follow` tells when such a file grows, `buffer` keeps the end of the output.
//! - `watch` decides which lines are worth a notice, `notice` holds the notices.
//! - `checkpoint` is `processes.json`, shared with the reference.

mod buffer;
mod checkpoint;
mod entry;
mod follow;
mod host;
mod inside;
mod notice;
mod recover;
mod registry;
mod watch;

pub use entry::{Owner, ProcessStatus, ProcessView};
pub use notice::Notice;
pub use registry::{ProcessError, Processes, ProcessesOptions, StartRequest, Started, WaitOutcome};
