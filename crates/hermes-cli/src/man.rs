//! Manual pages, generated from the command tree: `hermes.1` and one page per verb.
//!
//! A small writer of our own: the pages need a title, a synopsis and two kinds of
//! list, and the tree is at hand.

use std::fmt::Write;

use clap::{Arg, Command};

use crate::cli;

/// File name and content of every page.
pub fn man_pages() -> Vec<(String, String)> {
    let mut tree = cli::command();
    tree.build();
    let mut pages = Vec::new();
    page(&tree, "hermes", &mut pages);
    pages
}

fn page(command: &Command, path: &str, pages: &mut Vec<(String, String)>) {
    let name = path.replace(' ', "-");
    let about = command
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default();
    let mut text = format!(
        ".TH {} 1 \"\" \"hermes {}\" \"Hermes\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B {}\n",
        quoted(&name.to_uppercase()),
        env!("CARGO_PKG_VERSION"),
        escaped(&name),
        escaped(about.trim()),
        escaped(path)
    );
    if command.get_opts().any(|option| !option.is_hide_set()) {
        text.push_str("[OPTIONS]\n");
    }
    for argument in command.get_positionals().filter(|a| !a.is_hide_set()) {
        let _ = writeln!(text, "{}", escaped(&argument.to_string()));
    }
    let verbs: Vec<&Command> = command
        .get_subcommands()
        .filter(|verb| !verb.is_hide_set())
        .collect();
    if !verbs.is_empty() {
        text.push_str("[VERB]\n");
    }
    if let Some(long) = command.get_long_about() {
        let _ = write!(text, ".SH DESCRIPTION\n{}\n", escaped(&long.to_string()));
    }
    let arguments: Vec<&Arg> = command
        .get_arguments()
        .filter(|argument| !argument.is_hide_set())
        .filter(|argument| path == "hermes" || !argument.is_global_set())
        .collect();
    if !arguments.is_empty() {
        text.push_str(".SH OPTIONS\n");
    }
    for argument in arguments {
        let label = match argument.get_short() {
            Some(short) if argument.get_long().is_some() => format!("-{short}, {argument}"),
            _ => argument.to_string(),
        };
        let help = argument
            .get_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        let _ = write!(text, ".TP\n.B {}\n{}\n", escaped(&label), escaped(&help));
    }
    if !verbs.is_empty() {
        text.push_str(".SH VERBS\n");
    }
    for verb in &verbs {
        let about = verb
            .get_about()
            .map(ToString::to_string)
            .unwrap_or_default();
        let _ = write!(
            text,
            ".TP\n.BR {} (1)\n{}\n",
            escaped(&format!("{name}-{}", verb.get_name())),
            escaped(&about)
        );
    }
    let after = command
        .get_after_long_help()
        .or_else(|| command.get_after_help());
    if let Some(after) = after {
        let _ = write!(text, ".SH NOTES\n{}\n", escaped(&after.to_string()));
    }
    pages.push((format!("{name}.1"), text));
    for verb in verbs.iter().filter(|verb| verb.get_name() != "help") {
        page(verb, &format!("{path} {}", verb.get_name()), pages);
    }
}

/// Text that roff takes as text: backslashes, hyphens that may be copied, and lines
/// that would be requests.
fn escaped(text: &str) -> String {
    text.trim()
        .lines()
        .map(|line| {
            let line = line.replace('\\', "\\e").replace('-', "\\-");
            match line.chars().next() {
                None => ".PP".to_owned(),
                Some('.' | '\'') => format!("\\&{line}"),
                Some(_) => line,
            }
        })
        .collect::<Vec<_>>()
        .join("\n")
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_has_a_page_and_no_line_is_a_stray_request() {
        let pages = man_pages();
        let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        for name in ["hermes.1", "hermes-config-set.1", "hermes-backup.1"] {
            assert!(names.contains(&name), "{names:?}");
        }
        for (name, text) in &pages {
            for line in text.lines().filter(|line| line.starts_with(['.', '\''])) {
                let known = [".TH ", ".SH ", ".TP", ".B ", ".BR ", ".PP"];
                assert!(known.iter().any(|k| line.starts_with(k)), "{name}: {line}");
            }
        }
    }

    #[test]
    fn text_cannot_become_a_request() {
        assert_eq!(
            escaped(".env holds keys\n\n-a\\b"),
            "\\&.env holds keys\n.PP\n\\-a\\eb"
        );
    }
}
