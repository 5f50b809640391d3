//! One line of `.env` at a time; the others stay byte for byte.

use std::ops::Range;

use hermes_home::Environment;

use super::{parse, read_text};
use crate::error::ConfigError;

/// Names that would let a written value run code, or move the home, at the next start.
const REFUSED: &[&str] = &[
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "LD_DEBUG",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "PYTHONEXECUTABLE",
    "PYTHONNOUSERSITE",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PATH",
    "SHELL",
    "BROWSER",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "GIT_SSH_COMMAND",
    "GIT_EXEC_PATH",
    "GIT_SHELL",
    "HERMES_HOME",
    "HERMES_PROFILE",
    "HERMES_CONFIG",
    "HERMES_ENV",
];

/// Whether a name may be kept in `.env`.
pub fn check_name(name: &str) -> Result<(), ConfigError> {
    let refuse = |reason| {
        Err(ConfigError::RefusedVariable {
            name: name.to_owned(),
            reason,
        })
    };
    let mut bytes = name.bytes();
    let well_formed = bytes
        .next()
        .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if !well_formed {
        return refuse("a name has letters, digits and underscores only, and no digit in front");
    }
    let upper = name.to_ascii_uppercase();
    if upper.starts_with("DYLD_") || REFUSED.contains(&upper.as_str()) {
        return refuse("it would change what the next start runs or where it looks");
    }
    Ok(())
}

/// The text with `name` set to `value`: its first assignment is replaced and others
/// of the same name go, or a line is added.
pub fn set(text: &str, name: &str, value: &str) -> Result<String, ConfigError> {
    check_name(name)?;
    let value = value.replace(['\r', '\n', '\0'], "");
    let line_break = line_break(text);
    let line = format!("{name}={}", quoted(&value));
    let mut places = spans(text, name).into_iter();
    let changed = match places.next() {
        Some(first) => {
            let ending = &text[first.clone()];
            let ending = &ending[ending.trim_end_matches(['\r', '\n']).len()..];
            let mut out = format!("{}{line}{ending}", &text[..first.start]);
            let mut from = first.end;
            for other in places {
                out.push_str(&text[from..other.start]);
                from = other.end;
            }
            out.push_str(&text[from..]);
            out
        }
        None => {
            let mut out = text.to_owned();
            if !out.is_empty() && !out.ends_with('\n') {
                out.push_str(line_break);
            }
            out.push_str(&line);
            out.push_str(line_break);
            out
        }
    };
    // Whoever reads the file must find what was meant.
    let read = read_text(&changed, &Environment::default());
    if read.variables.get(name) != Some(value.as_str()) {
        return Err(ConfigError::RefusedVariable {
            name: name.to_owned(),
            reason: "its value would be read back as another one, because `${…}` is replaced there or an earlier quote is not closed",
        });
    }
    Ok(changed)
}

/// The text without any assignment of `name`; `None` when there is none.
pub fn remove(text: &str, name: &str) -> Option<String> {
    let places = spans(text, name);
    if places.is_empty() {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for place in places {
        out.push_str(&text[from..place.start]);
        from = place.end;
    }
    out.push_str(&text[from..]);
    Some(out)
}

/// Where `name` is assigned. A byte order mark belongs to no name.
fn spans(text: &str, name: &str) -> Vec<Range<usize>> {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let shift = text.len() - body.len();
    let (bindings, _) = parse(body);
    bindings
        .into_iter()
        .filter(|binding| binding.name == name && binding.value.is_some())
        .map(|binding| binding.span.start + shift..binding.span.end + shift)
        .collect()
}

/// Bare where the reader takes it as it is, else in quotes.
fn quoted(value: &str) -> String {
    let bare = !value.starts_with(['\'', '"', '#'])
        && value.trim() == value
        && !value.contains(" #")
        && !value.contains("\t#");
    if bare {
        return value.to_owned();
    }
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
}

fn line_break(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}
