//! Modes and owners of what we create, decided once per process.
//!
//! - On an ordinary machine directories are 0700 (or `HERMES_HOME_MODE`) and
//!   secret files 0600.
//! - In a container existing modes are left alone, because volumes are shared
//!   between users of several containers.
//! - When a package manager owns the installation nothing is chmodded and config
//!   is not ours to write.
//!
//! `/` and first-level directories are never chmodded, whatever the home is set to.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown, lchown};
use std::path::Path;

use crate::{Environment, FileMode, Home, HomeError, env};

/// Who installed us, when that is a package manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Managed {
    pub manager: String,
}

impl Managed {
    fn detect(environment: &Environment, home: &Home) -> Option<Self> {
        let named = |manager: &str| {
            Some(Self {
                manager: manager.to_owned(),
            })
        };
        match environment.get_non_empty(env::MANAGED) {
            Some(value) => match value.to_ascii_lowercase().as_str() {
                "0" | "false" | "no" | "off" => None,
                "1" | "true" | "yes" | "on" | "nix" | "nixos" => named("NixOS"),
                "brew" | "homebrew" => named("Homebrew"),
                _ => named(value),
            },
            None if home.join(".managed").exists() => named("NixOS"),
            None => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePolicy {
    managed: Option<Managed>,
    in_container: bool,
    directory_mode: u32,
    uid: Option<u32>,
    gid: Option<u32>,
}

impl FilePolicy {
    /// Looks at the variables and, for what they leave open, at the machine.
    pub fn of(environment: &Environment, home: &Home) -> Self {
        let number = |name| {
            environment
                .get_non_empty(name)
                .and_then(|text| text.parse().ok())
        };
        Self {
            managed: Managed::detect(environment, home),
            in_container: in_container(environment),
            directory_mode: environment
                .get_non_empty(env::HOME_MODE)
                .and_then(|text| u32::from_str_radix(text, 8).ok())
                .filter(|mode| *mode <= 0o7777)
                .unwrap_or(0o700),
            uid: number(env::UID),
            gid: number(env::GID),
        }
    }

    pub fn managed(&self) -> Option<&Managed> {
        self.managed.as_ref()
    }

    pub fn in_container(&self) -> bool {
        self.in_container
    }

    /// For every writer of `config.yaml` and `.env`, before it touches anything.
    pub fn refuse_if_managed(&self) -> Result<(), HomeError> {
        match &self.managed {
            Some(Managed { manager }) => Err(HomeError::Managed {
                manager: manager.clone(),
            }),
            None => Ok(()),
        }
    }

    /// The mode that a file with secrets in it is written with.
    pub fn secret_file(&self) -> FileMode {
        if self.in_container || self.managed.is_some() {
            FileMode::KeepOrPrivate
        } else {
            FileMode::Private
        }
    }

    /// The mode bits of a log file that we create.
    pub fn log_file_bits(&self) -> u32 {
        if self.managed.is_some() { 0o660 } else { 0o600 }
    }

    /// Creates a directory and its parents; one that exists is left as it is.
    pub fn create_dir(&self, path: &Path) -> Result<(), HomeError> {
        if path.is_dir() {
            return Ok(());
        }
        if path.symlink_metadata().is_ok() {
            return Err(HomeError::NotADirectory {
                path: path.to_owned(),
            });
        }
        if let Some(parent) = path.parent() {
            self.create_dir(parent)?;
        }
        match fs::DirBuilder::new().mode(self.directory_mode).create(path) {
            Ok(()) => {}
            // Another process was first.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {
                return Ok(());
            }
            Err(error) => return Err(HomeError::io("create", path)(error)),
        }
        self.adopt(path);
        if may_chmod(path) {
            // The umask may have taken bits that were asked for. A file system
            // without modes is no reason to fail.
            let _ = fs::set_permissions(path, Permissions::from_mode(self.directory_mode));
        }
        Ok(())
    }

    /// Gives what we created to `HERMES_UID`/`HERMES_GID`; failure is ignored
    /// because only root may do so.
    pub fn adopt(&self, path: &Path) {
        if self.uid.is_some() || self.gid.is_some() {
            let _ = chown(path, self.uid, self.gid);
        }
    }

    /// The same for everything below a directory.
    pub(crate) fn adopt_tree(&self, path: &Path) {
        if self.uid.is_none() && self.gid.is_none() {
            return;
        }
        let _ = lchown(path, self.uid, self.gid);
        if path.is_symlink() {
            return;
        }
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            self.adopt_tree(&entry.path());
        }
    }

    /// Takes group and others out of the modes of the home and of a secret file.
    pub(crate) fn tighten(&self, path: &Path, mode: u32) -> io::Result<bool> {
        if self.in_container || self.managed.is_some() || !may_chmod(path) {
            return Ok(false);
        }
        let bits = fs::metadata(path)?.permissions().mode() & 0o7777;
        if bits & !mode == 0 {
            return Ok(false);
        }
        fs::set_permissions(path, Permissions::from_mode(bits & mode))?;
        Ok(true)
    }

    pub fn directory_mode(&self) -> u32 {
        self.directory_mode
    }
}

/// A mis-set home once made whole hosts unusable: `/` and `/etc` keep their modes.
pub(crate) fn may_chmod(path: &Path) -> bool {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real.is_absolute() && real.components().count() > 2
}

fn in_container(environment: &Environment) -> bool {
    [env::CONTAINER, env::SKIP_CHMOD]
        .iter()
        .any(|name| environment.get_non_empty(name).is_some())
        || Path::new("/.dockerenv").exists()
        || fs::read_to_string("/proc/1/cgroup").is_ok_and(|text| {
            ["docker", "lxc", "kubepods"]
                .iter()
                .any(|word| text.contains(word))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn policy(variables: &[(&str, &str)]) -> FilePolicy {
        let environment: Environment = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        FilePolicy::of(&environment, &Home::at("/nowhere", "/nowhere"))
    }

    #[test]
    fn the_package_manager_is_named() {
        let manager = |value: &str| policy(&[(env::MANAGED, value)]).managed.map(|m| m.manager);
        assert_eq!(manager("1").as_deref(), Some("NixOS"));
        assert_eq!(manager("NIX").as_deref(), Some("NixOS"));
        assert_eq!(manager("brew").as_deref(), Some("Homebrew"));
        assert_eq!(manager("Guix").as_deref(), Some("Guix"));
        assert_eq!(manager("0"), None);
        assert_eq!(manager(" "), None);
    }

    #[test]
    fn a_mode_that_is_not_octal_is_not_used() {
        assert_eq!(policy(&[(env::HOME_MODE, "0750")]).directory_mode, 0o750);
        assert_eq!(policy(&[(env::HOME_MODE, "rwx")]).directory_mode, 0o700);
        assert_eq!(policy(&[(env::HOME_MODE, "99")]).directory_mode, 0o700);
        assert_eq!(policy(&[(env::HOME_MODE, "77777")]).directory_mode, 0o700);
    }

    #[test]
    fn the_root_and_first_level_directories_keep_their_modes() {
        assert!(!may_chmod(Path::new("/")));
        assert!(!may_chmod(Path::new("/opt")));
        assert!(!may_chmod(Path::new("/usr/..")));
        assert!(!may_chmod(Path::new("relative")));
        assert!(may_chmod(Path::new("/opt/data")));
    }
}
