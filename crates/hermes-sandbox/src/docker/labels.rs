//! Every label that a container of ours can carry, and how values become labels.
//!
//! The first three are the identity that Python Hermes 0.16.0 writes and looks
//! for too; the rest are ours and invisible to it. A sanitised value is for
//! labels only: it is never read back as the name it came from.

use std::path::Path;

use sha2::{Digest, Sha256};

/// `1` on every container of a Hermes.
pub const AGENT: &str = "hermes-agent";
/// The container key, sanitised.
pub const TASK: &str = "hermes-task-id";
/// The profile that created the container, sanitised.
pub const PROFILE: &str = "hermes-profile";
/// Which home created it: two homes may have profiles of one name.
pub const HOME: &str = "hermes-home";
/// Hash of the settings it was created with.
pub const SPEC: &str = "hermes-spec";
/// `1` when it belongs to one process and nobody may adopt it.
pub const PRIVATE: &str = "hermes-private";

const VALUE_LIMIT: usize = 63;

/// A value fit for a label: `[A-Za-z0-9_.-]`, one `_` for every other character,
/// at most 63; `unknown` for nothing.
pub fn sanitise(value: &str) -> String {
    if value.is_empty() {
        return "unknown".to_owned();
    }
    value
        .chars()
        .take(VALUE_LIMIT)
        .map(|c| match c {
            'A'..='Z' | 'a'..='z' | '0'..='9' | '_' | '.' | '-' => c,
            _ => '_',
        })
        .collect()
}

/// The first 16 hex digits of a SHA-256.
pub(crate) fn short_hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Who a container is for. Equal identities share one container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Sanitised container key.
    pub task: String,
    /// Sanitised profile name.
    pub profile: String,
    /// Hash of the canonical home path.
    pub home: String,
}

impl Identity {
    pub fn new(container_key: &str, profile: &str, home: &Path) -> Self {
        let canonical = home.canonicalize().unwrap_or_else(|_| home.to_owned());
        Self {
            task: sanitise(container_key),
            profile: sanitise(profile),
            home: short_hash(canonical.as_os_str().as_encoded_bytes()),
        }
    }

    /// The three labels that both programs search by.
    pub fn shared(&self) -> [(&'static str, &str); 3] {
        [
            (AGENT, "1"),
            (TASK, self.task.as_str()),
            (PROFILE, self.profile.as_str()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn values_become_labels_as_in_the_reference() {
        let long = "x".repeat(100);
        let vectors = [
            ("plain-name_1.0", "plain-name_1.0"),
            ("with/slash", "with_slash"),
            ("with:colon", "with_colon"),
            ("emoji-😀-here", "emoji-_-here"),
            ("", "unknown"),
            ("///", "___"),
            ("task/with:weird*chars", "task_with_weird_chars"),
            (long.as_str(), &long[..63]),
        ];
        for (value, label) in vectors {
            assert_eq!(sanitise(value), label);
        }
    }

    #[test]
    fn two_homes_with_one_profile_name_are_two_identities() {
        let one = Identity::new("default", "builder", Path::new("/srv/a"));
        let two = Identity::new("default", "builder", Path::new("/srv/b"));
        assert_eq!(one.shared(), two.shared());
        assert_ne!(one.home, two.home);
        assert_eq!(one.home.len(), 16);
    }
}
