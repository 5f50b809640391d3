//! Where one container's files live on the host: the bind directories that both
//! programs use, and beside them our lease, lock and hint.

use std::path::{Path, PathBuf};

use super::engine::Container;
use super::labels::{self, short_hash};

/// `<sandbox_dir>/docker/<encoded key>`. Making the value touches no disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    directory: PathBuf,
}

impl Place {
    pub fn new(sandbox_dir: &Path, container_key: &str) -> Self {
        Self {
            directory: sandbox_dir.join("docker").join(encode(container_key)),
        }
    }

    /// A directory that is such a place already.
    pub fn at(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
        }
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Bound to `/root`.
    pub fn home(&self) -> PathBuf {
        self.directory.join("home")
    }

    /// Bound to `/workspace`.
    pub fn workspace(&self) -> PathBuf {
        self.directory.join("workspace")
    }

    pub fn lease(&self) -> PathBuf {
        self.directory.join("lease")
    }

    /// Of a container that belongs to one process: there may be several per key.
    pub fn private_lease(&self, name: &str) -> PathBuf {
        self.directory.join(format!("lease.{name}"))
    }

    pub fn lease_of(&self, container: &Container) -> PathBuf {
        match container.label(labels::PRIVATE) {
            Some("1") => self.private_lease(&container.name),
            _ => self.lease(),
        }
    }

    pub fn create_lock(&self) -> PathBuf {
        self.directory.join("create.lock")
    }

    pub fn state(&self) -> PathBuf {
        self.directory.join("state.json")
    }
}

/// Where the shell states of named sessions are noted.
pub fn session_records(sandbox_dir: &Path, backend: &str) -> PathBuf {
    sandbox_dir.join(backend).join("sessions")
}

/// The file of one session there.
pub fn session_file(name: &str) -> String {
    format!("{}.json", encode(name))
}

/// The key itself where it is a plain file name, as the reference has it;
/// otherwise percent-encoded, so that no key reaches outside its directory, and
/// shortened with a hash where a file name would be too long.
fn encode(key: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let mut encoded = String::with_capacity(key.len());
    for c in key.chars() {
        if plain(c) && !(encoded.is_empty() && c == '.') {
            encoded.push(c);
        } else {
            let mut buffer = [0; 4];
            for byte in c.encode_utf8(&mut buffer).bytes() {
                encoded.push_str(&format!("%{byte:02x}"));
            }
        }
    }
    if encoded.is_empty() {
        return "%".to_owned();
    }
    if encoded.len() > 120 {
        // All ASCII, so any cut is a character boundary.
        encoded.truncate(100);
        encoded.push('%');
        encoded.push_str(&short_hash(key.as_bytes()));
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn keys_never_leave_their_directory_and_never_meet() {
        assert_eq!(encode("default"), "default");
        assert_eq!(encode("task_1.0-x"), "task_1.0-x");
        assert_eq!(encode("../../etc"), "%2e.%2f..%2fetc");
        assert_eq!(encode(".."), "%2e.");
        assert_eq!(encode("a/b"), "a%2fb");
        assert_eq!(encode("ü"), "%c3%bc");
        assert_eq!(encode(""), "%");
        let one = encode(&"é".repeat(100));
        let two = encode(&"é".repeat(101));
        assert!(one.len() < 200 && two.len() < 200);
        assert_ne!(one, two);
    }
}
