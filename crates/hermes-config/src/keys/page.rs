//! The reference page of all keys, made from the table.

use std::fmt::Write;

use super::key::{Default, Key};
use super::keys;

const INTRO: &str = "\
# Configuration keys

Settings live in `config.yaml` in the home directory. Per key, the default is overruled
by the environment and `.env`, those by an explicit key in `config.yaml`, that by
`-c KEY=VALUE` on the command line. `hermes config show --sources` says where each value
comes from; `hermes config set KEY VALUE` changes one line and leaves the others alone.

*planned* marks keys that are known and kept, but that nothing reads yet.

This page is made from the table in `crates/hermes-config/src/keys`.
";

/// The page as Markdown.
pub fn page() -> String {
    let mut sections: Vec<(&str, Vec<&Key>)> = vec![("", Vec::new())];
    for key in keys() {
        let name = section_of(key.name);
        match sections.iter_mut().find(|(section, _)| *section == name) {
            Some((_, keys)) => keys.push(key),
            None => sections.push((name, vec![key])),
        }
    }
    let mut out = INTRO.to_owned();
    for (name, keys) in sections {
        let title = if name.is_empty() { "Top level" } else { name };
        let _ = write!(
            out,
            "\n## {title}\n\n| Key | Type | Default | Variable | Meaning |\n|---|---|---|---|---|\n"
        );
        for key in keys {
            row(key, &mut out);
        }
    }
    out
}

/// Keys are grouped by their first part; those without a dot come first.
fn section_of(name: &str) -> &str {
    name.split_once('.').map_or("", |(section, _)| section)
}

fn row(key: &Key, out: &mut String) {
    let mut about = key.about.replace('|', "\\|");
    if !key.choices.is_empty() {
        let choices: Vec<String> = key.choices.iter().map(|c| format!("`{c}`")).collect();
        let _ = write!(about, " ({})", choices.join(", "));
    }
    if key.planned {
        about.push_str("; *planned*");
    }
    let variable = key.env.map_or_else(String::new, |name| format!("`{name}`"));
    let _ = writeln!(
        out,
        "| `{}` | {} | {} | {variable} | {about} |",
        key.name,
        key.kind.word(),
        default_text(key.default)
    );
}

fn default_text(default: Default) -> String {
    match default.value() {
        None => String::new(),
        Some(value) => format!("`{value}`"),
    }
}
