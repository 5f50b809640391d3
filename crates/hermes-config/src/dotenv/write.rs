//! One line of `.env` at a time; the others stay byte for byte.

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

/// The text with `name` set to `value`: its first line is replaced, or one is added.
pub fn set(text: &str, name: &str, value: &str) -> Result<String, ConfigError> {
    check_name(name)?;
    let line_break = line_break(text);
    let line = format!("{name}={}", quoted(value));
    let mut out = String::with_capacity(text.len() + line.len() + 2);
    let mut done = false;
    for old in text.split_inclusive('\n') {
        if !done && assigns(old, name) {
            let end = old.len() - old.trim_end_matches(['\r', '\n']).len();
            out.push_str(&line);
            out.push_str(&old[old.len() - end..]);
            done = true;
        } else if !assigns(old, name) {
            out.push_str(old);
        }
    }
    if !done {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push_str(line_break);
        }
        out.push_str(&line);
        out.push_str(line_break);
    }
    Ok(out)
}

/// The text without any line that sets `name`; `None` when there is none.
pub fn remove(text: &str, name: &str) -> Option<String> {
    let kept: String = text
        .split_inclusive('\n')
        .filter(|line| !assigns(line, name))
        .collect();
    (kept.len() != text.len()).then_some(kept)
}

fn assigns(line: &str, name: &str) -> bool {
    let line = line.trim_start_matches('\u{feff}').trim_start();
    let line = match line.strip_prefix("export") {
        Some(rest) if rest.starts_with([' ', '\t']) => rest.trim_start(),
        _ => line,
    };
    line.strip_prefix(name)
        .is_some_and(|rest| rest.trim_start().starts_with('='))
}

/// Bare where the reader takes it as it is, else in quotes.
fn quoted(value: &str) -> String {
    let value = value.replace(['\r', '\n'], "");
    let bare = !value.contains("${")
        && !value.starts_with(['\'', '"', '#'])
        && value.trim() == value
        && !value.contains(" #")
        && !value.contains("\t#");
    if bare {
        return value;
    }
    // Within single quotes only `\\` and `\'` are escapes; interpolation still
    // happens, so a literal `${` cannot be written and is left as it is.
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
}

fn line_break(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}
