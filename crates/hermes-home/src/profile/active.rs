//! The sticky choice: one line in `<root>/active_profile`, absent for the default.

use std::fs;
use std::io;

use hermes_types::ProfileName;

use super::Profiles;
use crate::{FileMode, Home, HomeError, ProfileError, write_atomic};

impl Profiles<'_> {
    /// What `active_profile` says. An undecodable or empty file says nothing.
    pub fn active(&self) -> Option<String> {
        read(self.home)
    }

    /// Makes a profile the one that is used without `-p`.
    pub fn set_active(&self, name: &ProfileName) -> Result<(), ProfileError> {
        self.require(name)?;
        let _lock = self.lock()?;
        self.write_active(name)
    }

    pub(super) fn write_active(&self, name: &ProfileName) -> Result<(), ProfileError> {
        let path = self.home.active_profile_file();
        let result = if name.is_default() {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(HomeError::io("remove", path)(error))
                }
                _ => Ok(()),
            }
        } else {
            write_atomic(&path, format!("{name}\n").as_bytes(), FileMode::Keep)
                .map_err(HomeError::io("write", path))
        };
        Ok(result?)
    }
}

pub(super) fn read(home: &Home) -> Option<String> {
    let text = fs::read_to_string(home.active_profile_file()).ok()?;
    let name = text.trim();
    (!name.is_empty() && name != ProfileName::DEFAULT).then(|| name.to_owned())
}
