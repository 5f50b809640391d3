//! Paths have sides: one of this machine cannot be handed to code that wants one
//! inside the sandbox. The mount map is the only bridge.

use std::fmt;
use std::path::{Path, PathBuf};

/// A path on the machine Hermes runs on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostPath(PathBuf);

impl HostPath {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

impl fmt::Display for HostPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

/// An absolute path as commands in the sandbox see it, without `.`, `..` and
/// doubled slashes. Symbolic links are not resolved.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SandboxPath(String);

impl SandboxPath {
    pub fn root() -> Self {
        Self("/".to_owned())
    }

    /// `None` when the text is not absolute or holds a NUL.
    pub fn absolute(text: &str) -> Option<Self> {
        (text.starts_with('/') && !text.contains('\0')).then(|| Self(normalise(text)))
    }

    /// Absolute text stays, relative text goes below this path.
    pub fn join(&self, text: &str) -> Self {
        if text.starts_with('/') {
            Self(normalise(text))
        } else {
            Self(normalise(&format!("{}/{text}", self.0)))
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn parent(&self) -> Option<Self> {
        let cut = self.0.rfind('/')?;
        match (cut, self.0.len()) {
            (0, 1) => None,
            (0, _) => Some(Self::root()),
            _ => Some(Self(self.0[..cut].to_owned())),
        }
    }

    pub fn file_name(&self) -> Option<&str> {
        self.0.rsplit('/').next().filter(|name| !name.is_empty())
    }

    /// What follows `base`, without a leading slash; empty when they are equal.
    pub fn below<'a>(&'a self, base: &SandboxPath) -> Option<&'a str> {
        if base.0 == "/" {
            return Some(&self.0[1..]);
        }
        match self.0.strip_prefix(&base.0)? {
            "" => Some(""),
            rest => rest.strip_prefix('/'),
        }
    }
}

impl fmt::Display for SandboxPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn normalise(text: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    format!("/{}", parts.join("/"))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    pub host: HostPath,
    pub sandbox: SandboxPath,
    pub writable: bool,
}

/// Which directories of the host appear where in the sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct MountMap {
    /// The sandbox is this machine: every path means itself.
    same: bool,
    mounts: Vec<Mount>,
}

impl MountMap {
    pub fn same_machine() -> Self {
        Self {
            same: true,
            mounts: Vec::new(),
        }
    }

    pub fn new(mounts: impl IntoIterator<Item = Mount>) -> Self {
        Self {
            same: false,
            mounts: mounts.into_iter().collect(),
        }
    }

    pub fn mounts(&self) -> &[Mount] {
        &self.mounts
    }

    /// The deepest mount that holds the path.
    pub fn mount_of(&self, path: &SandboxPath) -> Option<&Mount> {
        self.mounts
            .iter()
            .filter(|mount| path.below(&mount.sandbox).is_some())
            .max_by_key(|mount| mount.sandbox.as_str().len())
    }

    /// Where the host keeps what the sandbox calls `path`. Links inside the
    /// sandbox may lead elsewhere: callers that write must look themselves.
    pub fn to_host(&self, path: &SandboxPath) -> Option<HostPath> {
        if self.same {
            return Some(HostPath::new(path.as_str()));
        }
        let mount = self.mount_of(path)?;
        let rest = path.below(&mount.sandbox)?;
        Some(if rest.is_empty() {
            mount.host.clone()
        } else {
            HostPath::new(mount.host.as_path().join(rest))
        })
    }

    /// Where the sandbox sees what the host calls `path`.
    pub fn to_sandbox(&self, path: &HostPath) -> Option<SandboxPath> {
        if self.same {
            return SandboxPath::absolute(path.as_path().to_str()?);
        }
        let candidate = |mount: &Mount| -> Option<SandboxPath> {
            let rest = path.as_path().strip_prefix(mount.host.as_path()).ok()?;
            let seen = mount.sandbox.join(rest.to_str()?);
            // A deeper mount may hide this place.
            (self.mount_of(&seen)? == mount).then_some(seen)
        };
        self.mounts
            .iter()
            .filter_map(|mount| Some((mount.host.as_path().as_os_str().len(), candidate(mount)?)))
            .max_by_key(|(depth, _)| *depth)
            .map(|(_, seen)| seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn map() -> MountMap {
        let mount = |host: &str, sandbox: &str| Mount {
            host: HostPath::new(host),
            sandbox: SandboxPath::absolute(sandbox).unwrap(),
            writable: true,
        };
        MountMap::new([
            mount("/home/u/project", "/workspace"),
            mount("/var/sandboxes/home", "/root"),
            mount("/home/u/.hermes/skills", "/root/.hermes/skills"),
        ])
    }

    fn inside(text: &str) -> SandboxPath {
        SandboxPath::absolute(text).unwrap()
    }

    #[test]
    fn paths_are_normalised() {
        assert_eq!(inside("//a/./b/../c/").as_str(), "/a/c");
        assert_eq!(inside("/../..").as_str(), "/");
        assert_eq!(inside("/a").join("../b/c").as_str(), "/b/c");
        assert_eq!(inside("/a").join("/x").as_str(), "/x");
        assert_eq!(inside("/a/b").parent(), Some(inside("/a")));
        assert_eq!(inside("/a").parent(), Some(SandboxPath::root()));
        assert_eq!(SandboxPath::root().parent(), None);
        assert_eq!(SandboxPath::absolute("a/b"), None);
        assert_eq!(SandboxPath::absolute("/a\0b"), None);
    }

    #[test]
    fn the_deepest_mount_decides() {
        let host = |text: &str| map().to_host(&inside(text)).map(|path| path.to_string());
        assert_eq!(
            host("/workspace/src/a.rs").unwrap(),
            "/home/u/project/src/a.rs"
        );
        assert_eq!(
            host("/root/.hermes/skills/x").unwrap(),
            "/home/u/.hermes/skills/x"
        );
        assert_eq!(
            host("/root/.hermes/other").unwrap(),
            "/var/sandboxes/home/.hermes/other"
        );
        assert_eq!(host("/workspace2"), None);
        assert_eq!(host("/etc/passwd"), None);
    }

    #[test]
    fn a_host_path_below_a_hidden_place_is_not_visible() {
        let seen = |text: &str| {
            map()
                .to_sandbox(&HostPath::new(text))
                .map(|path| path.to_string())
        };
        assert_eq!(seen("/home/u/project").unwrap(), "/workspace");
        assert_eq!(
            seen("/home/u/.hermes/skills/a").unwrap(),
            "/root/.hermes/skills/a"
        );
        assert_eq!(seen("/var/sandboxes/home/.hermes/skills/a"), None);
        assert_eq!(seen("/home/u"), None);
    }

    #[test]
    fn locally_every_path_means_itself() {
        let same = MountMap::same_machine();
        assert_eq!(same.to_host(&inside("/x/y")), Some(HostPath::new("/x/y")));
        assert_eq!(
            same.to_sandbox(&HostPath::new("/x/y")),
            Some(inside("/x/y"))
        );
    }
}
