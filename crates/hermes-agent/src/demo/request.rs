//! Which of the known shapes a request has. English, forgiving about articles
//! and case, never about what is quoted: names and commands are taken as written.

use super::{board, notice};

/// One thing that the planner can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Task {
    List {
        path: String,
    },
    Read {
        path: String,
    },
    Run {
        command: String,
    },
    Start {
        command: String,
    },
    Search {
        text: String,
        path: String,
    },
    Replace {
        old: String,
        new: String,
        path: String,
    },
    Write {
        path: String,
        content: String,
    },
    Remember {
        fact: String,
    },
    /// What a worker is told: take up a card of the board and see it through.
    Work {
        id: String,
    },
    /// Look at the board.
    Board,
    /// Put a card on the board.
    Card {
        title: String,
        assignee: String,
        body: Option<String>,
    },
    /// Nobody asked: the program told something.
    Notice {
        text: String,
    },
    Help,
}

/// A request may chain several with "then" or line breaks.
pub(super) fn understand(text: &str) -> Vec<Task> {
    if notice::is_notice(text) {
        return vec![Task::Notice {
            text: text.to_owned(),
        }];
    }
    let tasks: Vec<Task> = sentences(text)
        .iter()
        .map(|sentence| task(sentence))
        .collect();
    match tasks.iter().any(|task| *task != Task::Help) {
        true => tasks
            .into_iter()
            .filter(|task| *task != Task::Help)
            .collect(),
        false => vec![Task::Help],
    }
}

/// Splits at line breaks and at "then", but not within quotes.
fn sentences(text: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut quote: Option<char> = None;
    for word in text.split_inclusive([' ', '\n']) {
        let bare = word.trim().trim_matches(',').to_ascii_lowercase();
        if quote.is_none() && bare == "then" {
            out.push(String::new());
            continue;
        }
        for c in word.chars() {
            match quote {
                Some(open) if c == open => quote = None,
                None if matches!(c, '`' | '"') => quote = Some(c),
                _ => {}
            }
        }
        if let Some(sentence) = out.last_mut() {
            sentence.push_str(word);
        }
        if quote.is_none() && word.ends_with('\n') {
            out.push(String::new());
        }
    }
    out.iter()
        .map(|s| {
            s.trim()
                .trim_end_matches(['.', ',', '!', '?', ';'])
                .trim_end_matches(" and")
        })
        .map(|s| s.trim_end_matches(',').trim().to_owned())
        .filter(|s| !s.is_empty())
        .collect()
}

fn task(sentence: &str) -> Task {
    let sentence = strip_politeness(sentence);
    let lower = sentence.to_ascii_lowercase();
    if let Some(task) = board::shape(sentence, &lower) {
        return task;
    }
    let after = |verbs: &[&str]| {
        verbs.iter().find_map(|verb| {
            let rest = lower.strip_prefix(verb)?;
            (rest.is_empty() || rest.starts_with(' ')).then(|| sentence[verb.len()..].trim())
        })
    };
    if let Some(rest) = after(&[
        "list",
        "ls",
        "what files are",
        "which files are",
        "show me the files",
    ]) {
        return Task::List {
            path: path_in(rest).unwrap_or_else(|| ".".to_owned()),
        };
    }
    if let Some(rest) = after(&["replace", "change"])
        && let Some(task) = replacement(rest)
    {
        return task;
    }
    if let Some(rest) = after(&["create", "write"])
        && let Some(task) = creation(rest)
    {
        return task;
    }
    if let Some(rest) = after(&[
        "search for",
        "search",
        "find",
        "grep for",
        "grep",
        "look for",
    ]) {
        let (text, path) = split_last(rest, " in ");
        return Task::Search {
            text: unquoted(text),
            path: path.map_or_else(|| ".".to_owned(), bare_path),
        };
    }
    if let Some(rest) = after(&["start", "run", "execute"]) {
        let (command, background) = without_background(rest);
        let command = unquoted(command.trim_start_matches("the command").trim());
        if !command.is_empty() {
            let starts = background || lower.starts_with("start");
            return if starts {
                Task::Start { command }
            } else {
                Task::Run { command }
            };
        }
    }
    if let Some(rest) = after(&["read", "show", "cat", "open", "print"]) {
        let rest = rest
            .trim_start_matches("me ")
            .trim_start_matches("the ")
            .trim_start_matches("file ");
        if !rest.is_empty() {
            return Task::Read {
                path: bare_path(rest),
            };
        }
    }
    if let Some(rest) = after(&["remember that", "remember"])
        && !rest.is_empty()
    {
        return Task::Remember {
            fact: rest.to_owned(),
        };
    }
    Task::Help
}

fn strip_politeness(sentence: &str) -> &str {
    let mut rest = sentence.trim_start_matches(|c: char| c.is_ascii_digit() || ".)-* ".contains(c));
    loop {
        let lower = rest.to_ascii_lowercase();
        let polite = [
            "please ",
            "can you ",
            "could you ",
            "now ",
            "and ",
            "first ",
            "finally ",
        ];
        match polite.iter().find(|word| lower.starts_with(**word)) {
            Some(word) => rest = &rest[word.len()..],
            None => return rest,
        }
    }
}

/// `old with new in file`, each in quotes or bare.
fn replacement(rest: &str) -> Option<Task> {
    let (edit, path) = split_last(rest, " in ");
    let separator = if edit.contains(" with ") {
        " with "
    } else {
        " to "
    };
    let (old, new) = edit.split_once(separator)?;
    Some(Task::Replace {
        old: unquoted(old),
        new: unquoted(new),
        path: bare_path(path?),
    })
}

/// `a file NAME with TEXT`, `NAME containing TEXT`.
fn creation(rest: &str) -> Option<Task> {
    let (name, content) = [" containing ", " with the text ", " with "]
        .iter()
        .find_map(|separator| rest.split_once(separator))?;
    let mut content = unquoted(content).replace("\\n", "\n");
    if !content.ends_with('\n') {
        content.push('\n');
    }
    Some(Task::Write {
        path: bare_path(name),
        content,
    })
}

fn without_background(rest: &str) -> (&str, bool) {
    for ending in [" in the background", " in background"] {
        if let Some(command) = rest.strip_suffix(ending) {
            return (command, true);
        }
    }
    (rest, false)
}

fn path_in(rest: &str) -> Option<String> {
    let words = [
        "the files",
        "files",
        "all",
        "here",
        "there",
        "the directory",
        "directory",
    ];
    let mut rest = rest.trim();
    loop {
        let before = rest;
        for word in words.iter().chain(&["in", "of", "under"]) {
            rest = rest
                .strip_prefix(word)
                .filter(|r| r.is_empty() || r.starts_with(' '))
                .map_or(rest, str::trim);
        }
        if rest == before {
            break;
        }
    }
    (!rest.is_empty()).then(|| bare_path(rest))
}

pub(super) fn split_last<'t>(text: &'t str, separator: &str) -> (&'t str, Option<&'t str>) {
    match text.rsplit_once(separator) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

fn bare_path(text: &str) -> String {
    let text = text.trim();
    let text = [
        "the file ",
        "a file called ",
        "a file named ",
        "a file ",
        "file ",
        "the ",
    ]
    .iter()
    .find_map(|article| text.strip_prefix(article))
    .unwrap_or(text);
    unquoted(text)
}

pub(super) fn unquoted(text: &str) -> String {
    let text = text.trim();
    for quote in ['`', '"', '\''] {
        let inner = text
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote));
        if let Some(inner) = inner {
            return inner.to_owned();
        }
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn only(text: &str) -> Task {
        let mut tasks = understand(text);
        assert_eq!(tasks.len(), 1, "{text}: {tasks:?}");
        tasks.remove(0)
    }

    fn path(text: &str) -> String {
        text.to_owned()
    }

    #[test]
    fn shapes_are_recognised_in_several_wordings() {
        for text in ["list files", "List the files here", "please list", "ls"] {
            assert_eq!(only(text), Task::List { path: path(".") }, "{text}");
        }
        assert_eq!(
            only("list the files in src/"),
            Task::List { path: path("src/") }
        );
        assert_eq!(
            only("read README.md"),
            Task::Read {
                path: path("README.md")
            }
        );
        assert_eq!(
            only("Show me the file `a b.txt`."),
            Task::Read {
                path: path("a b.txt")
            }
        );
        assert_eq!(
            only("run `ls | wc -l`"),
            Task::Run {
                command: path("ls | wc -l")
            }
        );
        assert_eq!(
            only("run cargo test"),
            Task::Run {
                command: path("cargo test")
            }
        );
        assert_eq!(
            only("start `sleep 5; echo done` in the background"),
            Task::Start {
                command: path("sleep 5; echo done")
            }
        );
        assert_eq!(
            only("search for TODO in src"),
            Task::Search {
                text: path("TODO"),
                path: path("src")
            }
        );
        assert_eq!(
            only("replace \"a b\" with \"c\" in notes.txt"),
            Task::Replace {
                old: path("a b"),
                new: path("c"),
                path: path("notes.txt")
            }
        );
        assert_eq!(
            only("create a file notes.txt with hello"),
            Task::Write {
                path: path("notes.txt"),
                content: path("hello\n")
            }
        );
        assert_eq!(
            only("remember that I like tabs"),
            Task::Remember {
                fact: path("I like tabs")
            }
        );
        assert_eq!(only("what is the meaning of life?"), Task::Help);
    }

    #[test]
    fn requests_can_be_chained() {
        let tasks =
            understand("create a.txt with one, then replace one with two in a.txt then read a.txt");
        assert_eq!(tasks.len(), 3, "{tasks:?}");
        assert_eq!(
            tasks[2],
            Task::Read {
                path: path("a.txt")
            }
        );
        assert_eq!(understand("1. list files\n2. run `date`").len(), 2);
    }

    #[test]
    fn then_inside_quotes_is_part_of_the_command() {
        assert_eq!(
            only("run `if true; then echo hi; fi`"),
            Task::Run {
                command: path("if true; then echo hi; fi")
            }
        );
    }

    proptest! {
        #[test]
        fn any_text_is_understood_somehow(text in "\\PC{0,80}") {
            prop_assert!(!understand(&text).is_empty());
        }
    }
}
