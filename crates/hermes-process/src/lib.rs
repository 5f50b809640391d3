//! Children belong to someone. Every process that Hermes starts is started here.
//!
//! - [`Command`] says what to start, with which streams, and what becomes of it
//!   when its owner dies ([`OwnerDeath`]).
//! - [`spawn`] starts it in a group or session of its own and returns a
//!   [`Process`]: a guard that owns the whole [`Tree`], not only the child.
//! - [`Tree::terminate`] ends everything that came from the child, also what
//!   called `setsid`, forked twice, cleared its environment or ignores SIGTERM,
//!   and looks again until nothing is left.
//! - [`output`] runs a short helper to its end, with a time limit and a bounded
//!   capture; [`output_blocking`] is the same for callers without a runtime.
//! - [`Identity`] names a process by pid, start time and boot, so that a recycled
//!   pid is never mistaken for it.
//!
//! Linux only for now; everything that another system would do differently lies
//! in `sys`, `proc_fs`, `mark` and `guard`.

mod command;
mod error;
mod exit;
mod guard;
mod identity;
mod mark;
mod output;
mod proc_fs;
mod process;
mod spawner;
mod stream;
mod sys;
mod tree;
mod undertaker;

pub use command::{Command, Grouping, Input, Output, OwnerDeath, WindowSize};
pub use error::{OutputError, SpawnError, Survivors};
pub use exit::Exit;
pub use identity::Identity;
pub use mark::Mark;
pub use output::{Captured, Limits, output, output_blocking};
pub use process::{Process, spawn};
pub use stream::{Reader, Resizer, Writer};
pub use tree::Tree;
