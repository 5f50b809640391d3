//! This machine as a sandbox: scripts are children of this process, files are
//! files.

mod files;
mod target;

pub use files::LocalFiles;
pub use target::LocalTarget;
