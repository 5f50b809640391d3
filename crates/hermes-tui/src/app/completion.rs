//! The menu below the input: slash commands, their arguments, paths.

use std::path::Path;

use hermes_agent::slash::{CATALOGUE, SlashCommand};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::picker::cut;
use crate::markdown::display_width;
use crate::theme::Theme;

const MOST: usize = 30;
const ROWS: usize = 8;

/// Words that only the program knows: models, sessions, skills.
pub trait Completer: Send {
    /// Possible arguments of a command: word and description.
    fn arguments(&self, command: &str) -> Vec<(String, String)>;

    /// Commands that the catalogue does not have: name and description.
    fn commands(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Where relative paths begin.
    fn directory(&self) -> &Path;

    fn user_home(&self) -> &Path;

    /// Files below the directory, relative to it; as many as can be looked through.
    fn project_files(&self) -> Vec<String> {
        Vec::new()
    }
}

/// What a message can refer to, besides files by their name.
const REFERENCES: [(&str, &str); 6] = [
    ("@file:", "a file; `:10-20` behind it takes lines"),
    ("@folder:", "what is in a folder"),
    ("@diff", "what you changed and did not stage"),
    ("@staged", "what is staged"),
    ("@git:", "the last commits: `@git:3`"),
    ("@url:", "a page"),
];

/// An open menu: what would be put in the place of the word before the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Menu {
    pub(super) start: usize,
    pub(super) entries: Vec<(String, String)>,
    pub(super) selected: usize,
}

impl Menu {
    /// The menu for a text with the cursor at its end, when there is any.
    pub(super) fn open(text: &str, completer: &dyn Completer) -> Option<Self> {
        let (start, entries) = match text.strip_prefix('/') {
            Some(rest) if !text.contains('\n') => match rest.split_once(' ') {
                None if rest.contains('/') => paths(text, completer)?,
                None => (0, commands(rest, completer)),
                Some((name, argument)) => {
                    let word = argument.rsplit(' ').next().unwrap_or("");
                    let command = hermes_agent::slash::find(name).ok()?;
                    let mut entries = completer.arguments(command.name);
                    entries.retain(|(entry, _)| entry.starts_with(word));
                    if entries.is_empty() && command.name == "image" {
                        paths(text, completer)?
                    } else {
                        (text.len() - word.len(), entries)
                    }
                }
            },
            _ => paths(text, completer)?,
        };
        // One entry that is there already helps nobody.
        let done = entries.len() == 1 && entries[0].0.trim_end() == &text[start..];
        (!entries.is_empty() && !done).then_some(Self {
            start,
            entries,
            selected: 0,
        })
    }

    /// Whether the text is an entry already.
    pub(super) fn has(&self, text: &str) -> bool {
        self.entries.iter().any(|(word, _)| word.trim_end() == text)
    }

    pub(super) fn lines(&self, width: usize, theme: Theme) -> Vec<Line<'static>> {
        let widest = self
            .entries
            .iter()
            .map(|(word, _)| display_width(word))
            .max()
            .unwrap_or(0)
            .min(width / 2);
        let first = self.selected.saturating_sub(ROWS - 1);
        let shown = self.entries.iter().enumerate().skip(first).take(ROWS);
        shown
            .map(|(index, (word, description))| {
                let style = if index == self.selected {
                    theme.selected
                } else {
                    Style::new()
                };
                let word = cut(word, widest.max(4));
                let pad = " ".repeat(widest.saturating_sub(display_width(&word)));
                let mark = if index == self.selected { "❯ " } else { "  " };
                let room = width.saturating_sub(widest + 5);
                Line::from(vec![
                    Span::raw(mark),
                    Span::styled(word, style),
                    Span::styled(format!("{pad}  {}", cut(description, room)), theme.dim),
                ])
            })
            .collect()
    }
}

fn commands(beginning: &str, completer: &dyn Completer) -> Vec<(String, String)> {
    let lower = beginning.to_lowercase();
    let fits = |name: &&str| name.starts_with(&lower);
    let own = completer.commands().into_iter().filter(|(name, _)| {
        name.starts_with(&lower) && !CATALOGUE.iter().any(|command| command.is_called(name))
    });
    let entry = |command: &SlashCommand, name: &str| {
        let blank = if command.usage.is_empty() { "" } else { " " };
        (format!("/{name}{blank}"), command.summary.to_owned())
    };
    let named = CATALOGUE
        .iter()
        .filter(|command| fits(&command.name))
        .map(|command| entry(command, command.name));
    // Who typed half of another name means that one, after all that are called so.
    let renamed = CATALOGUE
        .iter()
        .filter(|command| !fits(&command.name))
        .filter_map(|command| {
            let alias = command.aliases.iter().find(|alias| fits(alias))?;
            Some(entry(command, alias))
        });
    named
        .chain(renamed)
        .chain(own.map(|(name, about)| (format!("/{name} "), about)))
        .collect()
}

/// A word that begins like a path, or `@` and a path.
fn paths(text: &str, completer: &dyn Completer) -> Option<(usize, Vec<(String, String)>)> {
    let start = text.rfind([' ', '\n']).map_or(0, |at| at + 1);
    let word = &text[start..];
    let (mark, path) = match word.strip_prefix('@') {
        Some(rest) => match (rest.strip_prefix("file:"), rest.strip_prefix("folder:")) {
            (Some(path), _) => ("@file:", path),
            (_, Some(path)) => ("@folder:", path),
            _ => return Some((start, references(rest, completer))),
        },
        None => ("", word),
    };
    let path_like = ["./", "../", "~/", "/"].iter().any(|p| path.starts_with(p));
    if !path_like && mark.is_empty() {
        return None;
    }
    let (folder, beginning) = path
        .rsplit_once('/')
        .map_or(("", path), |(f, b)| (&path[..f.len() + 1], b));
    let on_disk = match folder.strip_prefix("~/") {
        Some(rest) => completer.user_home().join(rest),
        None => completer.directory().join(folder),
    };
    let mut entries: Vec<(String, String)> = std::fs::read_dir(on_disk)
        .ok()?
        .filter_map(Result::ok)
        .take(2_000)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let hidden = name.starts_with('.') && !beginning.starts_with('.');
            if !name.starts_with(beginning) || hidden {
                return None;
            }
            let is_folder = entry.path().is_dir();
            if mark == "@folder:" && !is_folder {
                return None;
            }
            let slash = if is_folder { "/" } else { "" };
            Some((format!("{mark}{folder}{name}{slash}"), String::new()))
        })
        .collect();
    entries.sort();
    entries.truncate(MOST);
    Some((start, entries))
}

/// What `@` and a few letters may mean: a kind of reference, or a file of the
/// project whose name has these letters in this order.
fn references(letters: &str, completer: &dyn Completer) -> Vec<(String, String)> {
    let typed = format!("@{letters}");
    let mut entries: Vec<(String, String)> = REFERENCES
        .iter()
        .filter(|(word, _)| word.starts_with(&typed))
        .map(|(word, about)| ((*word).to_owned(), (*about).to_owned()))
        .collect();
    if letters.is_empty() {
        return entries;
    }
    let files = completer.project_files();
    let found = super::picker::best(letters, &files, String::as_str);
    entries.extend(
        found
            .into_iter()
            .take(MOST)
            .map(|file| (format!("@file:{file}"), String::new())),
    );
    entries
}
