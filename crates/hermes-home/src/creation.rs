//! The home on first use: the directory, what belongs in it, and a persona file.
//!
//! Promises: whatever exists stays as it is, unknown files are not looked at, and
//! calling it twice changes nothing. The reference reads a home made here without
//! complaint.

use std::fs;
use std::path::Path;

use crate::{FileMode, FilePolicy, Home, HomeError, write_atomic};

/// Directories that every home has.
pub const DIRECTORIES: &[&str] = &[
    "cron",
    "sessions",
    "logs",
    "logs/curator",
    "memories",
    "pairing",
    "hooks",
    "image_cache",
    "audio_cache",
    "skills",
];

/// What a managed installation must bring with it.
const MANAGED_DIRECTORIES: &[&str] = &["cron", "sessions", "logs", "memories"];

const DEFAULT_SOUL: &str = include_str!("default_soul.md");

impl Home {
    /// Makes sure that the home is there and complete.
    pub fn ensure(&self, policy: &FilePolicy) -> Result<(), HomeError> {
        if let Some(managed) = policy.managed() {
            for name in MANAGED_DIRECTORIES {
                let path = self.join(name);
                if !path.is_dir() {
                    return Err(HomeError::ManagedIncomplete {
                        manager: managed.manager.clone(),
                        path,
                    });
                }
            }
        } else {
            policy.create_dir(self.path())?;
            for name in DIRECTORIES {
                policy.create_dir(&self.join(name))?;
            }
        }
        write_default_soul(self.path(), policy)
    }

    /// Directories of a complete home that are missing here.
    pub fn missing_directories(&self) -> Vec<&'static str> {
        DIRECTORIES
            .iter()
            .copied()
            .filter(|name| !self.join(name).is_dir())
            .collect()
    }

    /// Takes group and others out of the modes of the home and of the files that
    /// hold secrets, where the machine allows it; names what it changed.
    pub fn tighten(&self, policy: &FilePolicy) -> Result<Vec<String>, HomeError> {
        let mut changed = Vec::new();
        let secret = ["config.yaml", ".env", "auth.json"].map(|name| (self.join(name), 0o600));
        for (path, mode) in [(self.path().to_owned(), policy.directory_mode())]
            .into_iter()
            .chain(secret)
        {
            if path.exists()
                && policy
                    .tighten(&path, mode)
                    .map_err(HomeError::io("protect", &path))?
            {
                changed.push(self.display(&path));
            }
        }
        Ok(changed)
    }
}

pub(crate) fn write_default_soul(home: &Path, policy: &FilePolicy) -> Result<(), HomeError> {
    let path = home.join("SOUL.md");
    if fs::symlink_metadata(&path).is_ok() {
        return Ok(());
    }
    write_atomic(&path, DEFAULT_SOUL.as_bytes(), FileMode::KeepOrPrivate)
        .map_err(HomeError::io("write", &path))?;
    policy.adopt(&path);
    Ok(())
}
