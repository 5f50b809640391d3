//! `@file:`, `@folder:`, `@diff`, `@staged` and `@git:` in what a person types:
//! the text stays, what it refers to is appended. Nothing outside the working
//! directory and no credential is ever read this way.

use std::fs;
use std::path::{Path, PathBuf};

use hermes_process::{Command, Limits, output};

const FOLDER_ENTRIES: usize = 200;
const MAX_COMMITS: u32 = 10;
const GIT_SECONDS: u64 = 20;
/// Shares of the context window, in percent.
const WARN_SHARE: u64 = 25;
const BLOCK_SHARE: u64 = 50;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    File {
        path: String,
        lines: Option<(usize, usize)>,
    },
    Folder(String),
    Diff,
    Staged,
    Git(u32),
    Url(String),
}

/// The text with everything it refers to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expanded {
    pub text: String,
    /// For people; the model reads them too.
    pub warnings: Vec<String>,
}

/// References and the byte ranges they take up.
pub fn parse_references(text: &str) -> Vec<(std::ops::Range<usize>, Reference)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(offset) = text[from..].find('@') {
        let start = from + offset;
        from = start + 1;
        let before = text[..start].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '/') {
            continue;
        }
        if let Some((reference, length)) = parse_one(&text[start + 1..]) {
            found.push((start..start + 1 + length, reference));
            from = start + 1 + length;
        }
    }
    found
}

fn parse_one(text: &str) -> Option<(Reference, usize)> {
    for (name, reference) in [("diff", Reference::Diff), ("staged", Reference::Staged)] {
        if let Some(rest) = text.strip_prefix(name)
            && !rest
                .chars()
                .next()
                .is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
        {
            return Some((reference, name.len()));
        }
    }
    let (kind, rest) = text.split_once(':')?;
    if !matches!(kind, "file" | "folder" | "git" | "url") {
        return None;
    }
    let (value, taken) = value(rest)?;
    let length = kind.len() + 1 + taken;
    let reference = match kind {
        "file" => {
            let (path, lines) = split_lines(&value);
            Reference::File { path, lines }
        }
        "folder" => Reference::Folder(value),
        "git" => Reference::Git(value.parse().ok()?),
        _ => Reference::Url(value),
    };
    Some((reference, length))
}

/// Quoted, or up to white space without trailing punctuation.
fn value(text: &str) -> Option<(String, usize)> {
    let first = text.chars().next()?;
    if matches!(first, '"' | '\'' | '`') {
        let end = text[1..].find(first)?;
        let mut taken = end + 2;
        let mut value = text[1..=end].to_owned();
        // A line range may follow the closing quote.
        let tail: String = text[taken..]
            .chars()
            .take_while(|c| c.is_ascii_digit() || *c == ':' || *c == '-')
            .collect();
        if tail.starts_with(':') && tail.len() > 1 {
            taken += tail.len();
            value.push_str(&tail);
        }
        return Some((value, taken));
    }
    let whole = text.split(char::is_whitespace).next()?;
    let mut word = whole;
    loop {
        let shorter = word.trim_end_matches([',', '.', ';', '!', '?']);
        let shorter = match shorter.chars().next_back() {
            Some(closer @ (')' | ']' | '}')) => {
                let opener = match closer {
                    ')' => '(',
                    ']' => '[',
                    _ => '{',
                };
                let balance = shorter.matches(opener).count() >= shorter.matches(closer).count();
                if balance {
                    shorter
                } else {
                    &shorter[..shorter.len() - 1]
                }
            }
            _ => shorter,
        };
        if shorter.len() == word.len() {
            break;
        }
        word = shorter;
    }
    // `.` is punctuation, and also a directory.
    let word = if word.is_empty() { whole } else { word };
    (!word.is_empty()).then(|| (word.to_owned(), word.len()))
}

fn split_lines(value: &str) -> (String, Option<(usize, usize)>) {
    if let Some((path, range)) = value.rsplit_once(':')
        && !path.is_empty()
    {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        if let (Ok(from), Ok(to)) = (from.parse::<usize>(), to.parse::<usize>())
            && from > 0
            && to >= from
        {
            return (path.to_owned(), Some((from, to)));
        }
    }
    (value.to_owned(), None)
}

/// Appends what the text refers to. `window` bounds how much, in tokens.
pub async fn expand(text: &str, root: &Path, home: &Path, window: u64) -> Expanded {
    let references = parse_references(text);
    if references.is_empty() {
        return Expanded {
            text: text.to_owned(),
            warnings: Vec::new(),
        };
    }
    let mut plain = String::new();
    let mut from = 0;
    let mut sections = Vec::new();
    let mut warnings = Vec::new();
    for (range, reference) in references {
        plain.push_str(&text[from..range.start]);
        from = range.end;
        let label = text[range].to_owned();
        match load(&reference, root, home).await {
            Ok(content) => sections.push(format!("### {label}\n{content}")),
            Err(why) => warnings.push(format!("{label}: {why}")),
        }
    }
    plain.push_str(&text[from..]);
    let attached = sections.join("\n\n");
    let tokens = (attached.len() / 4) as u64;
    let mut out = plain
        .lines()
        .map(|line| {
            line.split(' ')
                .filter(|word| !word.is_empty())
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect::<Vec<_>>()
        .join("\n")
        .trim()
        .to_owned();
    let blocked = tokens * 100 > window * BLOCK_SHARE;
    if blocked {
        warnings.push(format!(
            "what is referred to is about {tokens} tokens, more than half of the context; nothing was attached"
        ));
    } else if tokens * 100 > window * WARN_SHARE {
        warnings.push(format!(
            "what is attached is about {tokens} tokens, more than a quarter of the context"
        ));
    }
    if !warnings.is_empty() {
        out.push_str("\n\n--- Context Warnings ---\n");
        out.push_str(
            &warnings
                .iter()
                .map(|warning| format!("- {warning}"))
                .collect::<Vec<_>>()
                .join("\n"),
        );
    }
    if !blocked && !attached.is_empty() {
        out.push_str("\n\n--- Attached Context ---\n");
        out.push_str(&attached);
    }
    Expanded {
        text: out,
        warnings,
    }
}

async fn load(reference: &Reference, root: &Path, home: &Path) -> Result<String, String> {
    match reference {
        Reference::File { path, lines } => file(&allowed(path, root, home)?, *lines),
        Reference::Folder(path) => folder(&allowed(path, root, home)?),
        Reference::Diff => git(root, &["diff"]).await,
        Reference::Staged => git(root, &["diff", "--staged"]).await,
        Reference::Git(count) if (1..=MAX_COMMITS).contains(count) => {
            git(root, &["log", &format!("-{count}"), "-p"]).await
        }
        Reference::Git(_) => Err(format!(
            "between 1 and {MAX_COMMITS} commits can be attached"
        )),
        Reference::Url(_) => Err("pages cannot be attached; ask for them to be read".to_owned()),
    }
}

/// The real path, if it lies inside the root and holds no credentials.
fn allowed(path: &str, root: &Path, home: &Path) -> Result<PathBuf, String> {
    const SECRET: [&str; 15] = [
        ".ssh",
        ".aws",
        ".gnupg",
        ".kube",
        ".docker",
        ".azure",
        "gh",
        ".bashrc",
        ".zshrc",
        ".profile",
        ".netrc",
        ".pgpass",
        ".npmrc",
        ".pypirc",
        ".bash_profile",
    ];
    let root = root
        .canonicalize()
        .map_err(|error| format!("the working directory cannot be read: {error}"))?;
    let wanted = if Path::new(path).is_absolute() {
        PathBuf::from(path)
    } else {
        root.join(path)
    };
    let real = wanted
        .canonicalize()
        .map_err(|_| "no such file or directory".to_owned())?;
    if !real.starts_with(&root) {
        return Err("it lies outside the working directory".to_owned());
    }
    let names = real
        .strip_prefix(&root)
        .unwrap_or(&real)
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned());
    let is_secret_name = names
        .into_iter()
        .any(|name| name != "gh" && SECRET.contains(&name.as_str()));
    let home = home.canonicalize().unwrap_or_else(|_| home.to_owned());
    let in_home_secret = real == home.join(".env")
        || real == home.join("auth.json")
        || real.starts_with(home.join("skills/.hub"))
        || real.ends_with(".config/gh/hosts.yml");
    if is_secret_name || in_home_secret {
        return Err("it may hold credentials".to_owned());
    }
    Ok(real)
}

fn file(path: &Path, lines: Option<(usize, usize)>) -> Result<String, String> {
    if path.is_dir() {
        return Err("it is a directory; use @folder:".to_owned());
    }
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    if bytes.iter().take(8192).any(|byte| *byte == 0) {
        return Err("it is a binary file".to_owned());
    }
    let text = String::from_utf8_lossy(&bytes);
    let text = match lines {
        Some((from, to)) => text
            .lines()
            .skip(from - 1)
            .take(to - from + 1)
            .collect::<Vec<_>>()
            .join("\n"),
        None => text.into_owned(),
    };
    let fence = if text.contains("```") { "````" } else { "```" };
    Ok(format!("{fence}\n{}\n{fence}", text.trim_end()))
}

fn folder(path: &Path) -> Result<String, String> {
    if !path.is_dir() {
        return Err("it is not a directory".to_owned());
    }
    let mut entries = Vec::new();
    list(path, path, 0, &mut entries);
    entries.sort();
    let more = entries.len() > FOLDER_ENTRIES;
    entries.truncate(FOLDER_ENTRIES);
    if more {
        entries.push("[…]".to_owned());
    }
    Ok(entries.join("\n"))
}

fn list(base: &Path, directory: &Path, depth: usize, entries: &mut Vec<String>) {
    if depth > 6 || entries.len() > FOLDER_ENTRIES {
        return;
    }
    let mut found: Vec<PathBuf> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    found.sort();
    for path in found {
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        if name.starts_with('.')
            || matches!(name.as_str(), "node_modules" | "target" | "__pycache__")
        {
            continue;
        }
        let shown = path
            .strip_prefix(base)
            .unwrap_or(&path)
            .display()
            .to_string();
        if path.is_dir() {
            entries.push(format!("{shown}/"));
            list(base, &path, depth + 1, entries);
        } else {
            entries.push(shown);
        }
    }
}

async fn git(root: &Path, arguments: &[&str]) -> Result<String, String> {
    let command = Command::new("git")
        .args(["-c", "core.pager=cat", "--no-optional-locks"])
        .args(arguments.iter().copied())
        .directory(root);
    let captured = output(command, Limits::seconds(GIT_SECONDS))
        .await
        .map_err(|error| error.to_string())?;
    if !captured.success() {
        return Err(captured
            .stderr_text()
            .lines()
            .next()
            .unwrap_or("git failed")
            .to_owned());
    }
    let text = captured.stdout_text();
    if text.trim().is_empty() {
        return Err("there is nothing to show".to_owned());
    }
    Ok(format!("```diff\n{}\n```", text.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn parsed(text: &str) -> Vec<Reference> {
        parse_references(text)
            .into_iter()
            .map(|(_, one)| one)
            .collect()
    }

    fn path(path: &str, lines: Option<(usize, usize)>) -> Reference {
        Reference::File {
            path: path.to_owned(),
            lines,
        }
    }

    #[test]
    fn references_are_found_where_they_are_meant() {
        assert_eq!(
            parsed("look at @file:src/main.rs, please"),
            [path("src/main.rs", None)]
        );
        assert_eq!(parsed("(@file:a.rs:3-5)"), [path("a.rs", Some((3, 5)))]);
        assert_eq!(
            parsed("@file:\"a b.txt\":7"),
            [path("a b.txt", Some((7, 7)))]
        );
        assert_eq!(
            parsed("@diff and @staged @git:3"),
            [Reference::Diff, Reference::Staged, Reference::Git(3)]
        );
        assert_eq!(parsed("@folder:docs."), [Reference::Folder("docs".into())]);
        assert_eq!(parsed("me@file:x a/@file:y @different @file @filex:y"), []);
    }

    #[tokio::test]
    async fn files_are_attached_and_the_outside_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().join("project");
        fs::create_dir_all(root.join("sub/.ssh")).unwrap();
        fs::write(root.join("a.txt"), "one\ntwo\nthree\n").unwrap();
        fs::write(root.join("b.bin"), [0, 1, 2]).unwrap();
        fs::write(root.join("sub/.ssh/id"), "key").unwrap();
        fs::write(scratch.path().join("secret"), "x").unwrap();
        let home = scratch.path().join("home");
        let text = "see @file:a.txt:2 now @file:../secret @file:b.bin @file:sub/.ssh/id @folder:.";
        let out = expand(text, &root, &home, 200_000).await;
        assert_eq!(
            out.text,
            "see now\n\n--- Context Warnings ---\n\
             - @file:../secret: it lies outside the working directory\n\
             - @file:b.bin: it is a binary file\n\
             - @file:sub/.ssh/id: it may hold credentials\n\n\
             --- Attached Context ---\n### @file:a.txt:2\n```\ntwo\n```\n\n### @folder:.\na.txt\nb.bin\nsub/"
        );
        assert_eq!(out.warnings.len(), 3);
    }

    #[tokio::test]
    async fn too_much_is_not_attached_at_all() {
        let scratch = tempfile::tempdir().unwrap();
        fs::write(scratch.path().join("big"), "x".repeat(10_000)).unwrap();
        let out = expand("@file:big", scratch.path(), scratch.path(), 4_000).await;
        assert!(!out.text.contains("Attached Context"));
        assert!(out.warnings[0].contains("nothing was attached"));
        let out = expand("@file:big", scratch.path(), scratch.path(), 8_000).await;
        assert!(out.text.contains("Attached Context"));
        assert_eq!(out.warnings.len(), 1);
    }
}
