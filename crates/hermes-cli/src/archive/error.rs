//! What can be wrong with an archive.

use std::io;

use thiserror::Error;

#[derive(Debug, Error)]
pub(crate) enum ArchiveError {
    #[error("not a {kind} archive: {reason}")]
    NotOne { kind: &'static str, reason: String },
    #[error("the archive is damaged at `{name}`: {reason}")]
    Damaged { name: String, reason: String },
    #[error("the archive holds `{name}`, {reason}; nothing was unpacked")]
    Unsafe { name: String, reason: &'static str },
    #[error(transparent)]
    Io(#[from] io::Error),
}
