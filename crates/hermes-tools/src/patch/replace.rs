//! One edit: a quoted text and what shall stand in its place.

use std::ops::Range;

use super::find::{Strategy, find};
use super::indent::reindented;
use super::lines::{Line, is_crlf, split};
use super::similarity::ratio;

/// How many places an edit may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Exactly one; several are refused.
    One,
    All,
}

/// The text after the edit, and how the place was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub text: String,
    pub strategy: Strategy,
    pub replaced: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error("old_string is empty: quote the text to replace, or write the whole file")]
    EmptyOld,
    #[error("old_string and new_string are the same: nothing would change")]
    Identical,
    #[error(
        "Found {count} matches for old_string. Quote more lines around the one you mean, or set replace_all. Matches start at lines {}:{}",
        numbers(places),
        excerpts(places)
    )]
    Ambiguous {
        count: usize,
        /// The first of them, each with the line before it and the line after.
        places: Vec<Candidate>,
    },
    #[error(
        "Could not find a match for old_string in the file{}",
        suggestions(candidates)
    )]
    NotFound { candidates: Vec<Candidate> },
    #[error(
        "old_string and new_string both contain backslash-escaped quotes that the file does not have: send the text as it stands in the file"
    )]
    EscapeDrift,
    #[error(
        "old_string stands in the file with other indentation, from which that of new_string cannot be told: quote the lines with the blanks and tabs that they have in the file"
    )]
    Indentation,
    #[error("the edit would leave the file as it is")]
    NoChange,
}

/// A place that could have been meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Where the quoted text begins, or would.
    pub matched: usize,
    /// Where the excerpt begins.
    pub line: usize,
    pub text: String,
}

pub(super) const BOM: &str = "\u{feff}";

/// Replaces `old` by `new`. Line endings and a byte-order mark stay as they are.
pub fn replace(text: &str, old: &str, new: &str, scope: Scope) -> Result<Edit, EditError> {
    if old.is_empty() {
        return Err(EditError::EmptyOld);
    }
    if old == new {
        return Err(EditError::Identical);
    }
    let (mark, body) = match text.strip_prefix(BOM) {
        Some(rest) => (BOM, rest),
        None => ("", text),
    };
    if is_crlf(body) {
        let unix = body.replace("\r\n", "\n");
        let edit = replace_in(
            &unix,
            &old.replace("\r\n", "\n"),
            &new.replace("\r\n", "\n"),
            scope,
        )?;
        let text = format!("{mark}{}", edit.text.replace('\n', "\r\n"));
        return Ok(Edit { text, ..edit });
    }
    // A call may bring line endings that the file does not have.
    let edit = if body.contains('\n') && !body.contains('\r') {
        let unix = |text: &str| text.replace("\r\n", "\n");
        replace_in(body, &unix(old), &unix(new), scope)?
    } else {
        replace_in(body, old, new, scope)?
    };
    Ok(Edit {
        text: format!("{mark}{}", edit.text),
        ..edit
    })
}

fn replace_in(text: &str, old: &str, new: &str, scope: Scope) -> Result<Edit, EditError> {
    let Some(found) = find(text, old) else {
        return Err(EditError::NotFound {
            candidates: candidates(text, old),
        });
    };
    if found.places.len() > 1 && scope == Scope::One {
        let lines = split(text);
        let starts = found.places.iter().take(MOST_PLACES);
        return Err(EditError::Ambiguous {
            count: found.places.len(),
            places: starts
                .map(|place| surroundings(&lines, line_number(text, place.start)))
                .collect(),
        });
    }
    let mut out = String::with_capacity(text.len() + new.len());
    let mut rest = 0;
    let mut replaced = 0;
    for place in &found.places {
        // Of places that overlap, the first is replaced.
        if place.start < rest {
            continue;
        }
        replaced += 1;
        out.push_str(&text[rest..place.start]);
        out.push_str(&replacement(text, place, old, new, found.strategy)?);
        rest = place.end;
    }
    out.push_str(&text[rest..]);
    if out == text {
        return Err(EditError::NoChange);
    }
    Ok(Edit {
        text: out,
        strategy: found.strategy,
        replaced,
    })
}

fn replacement(
    text: &str,
    place: &Range<usize>,
    old: &str,
    new: &str,
    strategy: Strategy,
) -> Result<String, EditError> {
    if strategy == Strategy::Exact {
        return Ok(new.to_owned());
    }
    let there = &text[place.clone()];
    let escaped = ["\\'", "\\\""];
    if escaped
        .iter()
        .any(|mark| old.contains(mark) && new.contains(mark) && !there.contains(mark))
    {
        return Err(EditError::EscapeDrift);
    }
    let mut new = new.to_owned();
    if strategy == Strategy::EscapeNormalized {
        new = new.replace("\\n", "\n");
    }
    for (written, control) in [("\\t", "\t"), ("\\r", "\r")] {
        if there.contains(control) {
            new = new.replace(written, control);
        }
    }
    // Decoded, the quote is the file's own text.
    if strategy == Strategy::EscapeNormalized {
        return Ok(new);
    }
    let windows = there.contains('\r') && split(there).iter().all(|line| line.text.ends_with('\r'));
    let theirs: Vec<&str> = split(old).iter().map(|line| line.text).collect();
    let real: Vec<&str> = split(there).iter().map(|line| line.text).collect();
    let new: Vec<&str> = new.split('\n').collect();
    let lines = reindented(&theirs, &real, &new).ok_or(EditError::Indentation)?;
    // Some lines of a file may end as on Windows, and others not.
    if windows {
        let mut text = lines.join("\n").replace("\r\n", "\n").replace('\n', "\r\n");
        if there.ends_with('\r') {
            text.push('\r');
        }
        return Ok(text);
    }
    Ok(lines.join("\n"))
}

fn line_number(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// The best three places by their first line, for a message that helps.
fn candidates(text: &str, old: &str) -> Vec<Candidate> {
    const MOST_LINES: usize = 5_000;
    let wanted = split(old);
    let Some(key) = wanted
        .iter()
        .map(|line| line.text.trim())
        .find(|line| !line.is_empty())
    else {
        return Vec::new();
    };
    let lines = split(text);
    let mut scored: Vec<(f64, usize)> = lines
        .iter()
        .enumerate()
        .take(MOST_LINES)
        .filter(|(_, line)| line.text.len() < 500 && !line.text.trim().is_empty())
        .map(|(index, line)| (ratio(line.text.trim(), key), index))
        .filter(|(score, _)| *score >= 0.5)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    scored
        .into_iter()
        .take(3)
        .map(|(_, index)| {
            let end = (index + wanted.len().min(6)).min(lines.len());
            let snippet: Vec<&str> = lines[index..end].iter().map(|line| line.text).collect();
            Candidate {
                line: index + 1,
                matched: index + 1,
                text: snippet.join("\n"),
            }
        })
        .collect()
}

/// More would be no help for choosing one.
const MOST_PLACES: usize = 10;

/// The line of a match between its neighbours, which tell it from the others.
fn surroundings(lines: &[Line<'_>], line: usize) -> Candidate {
    const LONGEST: usize = 120;
    let first = line.saturating_sub(1).max(1);
    let last = (line + 1).min(lines.len());
    let shown: Vec<String> = lines[first - 1..last]
        .iter()
        .map(|line| line.text.chars().take(LONGEST).collect())
        .collect();
    Candidate {
        line: first,
        matched: line,
        text: shown.join("\n"),
    }
}

fn numbers(places: &[Candidate]) -> String {
    places
        .iter()
        .map(|place| place.matched.to_string())
        .collect::<Vec<_>>()
        .join(", ")
}

fn suggestions(candidates: &[Candidate]) -> String {
    if candidates.is_empty() {
        return "; read the file again and quote it as it stands".to_owned();
    }
    format!(". Did you mean one of these?{}", excerpts(candidates))
}

fn excerpts(candidates: &[Candidate]) -> String {
    let mut out = String::new();
    for candidate in candidates {
        for (offset, line) in candidate.text.split('\n').enumerate() {
            out.push_str(&format!("\n{:>6}| {line}", candidate.line + offset));
        }
        out.push_str("\n     ---");
    }
    out.truncate(out.trim_end_matches("\n     ---").len());
    out
}
