//! Slash commands: one catalogue for help, completion and dispatch.

mod catalogue;

pub use catalogue::{CATALOGUE, NOT_BUILT};

/// Who carries the command out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The front end itself: it is about its own screen or queue.
    FrontEnd,
    /// The program around it: sessions, models, settings.
    Program,
    /// The verb of the same name, with the same arguments and output.
    Verb,
}

/// Whether it may run while a turn does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Always,
    /// Looked at at once; what it changes takes hold after the running turn.
    Soon,
    /// After the running turn.
    Idle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlashCommand {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    /// Arguments, as help shows them.
    pub usage: &'static str,
    pub summary: &'static str,
    pub by: By,
    pub when: When,
    /// Whether it throws something away and is asked about first.
    pub confirmed: bool,
}

impl SlashCommand {
    const fn confirmed(mut self) -> Self {
        self.confirmed = true;
        self
    }
}

/// Stands for a command that only the program knows: one of the configuration, or
/// a skill. Its name and arguments are the arguments.
pub const OWN: &str = "own";

/// Splits `/name arguments`. A path is no command: its first word has more slashes.
pub fn split(input: &str) -> Option<(&str, &str)> {
    let rest = input.strip_prefix('/')?;
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    (!name.is_empty() && !name.contains('/')).then(|| (name, arguments.trim()))
}

/// The arguments without the words that say yes in advance.
pub fn without_consent(arguments: &str) -> (String, bool) {
    if arguments == "now" {
        return (String::new(), true);
    }
    let consents = |word: &&str| matches!(*word, "--yes" | "-y");
    if !arguments.split_whitespace().any(|word| consents(&word)) {
        return (arguments.to_owned(), false);
    }
    let kept: Vec<&str> = arguments
        .split_whitespace()
        .filter(|word| !consents(word))
        .collect();
    (kept.join(" "), true)
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    #[error("there is no command /{0}; /help lists them")]
    Unknown(String),
    #[error("/{0} is not built yet; /help lists what is")]
    NotBuilt(String),
    #[error("/{name} may mean {}", candidates.iter().map(|c| format!("/{c}")).collect::<Vec<_>>().join(", "))]
    Ambiguous {
        name: String,
        candidates: Vec<&'static str>,
    },
}

impl SlashCommand {
    /// Whether this is its name or an alias, in any case.
    pub fn is_called(&self, name: &str) -> bool {
        let mut names = self.aliases.iter().chain([&self.name]);
        names.any(|own| own.eq_ignore_ascii_case(name))
    }
}

/// By name or alias in any case, else by a beginning that only one has.
pub fn find(name: &str) -> Result<&'static SlashCommand, LookupError> {
    let name = name.to_lowercase();
    let exact =
        |command: &&SlashCommand| command.name == name || command.aliases.contains(&name.as_str());
    if let Some(command) = CATALOGUE.iter().find(exact) {
        return Ok(command);
    }
    let candidates: Vec<&SlashCommand> = CATALOGUE
        .iter()
        .filter(|command| command.name.starts_with(&name))
        .collect();
    match candidates.as_slice() {
        _ if NOT_BUILT.contains(&name.as_str()) => Err(LookupError::NotBuilt(name)),
        [] => Err(LookupError::Unknown(name)),
        [only] => Ok(only),
        several => Err(LookupError::Ambiguous {
            name,
            candidates: several.iter().map(|command| command.name).collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn names_and_aliases_are_unique() {
        let mut seen = HashSet::new();
        for command in CATALOGUE {
            for name in command.aliases.iter().chain([&command.name]) {
                assert!(seen.insert(*name), "/{name} twice");
            }
        }
        for name in NOT_BUILT {
            assert!(seen.insert(*name), "/{name} is built");
            assert_eq!(find(name), Err(LookupError::NotBuilt((*name).into())));
        }
    }

    #[test]
    fn a_unique_beginning_is_enough() {
        assert_eq!(find("HELP").unwrap().name, "help");
        assert_eq!(find("exit").unwrap().name, "quit");
        assert_eq!(find("comp").unwrap().name, "compress");
        assert!(matches!(find("s"), Err(LookupError::Ambiguous { .. })));
        assert_eq!(find("nope"), Err(LookupError::Unknown("nope".into())));
    }

    #[test]
    fn paths_are_no_commands() {
        assert_eq!(split("/usr/bin/ls -l"), None);
        assert_eq!(split("/title  a b "), Some(("title", "a b")));
        assert_eq!(split("/"), None);
    }
}
