//! Finding a key by its path, and the nearest one to a path that is not there.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::key::{Key, Type};
use super::keys;

/// What the table knows of a path.
#[derive(Clone, Copy, Debug)]
pub enum Known {
    /// The path is a row of the table.
    Key(&'static Key),
    /// The path lies below a map whose content is the user's.
    Below(&'static Key),
    /// The path is the beginning of known keys.
    Section,
    Unknown,
}

static INDEX: LazyLock<HashMap<&'static str, usize>> = LazyLock::new(|| {
    keys()
        .iter()
        .enumerate()
        .map(|(at, key)| (key.name, at))
        .collect()
});

/// The row with exactly this path.
pub fn key(path: &str) -> Option<&'static Key> {
    INDEX.get(path).map(|at| &keys()[*at])
}

/// What the table knows of a path.
pub fn lookup(path: &str) -> Known {
    if let Some(key) = key(path) {
        return Known::Key(key);
    }
    let mut end = path.len();
    while let Some(at) = path[..end].rfind('.') {
        end = at;
        if let Some(parent) = key(&path[..end])
            && matches!(parent.kind, Type::Map | Type::Any | Type::List)
        {
            return Known::Below(parent);
        }
    }
    let is_section = keys().iter().any(|key| {
        key.name
            .strip_prefix(path)
            .is_some_and(|rest| rest.starts_with('.'))
    });
    if is_section {
        Known::Section
    } else {
        Known::Unknown
    }
}

/// The known key that is most like `path`, if one is like it at all.
pub fn suggestion(path: &str) -> Option<&'static str> {
    let last = path.rsplit('.').next().unwrap_or(path);
    keys()
        .iter()
        .filter(|key| !key.inert)
        .map(|key| {
            let whole = distance(path, key.name);
            // The right name in the wrong section is a common slip.
            let name = key.name.rsplit('.').next().unwrap_or(key.name);
            let tail = if name == last && last.len() > 3 {
                2
            } else {
                usize::MAX
            };
            (whole.min(tail), whole, key.name)
        })
        .filter(|(score, _, name)| *score <= (path.len().max(name.len()) / 4).clamp(1, 4))
        .min()
        .map(|(_, _, name)| name)
}

/// Levenshtein distance over bytes; keys are ASCII.
fn distance(left: &str, right: &str) -> usize {
    let right = right.as_bytes();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (diagonal + usize::from(a != *b))
                .min(above + 1)
                .min(row[j] + 1);
            diagonal = above;
        }
    }
    row[right.len()]
}
