//! What is looked for, in lines and in names.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    #[error("{0}")]
    Pattern(String),
    #[error("{0}")]
    Glob(String),
}

/// A regular expression that a line matches or does not.
#[derive(Clone, Debug)]
pub struct LinePattern(pub(super) RegexMatcher);

impl LinePattern {
    pub fn new(text: &str) -> Result<Self, SearchError> {
        // One line at a time: a line break can match nowhere, which is said.
        let build = |text: &str| {
            RegexMatcherBuilder::new()
                .line_terminator(Some(b'\n'))
                .build(text)
        };
        // The engine puts a bracket behind it. With `(?x)` that may be within a comment,
        // which ends with the line; without, a line break is refused.
        let matcher = build(text)
            .or_else(|error| build(&format!("{text}\n")).map_err(|_| error))
            .map_err(|error| SearchError::Pattern(error.to_string()))?;
        Ok(Self(matcher))
    }

    pub fn matches(&self, line: &str) -> bool {
        self.0.is_match(line.as_bytes()).unwrap_or(false)
    }
}

/// A glob for files below a directory. With a slash in it, it speaks of the path
/// from there; without, of the name.
#[derive(Clone, Debug)]
pub struct NameGlob {
    matcher: GlobMatcher,
    of_path: bool,
}

impl NameGlob {
    pub fn new(text: &str) -> Result<Self, SearchError> {
        let of_path = text.contains('/');
        let text = text.strip_prefix("./").unwrap_or(text);
        let matcher = GlobBuilder::new(text.trim_start_matches('/'))
            .literal_separator(true)
            .build()
            .map_err(|error| SearchError::Glob(error.to_string()))?
            .compile_matcher();
        Ok(Self { matcher, of_path })
    }

    /// A name to look for: without a wildcard, whatever ends with it.
    pub fn of_names(text: &str) -> Result<Self, SearchError> {
        match text.contains(['*', '?', '[', '{']) {
            true => Self::new(text),
            false => Self::new(&format!("*{text}")),
        }
    }

    pub fn matches(&self, path: &Path, root: &Path) -> bool {
        if self.of_path {
            let below = path.strip_prefix(root).unwrap_or(path);
            return self.matcher.is_match(below);
        }
        path.file_name()
            .is_some_and(|name| self.matcher.is_match(name))
    }

    /// The same, or more, for `find -name`, which knows fewer forms.
    pub fn for_find(&self) -> &str {
        let text = self.matcher.glob().glob();
        match self.of_path || text.contains(['{', '[', '\\']) {
            true => "*",
            false => text,
        }
    }

    /// For ripgrep's file types, which look at names only.
    pub fn for_names(&self) -> Option<&str> {
        (!self.of_path).then(|| self.matcher.glob().glob())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_makes_it_a_path_from_the_start() {
        let root = Path::new("/p");
        let matches =
            |glob: &str, path: &str| NameGlob::new(glob).unwrap().matches(Path::new(path), root);
        assert!(matches("*.rs", "/p/src/deep/a.rs"));
        assert!(matches("*.{rs,toml}", "/p/Cargo.toml"));
        assert!(matches("src/*.rs", "/p/src/a.rs"));
        assert!(matches("./src/*.rs", "/p/src/a.rs"));
        assert!(!matches("src/*.rs", "/p/src/deep/a.rs"));
        assert!(matches("src/**/*.rs", "/p/src/deep/a.rs"));
        assert!(!matches("src/*.rs", "/p/other/src/a.rs"));
    }

    #[test]
    fn a_name_without_wildcards_is_an_ending() {
        let glob = NameGlob::of_names("config.yaml").unwrap();
        let matches = |name: &str| glob.matches(&Path::new("/p").join(name), Path::new("/p"));
        assert!(matches("config.yaml") && matches("my-config.yaml"));
        assert!(!matches("config.yaml.bak"));
        assert!(NameGlob::of_names("{").is_err());
    }

    #[test]
    fn what_can_match_no_line_is_said() {
        assert!(LinePattern::new("(").is_err());
        assert!(LinePattern::new("a\\nb").is_err());
        assert!(LinePattern::new("(?x) f o o # c").unwrap().matches("foo"));
        assert!(LinePattern::new("\\d+\\s").unwrap().matches("x 17 y"));
    }
}
