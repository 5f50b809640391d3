//! Reading a patch of several files: `*** Update File:`, `*** Add File:`,
//! `*** Delete File:`, `*** Move File:`.

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    Update { path: String, hunks: Vec<Hunk> },
    Add { path: String, content: String },
    Delete { path: String },
    Move { from: String, to: String },
}

impl Operation {
    /// Every path that the operation names.
    pub fn paths(&self) -> Vec<&str> {
        match self {
            Operation::Update { path, .. }
            | Operation::Add { path, .. }
            | Operation::Delete { path } => vec![path],
            Operation::Move { from, to } => vec![from, to],
        }
    }

    /// The same operation on files by other names.
    pub fn renamed(&self, mut name: impl FnMut(&str) -> String) -> Self {
        let mut renamed = self.clone();
        match &mut renamed {
            Operation::Update { path, .. }
            | Operation::Add { path, .. }
            | Operation::Delete { path } => *path = name(path),
            Operation::Move { from, to } => {
                *from = name(from);
                *to = name(to);
            }
        }
        renamed
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// A line above the change, to tell equal places apart.
    pub hint: Option<String>,
    pub lines: Vec<HunkLine>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HunkLine {
    Context(String),
    Remove(String),
    Add(String),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    #[error(
        "the patch has no operation: begin a file with `*** Update File: path`, `*** Add File: path`, `*** Delete File: path` or `*** Move File: a -> b`"
    )]
    Empty,
    #[error("line {line}: `{header}` names no path")]
    NoPath { line: usize, header: String },
    #[error("line {line}: a move is written `*** Move File: from -> to`")]
    BadMove { line: usize },
    #[error("line {line}: the path {path:?} has a `..` component")]
    ParentPath { line: usize, path: String },
    #[error("the update of {path} has no hunk")]
    NoHunks { path: String },
    #[error("line {line}: text outside of a file section")]
    Stray { line: usize },
    #[error("line {line}: every line of an added file begins with `+`")]
    BadAddition { line: usize },
}

pub fn parse(text: &str) -> Result<Vec<Operation>, ParseError> {
    let mut operations = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if let Some(header) = line.strip_prefix("*** ") {
            if matches!(header.trim(), "Begin Patch" | "End Patch" | "End of File") {
                continue;
            }
            operations.push(operation(header, number)?);
            continue;
        }
        match operations.last_mut() {
            Some(Operation::Update { hunks, .. }) => hunk_line(hunks, line),
            Some(Operation::Add { content, .. }) => match line.strip_prefix('+') {
                Some(added) => {
                    content.push_str(added);
                    content.push('\n');
                }
                None if line.trim().is_empty() => {}
                None => return Err(ParseError::BadAddition { line: number }),
            },
            _ if line.trim().is_empty() => {}
            _ => return Err(ParseError::Stray { line: number }),
        }
    }
    if operations.is_empty() {
        return Err(ParseError::Empty);
    }
    for operation in &mut operations {
        if let Operation::Update { path, hunks } = operation {
            finish(hunks);
            if hunks.is_empty() {
                return Err(ParseError::NoHunks { path: path.clone() });
            }
        }
    }
    Ok(operations)
}

fn operation(header: &str, line: usize) -> Result<Operation, ParseError> {
    let (kind, rest) = header.split_once(':').unwrap_or((header, ""));
    let rest = rest.trim();
    let check = |path: &str| -> Result<String, ParseError> {
        let path = path.trim();
        if path.is_empty() {
            return Err(ParseError::NoPath {
                line,
                header: format!("*** {header}"),
            });
        }
        if path.split('/').any(|piece| piece == "..") {
            return Err(ParseError::ParentPath {
                line,
                path: path.to_owned(),
            });
        }
        Ok(path.to_owned())
    };
    match kind.trim() {
        "Update File" => Ok(Operation::Update {
            path: check(rest)?,
            hunks: Vec::new(),
        }),
        "Add File" => Ok(Operation::Add {
            path: check(rest)?,
            content: String::new(),
        }),
        "Delete File" => Ok(Operation::Delete { path: check(rest)? }),
        "Move File" => {
            let (from, to) = rest.split_once("->").ok_or(ParseError::BadMove { line })?;
            Ok(Operation::Move {
                from: check(from)?,
                to: check(to)?,
            })
        }
        _ => Err(ParseError::Stray { line }),
    }
}

fn hunk_line(hunks: &mut Vec<Hunk>, line: &str) {
    if let Some(rest) = line.strip_prefix("@@") {
        let hint = rest.trim().trim_end_matches("@@").trim();
        // `@@ -1,3 +1,4 @@` counts lines, which models get wrong; only the text behind it helps.
        let hint = match hint.starts_with('-') && hint.contains('+') {
            true => rest.rsplit("@@").next().unwrap_or("").trim(),
            false => hint,
        };
        let hint = (!hint.is_empty()).then(|| hint.to_owned());
        hunks.push(Hunk {
            hint,
            lines: Vec::new(),
        });
        return;
    }
    if line.starts_with('\\') {
        return;
    }
    if hunks.is_empty() {
        if line.trim().is_empty() {
            return;
        }
        hunks.push(Hunk::default());
    }
    let parsed = match line.split_at_checked(1) {
        Some(("+", rest)) => HunkLine::Add(rest.to_owned()),
        Some(("-", rest)) => HunkLine::Remove(rest.to_owned()),
        Some((" ", rest)) => HunkLine::Context(rest.to_owned()),
        // An empty line is an empty line of the file, not the end of the hunk.
        _ => HunkLine::Context(line.to_owned()),
    };
    if let Some(hunk) = hunks.last_mut() {
        hunk.lines.push(parsed);
    }
}

/// Empty lines alone only separate sections.
fn finish(hunks: &mut Vec<Hunk>) {
    let blank = |line: &HunkLine| matches!(line, HunkLine::Context(text) if text.trim().is_empty());
    hunks.retain(|hunk| !hunk.lines.iter().all(blank));
}
