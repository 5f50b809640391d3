//! A host behind ssh, reached with the user's own `ssh` and its configuration.
//!
//! One connection is shared (a control socket per login, directory 0700); over it
//! run the same warm channels as in a container, so a command costs a round trip
//! and its whole tree can be ended over there.

mod login;
mod master;
mod sync;
mod target;

pub use login::{SshError, SshLogin};
pub use sync::ShareRules;
pub use target::SshTarget;
