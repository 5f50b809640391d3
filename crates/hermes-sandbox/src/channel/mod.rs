//! The warm channel: commands in a sandbox at the cost of a fork.
//!
//! A [`Pool`] keeps resident shells (`resident.sh`) inside one sandbox, opened by
//! one exec or login each, and starts every command through one of them. It asks
//! nothing of the image but a POSIX shell. What it promises:
//!
//! - a command is started at most once, and a failure before its start is told
//!   apart from a loss after it ([`Fault`] against [`CallExit::Lost`]);
//! - output of two calls never meets, whatever they print (`filter.rs`);
//! - memory stays bounded: output waits inside the sandbox while its reader is slow;
//! - ending a call ends its whole tree inside, and is verified (`warden.rs`);
//! - commands of an owner that died are ended, background processes are not.
//!
//! It knows nothing of docker or ssh: an [`Opener`] brings the [`Wire`].

mod call;
mod filter;
mod launch;
mod link;
mod pool;
mod request;
mod warden;
mod wire;

pub use call::{Call, CallControl, CallExit};
pub(crate) use launch::{request, running};
pub(crate) use link::is_resident;
pub use link::{Fault, Tools, resident_command};
pub(crate) use pool::fresh_mark;
pub use pool::{Mended, Opener, Pool, Rights};
pub use request::{CallInput, CallRequest, quote};
pub use warden::TerminateError;
pub(crate) use warden::sweep_script;
pub(crate) use wire::poll_read;
pub use wire::{Frame, Frames, Wire};
