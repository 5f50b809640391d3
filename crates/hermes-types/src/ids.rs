//! Ids as types, so that a session cannot be handed to code that wants a task.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
    };
}

id!(
    /// A conversation in `state.db`.
    SessionId
);
id!(
    /// A card on a kanban board.
    TaskId
);
id!(
    /// What a container engine calls one of its containers.
    ContainerId
);

/// The name of a profile, already normalised: lower case, `[a-z0-9][a-z0-9_-]{0,63}`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ProfileName(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid profile name {name:?}: use lower-case letters, digits, `-` and `_`, at most 64, starting with a letter or digit"
)]
pub struct InvalidProfileName {
    pub name: String,
}

impl ProfileName {
    pub const DEFAULT: &'static str = "default";

    /// Trims and lower-cases, then checks the pattern.
    pub fn parse(text: &str) -> Result<Self, InvalidProfileName> {
        let name = text.trim().to_lowercase();
        let mut bytes = name.bytes();
        let head_ok = bytes
            .next()
            .is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        let tail_ok =
            bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_');
        if head_ok && tail_ok && name.len() <= 64 {
            Ok(Self(name))
        } else {
            Err(InvalidProfileName {
                name: text.to_owned(),
            })
        }
    }

    pub fn default_profile() -> Self {
        Self(Self::DEFAULT.to_owned())
    }

    pub fn is_default(&self) -> bool {
        self.0 == Self::DEFAULT
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProfileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profile_names_are_normalised() {
        assert_eq!(ProfileName::parse(" Coder ").unwrap().as_str(), "coder");
        assert!(ProfileName::parse("Default").unwrap().is_default());
    }

    #[test]
    fn profile_names_with_path_characters_are_refused() {
        for bad in [
            "",
            "..",
            "a/b",
            "a.b",
            "-a",
            "_a",
            "é",
            "a b",
            &"x".repeat(65),
        ] {
            assert!(ProfileName::parse(bad).is_err(), "{bad:?} was accepted");
        }
    }
}
