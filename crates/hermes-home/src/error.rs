//! What can go wrong in the home directory.

use std::io;
use std::path::PathBuf;

use hermes_types::{InvalidProfileName, ProfileName};

#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    #[error("{} is not a directory", path.display())]
    NotADirectory { path: PathBuf },
    #[error("cannot {action} {}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{manager} manages this installation: {} is missing and is not ours to create", path.display())]
    ManagedIncomplete { manager: String, path: PathBuf },
    #[error("{manager} manages this installation and its configuration; change it there")]
    Managed { manager: String },
}

impl HomeError {
    pub fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error(transparent)]
    Home(#[from] HomeError),
    #[error(transparent)]
    InvalidName(#[from] InvalidProfileName),
    #[error("there is no profile called \"{name}\"")]
    Unknown { name: ProfileName },
    #[error("the default profile {name:?} no longer exists (named in {})", file.display())]
    Dangling { name: String, file: PathBuf },
    #[error("a profile called \"{name}\" exists already at {}", path.display())]
    Exists { name: ProfileName, path: PathBuf },
    #[error("{name:?} is a reserved name")]
    Reserved { name: String },
    #[error("the default profile cannot be {action}")]
    DefaultProfile { action: &'static str },
    #[error("{name:?} cannot be an alias: {reason}")]
    AliasTaken { name: String, reason: String },
}
