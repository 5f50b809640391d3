//! Commands of one session: a new shell for each, with the working directory,
//! exported variables, functions and aliases of the one before.
//!
//! Nothing lives between two commands but text: a snapshot file inside the target
//! that the next shell reads, and a working directory that this side remembers.
//! A command that hangs, crashes its shell or fills the disk cannot take the
//! session with it.
//!
//! - `script`: the text that surrounds a command, and the bootstrap.
//! - `trailer`: how that text reports back at the end of the output.
//! - `window`: the first and the last of any amount of output.
//! - `drive`: one command from start to end, with time limit and interrupt.
//! - `shell`: the session that ties them together.

mod drive;
mod record;
mod script;
mod shell;
mod slots;
mod trailer;
mod window;

pub use drive::{Ending, Tee};
pub use script::quote;
pub use shell::{
    Detached, RunError, RunOutcome, RunRequest, SessionOptions, ShellSession, SnapshotHold,
};
pub use window::{OutputText, Window};
