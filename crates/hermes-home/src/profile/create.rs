//! A new profile, built beside the others and then moved into place.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use hermes_types::ProfileName;
use tempfile::{Builder, TempDir};

use super::Profiles;
use super::copy::{CopyDatabase, copy_entry, copy_home};
use crate::creation::write_default_soul;
use crate::{Home, HomeError, ProfileError};

const DIRECTORIES: &[&str] = &[
    "memories",
    "sessions",
    "skills",
    "skins",
    "logs",
    "plans",
    "workspace",
    "cron",
    "home",
];

/// What `--clone` takes along, besides `skills/`.
const CLONED: &[&str] = &[
    "config.yaml",
    ".env",
    "SOUL.md",
    "memories/MEMORY.md",
    "memories/USER.md",
];

/// What a new profile starts with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    Empty,
    /// Settings, keys, persona, memory and skills of this home.
    Settings(Home),
    /// Everything of this home but the state of running processes.
    Everything(Home),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewProfile {
    pub name: ProfileName,
    pub contents: Contents,
    /// False writes the marker that keeps bundled skills away.
    pub bundled_skills: bool,
}

impl Profiles<'_> {
    /// Creates a profile; a failure leaves nothing behind.
    pub fn create(
        &self,
        new: &NewProfile,
        copy_database: CopyDatabase<'_>,
    ) -> Result<Home, ProfileError> {
        let _lock = self.lock()?;
        let target = self.check_free(&new.name)?;
        let staging = self.staging()?;
        self.fill(staging.path(), new, copy_database)?;
        self.place(staging.path(), &target)?;
        Ok(self.home_of(&new.name))
    }

    /// A directory beside the profiles, gone when dropped. Its name cannot be a profile's.
    pub fn staging(&self) -> Result<TempDir, ProfileError> {
        let parent = self.home.profiles_dir();
        self.policy.create_dir(&parent)?;
        Ok(Builder::new()
            .prefix(".creating-")
            .tempdir_in(&parent)
            .map_err(HomeError::io("create a directory in", &parent))?)
    }

    /// Makes a profile of a directory below [`Profiles::staging`], with what every
    /// profile has added to it.
    pub fn adopt(&self, name: &ProfileName, staged: &Path) -> Result<Home, ProfileError> {
        if name.is_default() {
            return Err(ProfileError::DefaultProfile { action: "imported" });
        }
        let _lock = self.lock()?;
        let target = self.check_free(name)?;
        self.complete(staged)?;
        self.place(staged, &target)?;
        Ok(self.home_of(name))
    }

    fn place(&self, staged: &Path, target: &Path) -> Result<(), ProfileError> {
        let mode = Permissions::from_mode(self.policy.directory_mode());
        fs::set_permissions(staged, mode).map_err(HomeError::io("protect", staged))?;
        self.policy.adopt_tree(staged);
        fs::rename(staged, target).map_err(HomeError::io("create", target))?;
        Ok(())
    }

    fn fill(
        &self,
        target: &Path,
        new: &NewProfile,
        copy_database: CopyDatabase<'_>,
    ) -> Result<(), ProfileError> {
        match &new.contents {
            Contents::Empty => {}
            Contents::Settings(source) => {
                clone_settings(source.path(), target, copy_database)
                    .map_err(HomeError::io("copy", source.path()))?;
            }
            Contents::Everything(source) => {
                let is_root = source.path() == source.root();
                copy_home(source.path(), target, is_root, copy_database)
                    .map_err(HomeError::io("copy", source.path()))?;
            }
        }
        if !new.bundled_skills {
            let marker = target.join(".no-bundled-skills");
            fs::write(&marker, "").map_err(HomeError::io("write", &marker))?;
        }
        self.complete(target)
    }

    fn complete(&self, target: &Path) -> Result<(), ProfileError> {
        for name in DIRECTORIES {
            self.policy.create_dir(&target.join(name))?;
        }
        let env_file = target.join(".env");
        if env_file.is_file() {
            fs::set_permissions(&env_file, Permissions::from_mode(0o600))
                .map_err(HomeError::io("protect", &env_file))?;
        }
        write_default_soul(target, self.policy)?;
        Ok(())
    }
}

fn clone_settings(from: &Path, to: &Path, copy_database: CopyDatabase<'_>) -> io::Result<()> {
    for name in CLONED {
        // Links are followed: two profiles must not share one config file.
        if let Ok(real) = from.join(name).canonicalize()
            && real.is_file()
        {
            let target = to.join(name);
            if let Some(parent) = target.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::copy(real, target)?;
        }
    }
    let skills = from.join("skills");
    if skills.is_dir() {
        copy_entry(&skills.canonicalize()?, &to.join("skills"), copy_database)?;
    }
    Ok(())
}
