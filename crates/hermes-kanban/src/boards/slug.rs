//! Names of boards.

use std::fmt;

use thiserror::Error;

/// Trimmed, lower case, `[a-z0-9][a-z0-9_-]{0,63}`: safe as a directory name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slug(String);

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "invalid board slug '{text}': must be 1-64 chars, lowercase alphanumerics / hyphens / underscores, not starting with '-' or '_'"
)]
pub struct InvalidSlug {
    pub text: String,
}

impl Slug {
    pub const DEFAULT: &'static str = "default";

    pub fn parse(text: &str) -> Result<Self, InvalidSlug> {
        let slug = text.trim().to_lowercase();
        let mut bytes = slug.bytes();
        let head = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let ok = bytes.next().is_some_and(head)
            && bytes.all(|b| head(b) || b == b'-' || b == b'_')
            && slug.len() <= 64;
        if ok {
            Ok(Self(slug))
        } else {
            Err(InvalidSlug {
                text: text.to_owned(),
            })
        }
    }

    pub fn default_board() -> Self {
        Self(Self::DEFAULT.to_owned())
    }

    pub fn is_default(&self) -> bool {
        self.0 == Self::DEFAULT
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `site-redesign` → `Site Redesign`.
    pub fn title(&self) -> String {
        self.0
            .split(['-', '_'])
            .filter(|word| !word.is_empty())
            .map(|word| {
                let mut letters = word.chars();
                letters
                    .next()
                    .map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
                    .unwrap_or_default()
            })
            .collect::<Vec<_>>()
            .join(" ")
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_cannot_leave_their_directory() {
        for bad in [
            "",
            "zz/../x",
            "..",
            "_archived",
            "-a",
            "a b",
            "é",
            &"x".repeat(65),
        ] {
            assert!(Slug::parse(bad).is_err(), "{bad:?} was accepted");
        }
        assert_eq!(
            Slug::parse(" Site-Redesign ").unwrap().as_str(),
            "site-redesign"
        );
        assert_eq!(Slug::parse("a-b_c").unwrap().title(), "A B C");
    }
}
