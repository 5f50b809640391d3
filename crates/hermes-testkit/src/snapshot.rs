//! Filters that replace what differs between two runs, so that whole outputs can
//! be compared.

use std::path::Path;

use regex::Regex;

use crate::TestHome;

/// What every snapshot replaces: ids, times, durations, ports and process ids.
const COMMON: &[(&str, &str)] = &[
    (r"\b\d{8}_\d{6}_[0-9a-f]{6,8}\b", "[SESSION]"),
    (
        r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
        "[UUID]",
    ),
    (r"\bcall_[0-9a-f]{12,32}\b", "[CALL]"),
    (r"\bt_[0-9a-f]{8}\b", "[TASK]"),
    (r"\b[0-9a-f]{64}\b", "[SHA256]"),
    (
        r"\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?(Z|[+-]\d{2}:?\d{2})?",
        "[TIME]",
    ),
    (r"\b\d+(\.\d+)?\s?(ms|µs)\b", "[DURATION]"),
    (r"\b\d+\.\d+\s?s\b", "[DURATION]"),
    (r"\b(127\.0\.0\.1|localhost|\[::1\]):\d+", "[ADDRESS]"),
    (r"(?i)\bpid[ =:]+\d+", "pid [PID]"),
];

/// Replacements for one test's output. The order is: what the test named, its
/// paths, then the common ids and times.
#[derive(Clone, Debug)]
pub struct Scrub {
    filters: Vec<(String, String)>,
}

impl Default for Scrub {
    fn default() -> Self {
        Self::new()
    }
}

impl Scrub {
    pub fn new() -> Self {
        Self {
            filters: Vec::new(),
        }
    }

    /// Paths of `home` become `[HOME]`, `[PROJECT]`, `[USER]` and `[TMP]`.
    pub fn of(home: &TestHome) -> Self {
        Self::new()
            .path(home.path(), "[HOME]")
            .path(&home.project(), "[PROJECT]")
            .path(home.user_home(), "[USER]")
            .path(home.base(), "[TMP]")
    }

    /// Replaces a path wherever it appears.
    pub fn path(self, path: &Path, with: &str) -> Self {
        let pattern = regex::escape(&path.to_string_lossy());
        self.also(&pattern, with)
    }

    /// Replaces what matches a regular expression.
    pub fn also(mut self, pattern: &str, with: &str) -> Self {
        self.filters.push((pattern.to_owned(), with.to_owned()));
        self
    }

    fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.filters
            .iter()
            .map(|(pattern, with)| (pattern.as_str(), with.as_str()))
            .chain(COMMON.iter().copied())
    }

    /// The text with everything replaced.
    pub fn apply(&self, text: &str) -> String {
        self.all().fold(text.to_owned(), |text, (pattern, with)| {
            Regex::new(pattern)
                .unwrap_or_else(|error| panic!("filter {pattern}: {error}"))
                .replace_all(&text, with)
                .into_owned()
        })
    }

    /// Settings to bind around snapshot assertions:
    /// `Scrub::of(&home).settings().bind(|| insta::assert_snapshot!(output))`.
    pub fn settings(&self) -> insta::Settings {
        let mut settings = insta::Settings::clone_current();
        settings.set_prepend_module_to_snapshot(false);
        for (pattern, with) in self.all() {
            settings.add_filter(pattern, with);
        }
        settings
    }
}
