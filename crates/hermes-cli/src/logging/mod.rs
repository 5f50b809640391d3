//! The log files: one shape of line for both implementations, a file that rotates
//! by size and may be shared by several processes, and the layer that fills it.
//!
//! Only verbs that run an agent or a server start it. Secrets are masked before a
//! line is written; a failure to log never fails a command.

mod layer;
mod line;
mod rotating_file;
mod setup;

pub use layer::FileLayer;
pub use line::{Component, Level, Record};
pub(crate) use rotating_file::numbered;
pub use rotating_file::{Limits, RotatingFile};
pub use setup::{Role, Settings, start};
