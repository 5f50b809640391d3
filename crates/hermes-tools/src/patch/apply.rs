//! Applying a patch in memory: all of it is right, or nothing is written.

use std::collections::BTreeMap;

use super::find::{Strategy, find_block};
use super::indent::reindented;
use super::lines::{is_crlf, split};
use super::replace::BOM;
use super::v4a::{Hunk, HunkLine, Operation};

/// What stands in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    Text(String),
    /// It can be moved and deleted, not edited; why.
    Opaque(String),
}

impl Content {
    /// Nothing, for what is no text.
    pub fn text(&self) -> &str {
        match self {
            Content::Text(text) => text,
            Content::Opaque(_) => "",
        }
    }
}

/// What one file was and what it shall be; `None` means that there is no file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    pub path: String,
    pub before: Option<Content>,
    pub after: Option<Content>,
    /// Where the file that shall stand here stood before; `None` for a new one.
    pub origin: Option<String>,
    /// The most lenient strategy that a hunk of this file needed.
    pub strategy: Strategy,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Patch validation failed (no files were modified):\n{}", problems.join("\n"))]
pub struct PatchError {
    pub problems: Vec<String>,
}

/// Validates and applies every operation in order. One file has one path here,
/// whatever names the patch has for it. `read` gives the content of a file, `None`
/// when there is none, or the reason why it cannot be read.
pub fn apply(
    operations: &[Operation],
    mut read: impl FnMut(&str) -> Result<Option<Content>, String>,
) -> Result<Vec<FileChange>, PatchError> {
    let mut state: BTreeMap<String, FileChange> = BTreeMap::new();
    let mut problems = Vec::new();
    for operation in operations {
        for path in operation.paths() {
            if state.contains_key(path) {
                continue;
            }
            match read(path) {
                Ok(content) => {
                    let change = FileChange {
                        path: path.to_owned(),
                        origin: content.is_some().then(|| path.to_owned()),
                        before: content.clone(),
                        after: content,
                        strategy: Strategy::Exact,
                    };
                    state.insert(path.to_owned(), change);
                }
                Err(reason) => problems.push(format!("- {path}: {reason}")),
            }
        }
        if let Err(problem) = step(operation, &mut state) {
            problems.push(format!("- {problem}"));
        }
    }
    if !problems.is_empty() {
        return Err(PatchError { problems });
    }
    let changed: Vec<FileChange> = state
        .into_values()
        .filter(|change| {
            let was = change.before.as_ref().map(|_| &change.path);
            change.before != change.after || change.origin.as_ref() != was
        })
        .collect();
    if changed.is_empty() {
        let problems = vec!["- the patch would leave every file as it is".to_owned()];
        return Err(PatchError { problems });
    }
    Ok(changed)
}

fn step(operation: &Operation, state: &mut BTreeMap<String, FileChange>) -> Result<(), String> {
    // A path that could not be read is a problem already.
    match operation {
        Operation::Update { path, hunks } => {
            let Some(change) = state.get_mut(path) else {
                return Ok(());
            };
            let text = match &change.after {
                Some(Content::Text(text)) => text,
                Some(Content::Opaque(why)) => return Err(format!("{path}: {why}")),
                None => return Err(format!("{path}: there is no such file to update")),
            };
            let (text, strategy) = update(text, hunks).map_err(|why| format!("{path}: {why}"))?;
            change.after = Some(Content::Text(text));
            if strategy != Strategy::Exact {
                change.strategy = strategy;
            }
        }
        Operation::Add { path, content } => {
            let Some(change) = state.get_mut(path) else {
                return Ok(());
            };
            if change.after.is_some() {
                return Err(format!(
                    "{path}: the file exists already; use `*** Update File:`"
                ));
            }
            change.after = Some(Content::Text(content.clone()));
        }
        Operation::Delete { path } => {
            let Some(change) = state.get_mut(path) else {
                return Ok(());
            };
            if change.after.take().is_none() {
                return Err(format!("{path}: there is no such file to delete"));
            }
            change.origin = None;
        }
        Operation::Move { from, to } => {
            if from == to {
                return Err(format!(
                    "{from}: source and target of the move are the same"
                ));
            }
            if state.get(to).is_some_and(|change| change.after.is_some()) {
                return Err(format!("{to}: the target of the move exists already"));
            }
            let Some(source) = state.get_mut(from) else {
                return Ok(());
            };
            let Some(content) = source.after.take() else {
                return Err(format!("{from}: there is no such file to move"));
            };
            let (origin, strategy) = (source.origin.take(), source.strategy);
            if let Some(target) = state.get_mut(to) {
                target.after = Some(content);
                target.origin = origin;
                target.strategy = strategy;
            }
        }
    }
    Ok(())
}

fn update(text: &str, hunks: &[Hunk]) -> Result<(String, Strategy), String> {
    let (mark, text) = match text.strip_prefix(BOM) {
        Some(rest) => (BOM, rest),
        None => ("", text),
    };
    let crlf = is_crlf(text);
    let mut body = if crlf {
        text.replace("\r\n", "\n")
    } else {
        text.to_owned()
    };
    let mut lenient = Strategy::Exact;
    for (index, hunk) in hunks.iter().enumerate() {
        let (next, strategy) =
            apply_hunk(&body, hunk).map_err(|why| format!("hunk {}: {why}", index + 1))?;
        body = next;
        if strategy != Strategy::Exact {
            lenient = strategy;
        }
    }
    if crlf {
        body = body.replace('\n', "\r\n");
    }
    Ok((format!("{mark}{body}"), lenient))
}

/// Empty lines behind a hunk may belong to the file, or only separate it from
/// what follows in the patch: they are tried as the former first.
fn apply_hunk(text: &str, hunk: &Hunk) -> Result<(String, Strategy), String> {
    let error = match apply_as_written(text, hunk) {
        Ok(done) => return Ok(done),
        Err(error) => error,
    };
    let mut shorter = hunk.clone();
    while shorter.lines.last() == Some(&HunkLine::Context(String::new())) {
        shorter.lines.pop();
        if let Ok(done) = apply_as_written(text, &shorter) {
            return Ok(done);
        }
    }
    Err(error)
}

fn apply_as_written(text: &str, hunk: &Hunk) -> Result<(String, Strategy), String> {
    let wanted: Vec<&str> = hunk
        .lines
        .iter()
        .filter_map(|line| match line {
            HunkLine::Context(text) | HunkLine::Remove(text) => Some(text.as_str()),
            HunkLine::Add(_) => None,
        })
        .collect();
    if wanted.is_empty() {
        return insert(text, hunk).map(|text| (text, Strategy::Exact));
    }
    let lines = split(text);
    let (strategy, starts) = find_block(&lines, &wanted);
    let start = choose(&lines, &starts, hunk.hint.as_deref(), &wanted)?;
    let place = &lines[start..start + wanted.len()];

    let new: Vec<&str> = hunk
        .lines
        .iter()
        .filter_map(|line| match line {
            HunkLine::Context(text) | HunkLine::Add(text) => Some(text.as_str()),
            HunkLine::Remove(_) => None,
        })
        .collect();
    let own: Vec<&str> = place.iter().map(|line| line.text).collect();
    let indented = match strategy {
        Strategy::Exact => new.iter().map(|line| (*line).to_owned()).collect(),
        _ => reindented(&wanted, &own, &new).ok_or(
            "its lines stand in the file with other indentation, from which that of the new lines cannot be told; write them with the blanks and tabs that the file has",
        )?,
    };
    let mut block: Vec<String> = Vec::new();
    let mut there = own.iter();
    let mut indented = indented.into_iter();
    for line in &hunk.lines {
        match line {
            // The file's own line stays, whatever the patch made of it.
            HunkLine::Context(_) => {
                indented.next();
                block.extend(there.next().map(|line| (*line).to_owned()));
            }
            HunkLine::Remove(_) => {
                there.next();
            }
            HunkLine::Add(_) => block.extend(indented.next()),
        }
    }
    let first = place.first().map_or(0, |line| line.start);
    let last = place.last().map_or(0, |line| line.next);
    let mut out = text[..first].to_owned();
    out.push_str(&block.join("\n"));
    // The place had a line ending behind it, unless it was the file's unended last line.
    if !block.is_empty() && text[..last].ends_with('\n') {
        out.push('\n');
    }
    out.push_str(&text[last..]);
    Ok((out, strategy))
}

/// The one place that can be meant.
fn choose(
    lines: &[super::lines::Line<'_>],
    starts: &[usize],
    hint: Option<&str>,
    wanted: &[&str],
) -> Result<usize, String> {
    match starts {
        [] => {
            let first = wanted
                .iter()
                .find(|line| !line.trim().is_empty())
                .copied()
                .unwrap_or("");
            Err(format!(
                "its lines do not stand in the file; the first is {first:?}"
            ))
        }
        [only] => Ok(*only),
        several => {
            let hinted: Vec<usize> = hint.map(|hint| lines_with(lines, hint)).unwrap_or_default();
            let after = match hinted.as_slice() {
                [line] => several.iter().find(|start| *start >= line),
                _ => None,
            };
            after.copied().ok_or_else(|| {
                let places: Vec<String> =
                    several.iter().take(10).map(|start| (start + 1).to_string()).collect();
                format!(
                    "its lines stand {} times in the file (lines {}); add context, or `@@ line above @@`",
                    several.len(),
                    places.join(", ")
                )
            })
        }
    }
}

fn lines_with(lines: &[super::lines::Line<'_>], hint: &str) -> Vec<usize> {
    let numbered = lines.iter().enumerate();
    numbered
        .filter(|(_, line)| line.text.contains(hint))
        .map(|(index, _)| index)
        .collect()
}

/// A hunk that only adds: behind the hinted line, or at the end.
fn insert(text: &str, hunk: &Hunk) -> Result<String, String> {
    let added: Vec<&str> = hunk
        .lines
        .iter()
        .filter_map(|line| match line {
            HunkLine::Add(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let block = format!("{}\n", added.join("\n"));
    let at = match &hunk.hint {
        None => text.len(),
        Some(hint) => {
            let lines = split(text);
            match lines_with(&lines, hint).as_slice() {
                [only] => lines[*only].next,
                [] => return Err(format!("no line contains the hint {hint:?}")),
                several => {
                    return Err(format!("{} lines contain the hint {hint:?}", several.len()));
                }
            }
        }
    };
    let mut out = text[..at].to_owned();
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(&block);
    out.push_str(&text[at..]);
    Ok(out)
}
