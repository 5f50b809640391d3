//! This machine as a sandbox: scripts are children of this process, files are
//! files.

mod files;
pub(crate) mod leftovers;
mod sandbox;
mod target;

pub use files::LocalFiles;
pub use sandbox::{LocalPlan, local_sandbox};
pub use target::LocalTarget;
