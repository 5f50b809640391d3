//! Wrappers: `~/.local/bin/<alias>` runs `hermes -p <profile>`.
//!
//! A script is ours when it contains `hermes -p`. With a root that is not the
//! default the wrapper carries it; the reference's does not and so loses it.

use std::fs;
use std::path::{Path, PathBuf};

use hermes_types::ProfileName;

use super::RESERVED;
use crate::{Environment, FileMode, Home, HomeError, ProfileError, env, write_atomic};

/// A wrapper is two lines; anything larger is not one.
const MAX_BYTES: u64 = 4096;

#[derive(Clone, Debug)]
pub struct Wrappers {
    directory: PathBuf,
    search_path: Vec<PathBuf>,
    root: Option<PathBuf>,
}

impl Wrappers {
    pub fn new(home: &Home, environment: &Environment) -> Self {
        let default_home = home.user_home().join(".hermes");
        let search_path = environment.get(env::PATH).unwrap_or_default();
        Self {
            directory: home.user_home().join(".local/bin"),
            search_path: std::env::split_paths(search_path).collect(),
            root: (home.root() != default_home).then(|| home.root().to_owned()),
        }
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Whether a wrapper is found by its name alone.
    pub fn on_search_path(&self) -> bool {
        self.search_path.contains(&self.directory)
    }

    /// The alias of a profile: its own name if that is a wrapper for it, else the
    /// first other one.
    pub fn alias_of(&self, profile: &ProfileName) -> Option<String> {
        let own = self.directory.join(profile.as_str());
        if self.profile_of(&own).as_deref() == Some(profile.as_str()) {
            return Some(profile.to_string());
        }
        let mut others: Vec<String> = fs::read_dir(&self.directory)
            .ok()?
            .flatten()
            .filter(|entry| self.profile_of(&entry.path()).as_deref() == Some(profile.as_str()))
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        others.sort();
        others.into_iter().next()
    }

    /// Refuses names that are reserved, a verb of ours, or somebody else's command.
    pub fn check(&self, alias: &ProfileName, verbs: &[String]) -> Result<(), ProfileError> {
        let taken = |reason: String| {
            Err(ProfileError::AliasTaken {
                name: alias.to_string(),
                reason,
            })
        };
        if RESERVED.contains(&alias.as_str()) {
            return taken("the name is reserved".to_owned());
        }
        if verbs.iter().any(|verb| verb == alias.as_str()) {
            return taken(format!("`hermes {alias}` is a command"));
        }
        let own = self.directory.join(alias.as_str());
        let foreign = std::iter::once(&self.directory)
            .chain(&self.search_path)
            .map(|directory| directory.join(alias.as_str()))
            .find(|path| path.symlink_metadata().is_ok() && self.profile_of(path).is_none());
        match foreign {
            Some(path) if path == own => {
                taken(format!("{} is not a wrapper of ours", path.display()))
            }
            Some(path) => taken(format!("it would hide {}", path.display())),
            None => Ok(()),
        }
    }

    /// Writes the wrapper; call [`Wrappers::check`] first.
    pub fn create(
        &self,
        alias: &ProfileName,
        profile: &ProfileName,
    ) -> Result<PathBuf, ProfileError> {
        let path = self.directory.join(alias.as_str());
        fs::create_dir_all(&self.directory).map_err(HomeError::io("create", &self.directory))?;
        let home = self.root.as_ref().map_or_else(String::new, |root| {
            format!(
                "{}={} ",
                env::HOME,
                shell_quote(&root.display().to_string())
            )
        });
        // `env` because `exec NAME=value program` is not shell.
        let prefix = if home.is_empty() {
            String::new()
        } else {
            format!("env {home}")
        };
        let script = format!("#!/bin/sh\nexec {prefix}hermes -p {profile} \"$@\"\n");
        write_atomic(&path, script.as_bytes(), FileMode::Executable)
            .map_err(HomeError::io("write", &path))?;
        Ok(path)
    }

    /// Removes a wrapper of ours; false when there is none by that name.
    pub fn remove(&self, alias: &ProfileName) -> Result<bool, ProfileError> {
        let path = self.directory.join(alias.as_str());
        if self.profile_of(&path).is_none() {
            return Ok(false);
        }
        fs::remove_file(&path).map_err(HomeError::io("remove", path))?;
        Ok(true)
    }

    /// The profile that a wrapper of ours runs.
    pub fn target_of(&self, alias: &ProfileName) -> Option<String> {
        self.profile_of(&self.directory.join(alias.as_str()))
    }

    fn profile_of(&self, path: &Path) -> Option<String> {
        let metadata = fs::metadata(path).ok()?;
        if !metadata.is_file() || metadata.len() > MAX_BYTES {
            return None;
        }
        let text = fs::read_to_string(path).ok()?;
        let (_, rest) = text.split_once("hermes -p ")?;
        rest.split_whitespace().next().map(str::to_owned)
    }
}

fn shell_quote(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
