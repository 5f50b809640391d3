//! Reading `.env` into variables.

use std::path::Path;

use hermes_home::Environment;

use super::interpolate::interpolate;
use super::{parse, repair};
use crate::error::ConfigError;
use crate::files::read_bytes;

/// What `.env` says.
#[derive(Clone, Debug, Default)]
pub struct DotEnv {
    pub variables: Environment,
    /// Credentials from which characters outside ASCII were dropped: a pasted
    /// look-alike letter would break every request.
    pub cleaned: Vec<String>,
    /// Lines that could not be read.
    pub skipped_lines: Vec<usize>,
    /// The file's text after repair, when it needed one.
    pub repaired: Option<String>,
}

/// Reads the file; a missing one is empty. The file is not changed: whoever may
/// write it can take [`DotEnv::repaired`].
pub fn read(file: &Path, process: &Environment) -> Result<DotEnv, ConfigError> {
    let bytes = read_bytes(file)?;
    Ok(read_text(&decode(bytes), process))
}

/// UTF-8, else every byte is one character.
fn decode(bytes: Vec<u8>) -> String {
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => error
            .as_bytes()
            .iter()
            .map(|byte| char::from(*byte))
            .collect(),
    }
}

/// The same for a text that is at hand. A byte order mark in front is no part of it.
pub fn read_text(text: &str, process: &Environment) -> DotEnv {
    let repaired = repair(text);
    // Python opens the file as text, where every kind of line break is one.
    let lines = repaired.as_deref().unwrap_or(text);
    let lines = lines.strip_prefix('\u{feff}').unwrap_or(lines);
    let lines = lines.replace("\r\n", "\n").replace('\r', "\n");
    let (bindings, skipped_lines) = parse(&lines);
    let mut variables = interpolate(bindings, process);
    let cleaned: Vec<(String, String)> = variables
        .iter()
        .filter(|(name, value)| is_credential(name) && !value.is_ascii())
        .map(|(name, value)| (name.to_owned(), value.replace(|c: char| !c.is_ascii(), "")))
        .collect();
    for (name, value) in &cleaned {
        variables.set(name, value);
    }
    DotEnv {
        variables,
        cleaned: cleaned.into_iter().map(|(name, _)| name).collect(),
        skipped_lines,
        repaired,
    }
}

/// A name under which a credential is kept.
pub(crate) fn is_credential(name: &str) -> bool {
    ["_API_KEY", "_TOKEN", "_SECRET", "_KEY"]
        .iter()
        .any(|end| name.ends_with(end))
}
