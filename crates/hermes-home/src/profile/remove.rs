//! Profiles that go or get another name.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use hermes_types::ProfileName;

use super::{Profiles, active};
use crate::{Home, HomeError, ProfileError};

impl Profiles<'_> {
    /// Removes a profile with all that is in it. Its processes must be gone.
    pub fn delete(&self, name: &ProfileName) -> Result<(), ProfileError> {
        if name.is_default() {
            return Err(ProfileError::DefaultProfile { action: "deleted" });
        }
        let _lock = self.lock()?;
        let path = self.require(name)?.path().to_owned();
        if active::read(self.home).as_deref() == Some(name.as_str()) {
            self.write_active(&ProfileName::default_profile())?;
        }
        if path.is_symlink() {
            return Ok(fs::remove_file(&path).map_err(HomeError::io("remove", path))?);
        }
        // Out of the way first, so that nobody finds half a profile.
        let parent = self.home.profiles_dir();
        let grave = tempfile::Builder::new()
            .prefix(".removing-")
            .tempdir_in(&parent)
            .map_err(HomeError::io("create a directory in", &parent))?
            .keep();
        let doomed = grave.join(name.as_str());
        let removed = match fs::rename(&path, &doomed) {
            Ok(()) => remove_tree(&doomed),
            // A mount point stays where it is; empty it in place.
            Err(_) => remove_tree(&path),
        };
        let _ = fs::remove_dir(&grave);
        Ok(removed.map_err(HomeError::io("remove", path))?)
    }

    /// Gives a profile another name. Its processes must be gone.
    pub fn rename(&self, old: &ProfileName, new: &ProfileName) -> Result<Home, ProfileError> {
        if old.is_default() {
            return Err(ProfileError::DefaultProfile { action: "renamed" });
        }
        let _lock = self.lock()?;
        let from = self.require(old)?.path().to_owned();
        let to = self.check_free(new)?;
        fs::rename(&from, &to).map_err(HomeError::io("rename", from))?;
        if active::read(self.home).as_deref() == Some(old.as_str()) {
            self.write_active(new)?;
        }
        Ok(self.home_of(new))
    }
}

/// Removes a tree, also where a directory in it is not writable for its owner.
fn remove_tree(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_directories(path);
            fs::remove_dir_all(path)
        }
        result => result,
    }
}

fn open_directories(path: &Path) {
    let Ok(kind) = fs::symlink_metadata(path) else {
        return;
    };
    if !kind.is_dir() {
        return;
    }
    let bits = kind.permissions().mode() | 0o700;
    let _ = fs::set_permissions(path, Permissions::from_mode(bits));
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        open_directories(&entry.path());
    }
}
