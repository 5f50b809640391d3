//! Where commands run: this machine, a container, a host behind ssh.
//!
//! - [`Sandbox`] is what an agent has: sessions, files and processes in one place.
//! - [`Sandboxes`] makes them from configuration when they are needed.
//! - [`Target`] is what a backend is: it starts scripts and ends them.
//! - [`local`] is this machine; [`docker`] is the container that all processes share;
//!   [`ssh`] is a host of the user's.
//! - [`channel`] starts commands in a sandbox at the cost of a fork.
//! - [`background`] keeps processes that outlive the call that started them.
//! - [`command`] reads and rewrites the text of commands.
//! - [`session`] runs commands in a target, with state that outlives each shell.
//! - [`settings`] is the typed view of `terminal.*`.
//! - [`Files`] reads and writes bytes where the sandbox keeps them; [`MountMap`]
//!   says which host path is which sandbox path.
//!
//! The crate knows shells, containers and processes; it does not know the model,
//! nor who may run what.

pub mod background;
pub mod channel;
pub mod command;
pub mod docker;
mod files;
pub mod local;
mod path;
mod run;
mod sandbox;
mod sandboxes;
pub mod search;
pub mod session;
pub mod settings;
pub mod ssh;
pub mod target;

pub use files::{
    Contents, Entry, FileError, FileKind, Files, Glance, LineRange, MAX_PAGED, MAX_READ,
    NewFileMode, ShellFiles, Stat,
};
pub use path::{HostPath, Mount, MountMap, SandboxPath};
pub use run::{ScriptError, ScriptOutcome, run_script};
pub use sandbox::{Sandbox, SandboxParts};
pub use sandboxes::{Override, SandboxError, Sandboxes, SandboxesPlan};
pub use target::{Control, EndError, Exit, Launch, LaunchError, Running, Shell, Stdin, Target};
