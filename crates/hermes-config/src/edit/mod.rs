//! Changing one key of a text and nothing else.
//!
//! [`set`] and [`unset`] are pure: they splice the bytes of one value, then read the
//! result back and compare it with the tree that was meant. When the two differ they
//! refuse instead of writing, so that a shape they do not master costs a sentence and
//! never a comment. [`File`] puts them to work on a home: lock, read, change, write.

mod file;
mod set;
mod splice;
mod target;
mod unset;

use serde_json::Value;

pub use file::{Applied, Change, backup_broken, change_config, change_dotenv};
pub use set::set;
pub use unset::unset;

use crate::yaml::{Document, parse};

/// Why a text was not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The text is not readable to begin with.
    Broken(crate::yaml::Syntax),
    /// The path cannot exist: an empty part, or no such list item.
    Path(String),
    /// The change would touch more than its own line.
    NotEditable,
}

/// The change is right when the text reads as the tree that was meant.
fn verified(text: String, intended: &Document) -> Result<String, Refusal> {
    let want = intended.value().map_err(|_| Refusal::NotEditable)?;
    let got = parse(&text)
        .and_then(|document| document.value())
        .map_err(|_| Refusal::NotEditable)?;
    // An emptied file and an empty map are the same to every reader.
    let is_empty =
        |value: &Value| value.is_null() || value.as_object().is_some_and(|m| m.is_empty());
    if got == want || (is_empty(&got) && is_empty(&want)) {
        Ok(text)
    } else {
        Err(Refusal::NotEditable)
    }
}

fn segments(path: &str) -> Result<Vec<&str>, Refusal> {
    let parts: Vec<&str> = path.split('.').collect();
    if parts.iter().any(|part| part.trim().is_empty()) {
        return Err(Refusal::Path(format!("`{path}` has an empty part")));
    }
    if parts.len() > 32 {
        return Err(Refusal::Path(format!("`{path}` has too many parts")));
    }
    Ok(parts)
}
