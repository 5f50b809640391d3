//! One profile's home directory and the root that holds all profiles.

use std::path::{Path, PathBuf};

use hermes_types::ProfileName;

use crate::Environment;
use crate::env;

/// Paths of one home. Making the value touches no disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    path: PathBuf,
    root: PathBuf,
    user_home: PathBuf,
}

impl Home {
    /// Finds home and root from `HERMES_HOME` and the user's home directory.
    pub fn locate(environment: &Environment) -> Self {
        let user_home = environment
            .get_non_empty(env::USER_HOME)
            .map(PathBuf::from)
            .or_else(home_of_user_database)
            .unwrap_or_else(|| PathBuf::from("/"));
        let default_home = user_home.join(".hermes");
        let path = environment.get_non_empty(env::HOME).map_or_else(
            || default_home.clone(),
            |text| absolute(expand_tilde(text, &user_home)),
        );
        let root = root_of(&path, &default_home);
        Self {
            path,
            root,
            user_home,
        }
    }

    /// A home at a known place, for tests and for work on another profile.
    pub fn at(path: impl Into<PathBuf>, root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        Self {
            path: path.into(),
            user_home: root.clone(),
            root,
        }
    }

    /// The home of another profile under the same root.
    pub fn of_profile(&self, profile: &ProfileName) -> Self {
        let path = if profile.is_default() {
            self.root.clone()
        } else {
            self.profiles_dir().join(profile.as_str())
        };
        Self {
            path,
            root: self.root.clone(),
            user_home: self.user_home.clone(),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The home of the default profile; boards and profiles live here.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The user's own home directory (`~`).
    pub fn user_home(&self) -> &Path {
        &self.user_home
    }

    pub fn join(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.path.join(relative)
    }

    pub fn config_file(&self) -> PathBuf {
        self.join("config.yaml")
    }

    pub fn env_file(&self) -> PathBuf {
        self.join(".env")
    }

    pub fn state_db(&self) -> PathBuf {
        self.join("state.db")
    }

    pub fn logs_dir(&self) -> PathBuf {
        self.join("logs")
    }

    pub fn profiles_dir(&self) -> PathBuf {
        self.root.join("profiles")
    }

    pub fn active_profile_file(&self) -> PathBuf {
        self.root.join("active_profile")
    }

    /// `default`, the directory name under `profiles/`, or `custom`.
    pub fn profile_name(&self) -> String {
        if self.path == self.root {
            return ProfileName::DEFAULT.to_owned();
        }
        match (self.path.parent(), self.path.file_name()) {
            (Some(parent), Some(name)) if parent == self.profiles_dir() => {
                name.to_string_lossy().into_owned()
            }
            _ => "custom".to_owned(),
        }
    }

    /// `~/…` below the user's home directory, else absolute.
    pub fn display(&self, path: &Path) -> String {
        match path.strip_prefix(&self.user_home) {
            Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => path.display().to_string(),
        }
    }
}

/// For a process started without `HOME`, as some service managers do.
fn home_of_user_database() -> Option<PathBuf> {
    let user = nix::unistd::User::from_uid(nix::unistd::geteuid()).ok()??;
    Some(user.dir)
}

/// Children work in other directories; a relative home would be another for each.
fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

fn expand_tilde(text: &str, user_home: &Path) -> PathBuf {
    match text.strip_prefix("~/") {
        Some(rest) => user_home.join(rest),
        None if text == "~" => user_home.to_owned(),
        None => PathBuf::from(text),
    }
}

fn root_of(path: &Path, default_home: &Path) -> PathBuf {
    let resolve = |p: &Path| p.canonicalize().unwrap_or_else(|_| p.to_owned());
    if resolve(path).starts_with(resolve(default_home)) {
        return default_home.to_owned();
    }
    match (path.parent(), path.parent().and_then(Path::parent)) {
        (Some(parent), Some(grandparent)) if parent.ends_with("profiles") => grandparent.to_owned(),
        _ => path.to_owned(),
    }
}
