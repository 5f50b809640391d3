//! What may stand at one place of a line, from the live command tree.
//!
//! An argument tells what it takes by the name of its value: `PROFILE` is completed
//! with the profiles of this root, `KEY` and `KEY=VALUE` with config keys, `SLUG`
//! with boards, `TASK` and its kin with tasks.

use clap::{Arg, Command};
use hermes_home::profile::Profiles;
use hermes_kanban::command::completion as kanban;

use crate::{Context, cli};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) value: String,
    pub(super) about: Option<String>,
}

impl Candidate {
    fn new(value: impl Into<String>, about: Option<String>) -> Self {
        Self {
            value: value.into(),
            about,
        }
    }
}

/// The line up to the word that is being typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    before: Vec<String>,
    typed: String,
    /// What the shell regards as a word of its own before `typed`, as in
    /// `--profile=co`: found candidates leave it out.
    shown_from: usize,
}

impl Request {
    pub(super) fn new(words: &[String], position: usize) -> Self {
        Self {
            before: words.iter().take(position).skip(1).cloned().collect(),
            typed: words.get(position).cloned().unwrap_or_default(),
            shown_from: 0,
        }
    }

    /// Bash breaks words at `=`; here `--profile=co` is one again.
    pub(super) fn from_bash(words: &[String], position: usize) -> Self {
        let mut joined: Vec<String> = Vec::new();
        let mut shown_from = 0;
        let last = position.min(words.len().saturating_sub(1));
        let words = words.iter().take(last + 1);
        let mut after_equals = false;
        for word in words {
            shown_from = 0;
            match joined.last_mut() {
                Some(previous) if word == "=" && previous.starts_with("--") => {
                    previous.push('=');
                    shown_from = previous.len();
                    after_equals = true;
                }
                Some(previous) if after_equals => {
                    shown_from = previous.len();
                    previous.push_str(word);
                    after_equals = false;
                }
                _ => joined.push(word.clone()),
            }
        }
        let typed = joined.pop().unwrap_or_default();
        Self {
            before: joined.into_iter().skip(1).collect(),
            typed,
            shown_from,
        }
    }
}

/// Candidates that begin with what was typed, in the order of the tree.
pub(super) fn find(request: &Request, context: &Context) -> Vec<Candidate> {
    let mut tree = cli::command();
    tree.build();
    let place = Place::after(&request.before, &tree);
    let typed = request.typed.as_str();
    let mut found = match (&place.pending, typed.split_once('=')) {
        (Some(argument), _) => values(argument, request, typed, context),
        (None, Some((option, begun))) if option.starts_with("--") && !place.only_values => {
            let values = option_named(place.command, option)
                .map(|argument| values(argument, request, begun, context));
            let mut values = values.unwrap_or_default();
            for candidate in &mut values {
                candidate.value = format!("{option}={}", candidate.value);
            }
            values
        }
        _ if typed.starts_with('-') && !place.only_values => options(place.command),
        _ => place.words(request, context),
    };
    found.retain(|candidate| candidate.value.starts_with(typed));
    for candidate in &mut found {
        candidate
            .value
            .drain(..request.shown_from.min(candidate.value.len()));
    }
    found
}

/// Where in the tree the next word stands.
struct Place<'tree> {
    command: &'tree Command,
    /// The option whose value comes next.
    pending: Option<&'tree Arg>,
    /// How many values without an option were given.
    positionals: usize,
    /// After `--`.
    only_values: bool,
}

impl<'tree> Place<'tree> {
    fn after(words: &[String], tree: &'tree Command) -> Self {
        let mut place = Self {
            command: tree,
            pending: None,
            positionals: 0,
            only_values: false,
        };
        for word in words {
            place.step(word);
        }
        place
    }

    fn step(&mut self, word: &str) {
        if self.pending.take().is_some() {
            return;
        }
        if self.only_values {
            self.positionals += 1;
        } else if word == "--" {
            self.only_values = true;
        } else if word.starts_with('-') && word.len() > 1 {
            self.pending = option_named(self.command, word).filter(|argument| {
                argument.get_action().takes_values()
                    && argument
                        .get_num_args()
                        .is_none_or(|range| range.min_values() > 0)
            });
        } else if let Some(command) = self.command.find_subcommand(word) {
            self.command = command;
            self.positionals = 0;
        } else {
            self.positionals += 1;
        }
    }

    fn words(&self, request: &Request, context: &Context) -> Vec<Candidate> {
        let mut found = Vec::new();
        if self.positionals == 0 && !self.only_values {
            let verbs = self
                .command
                .get_subcommands()
                .filter(|verb| !verb.is_hide_set());
            found.extend(verbs.map(|verb| {
                Candidate::new(verb.get_name(), verb.get_about().map(ToString::to_string))
            }));
        }
        let mut positionals = self.command.get_positionals();
        // The last one may take many.
        let argument = positionals.nth(self.positionals).or_else(|| {
            let last = self.command.get_positionals().last()?;
            let many = last
                .get_num_args()
                .is_some_and(|range| range.max_values() > 1);
            many.then_some(last)
        });
        if let Some(argument) = argument {
            found.extend(values(argument, request, &request.typed, context));
        }
        found
    }
}

fn option_named<'tree>(command: &'tree Command, word: &str) -> Option<&'tree Arg> {
    command
        .get_arguments()
        .find(|argument| match word.strip_prefix("--") {
            Some(long) => argument.get_long() == Some(long),
            None => {
                let mut characters = word.chars().skip(1);
                let short = characters.next();
                characters.next().is_none() && short.is_some() && argument.get_short() == short
            }
        })
}

fn options(command: &Command) -> Vec<Candidate> {
    let shown = command
        .get_arguments()
        .filter(|argument| !argument.is_hide_set());
    shown
        .flat_map(|argument| {
            let about = argument.get_help().map(ToString::to_string);
            let long = argument.get_long().map(|long| format!("--{long}"));
            let short = argument.get_short().map(|short| format!("-{short}"));
            [long, short]
                .into_iter()
                .flatten()
                .map(move |name| Candidate::new(name, about.clone()))
        })
        .collect()
}

/// What may stand for `argument`. `begun`: what was typed of it.
fn values(argument: &Arg, request: &Request, begun: &str, context: &Context) -> Vec<Candidate> {
    let possible = argument.get_possible_values();
    if !possible.is_empty() {
        return possible
            .iter()
            .filter(|value| !value.is_hide_set())
            .map(|value| {
                Candidate::new(value.get_name(), value.get_help().map(ToString::to_string))
            })
            .collect();
    }
    let kind = argument
        .get_value_names()
        .and_then(|names| names.first())
        .map(|name| name.as_str());
    match kind {
        Some("PROFILE") => profiles(context),
        Some("KEY") => keys(""),
        Some("KEY=VALUE") => keys("="),
        Some("SLUG") => named(kanban::boards(&context.home, &context.environment)),
        Some("TASK" | "TASK_ID" | "TASK_IDS" | "PARENT_ID" | "CHILD_ID") => named(kanban::tasks(
            &context.home,
            &context.environment,
            &request.before,
            begun,
        )),
        _ => Vec::new(),
    }
}

fn named(found: Vec<(String, String)>) -> Vec<Candidate> {
    found
        .into_iter()
        .map(|(name, about)| Candidate::new(name, Some(about.replace(['\n', '\t'], " "))))
        .collect()
}

fn profiles(context: &Context) -> Vec<Candidate> {
    let profiles = Profiles::new(&context.home, context.policy())
        .list()
        .unwrap_or_default();
    profiles
        .into_iter()
        .map(|name| Candidate::new(name.as_str(), None))
        .collect()
}

fn keys(suffix: &str) -> Vec<Candidate> {
    let keys = hermes_config::keys()
        .iter()
        .filter(|key| !key.name.contains('<'));
    keys.map(|key| Candidate::new(format!("{}{suffix}", key.name), Some(key.about.to_owned())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_home::Clock;
    use pretty_assertions::assert_eq;

    fn completed(line: &str) -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        for name in ["coder", "cook", "builder"] {
            std::fs::create_dir_all(directory.path().join("profiles").join(name)).unwrap();
        }
        let context = Context::for_tests(directory.path(), Clock::System);
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let found = find(&Request::new(&words, words.len() - 1), &context);
        found.into_iter().map(|candidate| candidate.value).collect()
    }

    #[test]
    fn verbs_and_their_verbs() {
        assert_eq!(completed("hermes prof"), ["profile"]);
        assert_eq!(completed("hermes profile re"), ["rename"]);
        assert_eq!(completed("hermes -p coder profile us"), ["use"]);
        assert!(completed("hermes ").contains(&"logs".to_owned()));
        assert!(!completed("hermes ").contains(&"__complete".to_owned()));
    }

    #[test]
    fn options_of_the_verb_and_those_of_every_verb() {
        assert_eq!(completed("hermes profile list --js"), ["--json"]);
        assert_eq!(completed("hermes logs --prof"), ["--profile"]);
        assert!(completed("hermes logs -").contains(&"-f".to_owned()));
        assert_eq!(completed("hermes logs -- --prof"), Vec::<String>::new());
    }

    #[test]
    fn profile_names_where_a_profile_is_wanted() {
        assert_eq!(completed("hermes -p co"), ["coder", "cook"]);
        assert_eq!(completed("hermes logs --profile=b"), ["--profile=builder"]);
        assert_eq!(completed("hermes profile use co"), ["coder", "cook"]);
        assert_eq!(completed("hermes profile delete -y b"), ["builder"]);
        assert_eq!(
            completed("hermes profile use coder co"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn config_keys_where_a_key_is_wanted() {
        assert_eq!(
            completed("hermes --config terminal.back"),
            ["terminal.backend="]
        );
    }

    #[test]
    fn bash_breaks_at_equals_signs() {
        let words: Vec<String> = ["hermes", "--profile", "=", "co"].map(str::to_owned).into();
        assert_eq!(
            Request::from_bash(&words, 3),
            Request {
                before: vec![],
                typed: "--profile=co".to_owned(),
                shown_from: 10
            }
        );
        assert_eq!(Request::from_bash(&words, 2).typed, "--profile=");
        assert_eq!(Request::from_bash(&words, 1).typed, "--profile");
    }
}
