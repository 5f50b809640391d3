//! Profiles: complete homes of their own under `<root>/profiles`, and the sticky
//! choice between them. This module knows their files, not what is in them.
//!
//! Promises: a profile is created, renamed and removed whole or not at all; two
//! processes that change profiles take turns; directories whose names cannot be a
//! profile's are not ours and are left alone.

mod active;
mod copy;
mod create;
mod remove;
mod select;
mod wrapper;

pub use copy::CopyDatabase;
pub use create::{Contents, NewProfile};
pub use select::{Selected, SelectedBy, select};
pub use wrapper::Wrappers;

use std::fs;
use std::io;
use std::path::PathBuf;

use hermes_types::ProfileName;

use crate::{FilePolicy, Home, HomeError, Lock, LockKind, ProfileError};

/// Names that would shadow a command or a built-in meaning.
pub const RESERVED: &[&str] = &["hermes", "default", "test", "tmp", "root", "sudo"];

/// The profiles of one root.
#[derive(Clone, Copy, Debug)]
pub struct Profiles<'a> {
    home: &'a Home,
    policy: &'a FilePolicy,
}

impl<'a> Profiles<'a> {
    pub fn new(home: &'a Home, policy: &'a FilePolicy) -> Self {
        Self { home, policy }
    }

    /// The home that a name stands for, whether it exists or not.
    pub fn home_of(&self, name: &ProfileName) -> Home {
        self.home.of_profile(name)
    }

    /// The default profile always exists.
    pub fn exists(&self, name: &ProfileName) -> bool {
        name.is_default() || self.home_of(name).path().is_dir()
    }

    /// The home of a profile that must exist.
    pub fn require(&self, name: &ProfileName) -> Result<Home, ProfileError> {
        if self.exists(name) {
            Ok(self.home_of(name))
        } else {
            Err(ProfileError::Unknown { name: name.clone() })
        }
    }

    /// The default profile first, then by name.
    pub fn list(&self) -> Result<Vec<ProfileName>, ProfileError> {
        let directory = self.home.profiles_dir();
        let mut names = vec![ProfileName::default_profile()];
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(names),
            Err(error) => return Err(HomeError::io("read", directory)(error).into()),
        };
        let mut named: Vec<ProfileName> = entries
            .filter_map(Result::ok)
            .filter(|entry| entry.path().is_dir())
            .filter_map(|entry| {
                let text = entry.file_name().into_string().ok()?;
                let name = ProfileName::parse(&text).ok()?;
                // `Coder` on disk is not what `coder` would resolve to.
                (name.as_str() == text && !name.is_default()).then_some(name)
            })
            .collect();
        named.sort();
        names.extend(named);
        Ok(names)
    }

    /// A name that a new profile may take.
    fn check_free(&self, name: &ProfileName) -> Result<PathBuf, ProfileError> {
        if RESERVED.contains(&name.as_str()) {
            return Err(ProfileError::Reserved {
                name: name.to_string(),
            });
        }
        let path = self.home_of(name).path().to_owned();
        if fs::symlink_metadata(&path).is_ok() {
            return Err(ProfileError::Exists {
                name: name.clone(),
                path,
            });
        }
        Ok(path)
    }

    /// Held while the set of profiles changes. The file's name is no profile's.
    fn lock(&self) -> Result<Lock, ProfileError> {
        let directory = self.home.profiles_dir();
        self.policy.create_dir(&directory)?;
        let path = directory.join(".profiles.lock");
        Ok(Lock::acquire(&path, LockKind::Exclusive).map_err(HomeError::io("lock", path))?)
    }
}
