//! Puts the words of a call into the shape that clap can parse. Pure.
//!
//! Three habits of the command line are no grammar that clap knows:
//!
//! - `-p NAME` and `-c KEY=VALUE` count wherever they stand, also among the
//!   arguments of a verb that takes any; they are moved to the front.
//! - `-c` and `-r` swallow the bare words that follow, up to an option or a verb,
//!   and join them: `hermes -c my old project`. The first word is always taken,
//!   so `hermes -c model` means the session called "model".
//! - After the verb `cron`, `--profile` belongs to the job, not to us.
//!
//! Nothing after `--` is touched.

use std::collections::VecDeque;
use std::ffi::OsString;

use clap::Command;

/// Rewrites the words of the process; the first is the program.
pub fn prepare(words: Vec<OsString>, command: &Command) -> Vec<OsString> {
    let mut words: VecDeque<OsString> = words.into();
    let mut front: Vec<OsString> = words.pop_front().into_iter().collect();
    let mut rest = Vec::new();
    let mut profile_taken = false;
    let mut verb: Option<String> = None;

    while let Some(word) = words.pop_front() {
        let Some(text) = word.to_str().map(str::to_owned) else {
            rest.push(word);
            continue;
        };
        if text == "--" {
            rest.push(word);
            rest.extend(words);
            break;
        }
        let next = words.front().and_then(|next| next.to_str());
        let own_profile = verb.as_deref() == Some("cron") && text.starts_with("--");
        let chatting = matches!(verb.as_deref(), None | Some("chat"));

        if !own_profile && let Some((name, consumed)) = profile_option(&text, next) {
            if !profile_taken {
                front.push(format!("--profile={name}").into());
                profile_taken = true;
            }
            words.drain(..consumed);
        } else if let Some((assignment, consumed)) = config_option(&text, next) {
            front.push(format!("--config={assignment}").into());
            words.drain(..consumed);
        } else if chatting && matches!(text.as_str(), "-c" | "--continue" | "-r" | "--resume") {
            let option = if text.ends_with('r') || text.ends_with("resume") {
                "--resume"
            } else {
                "--continue"
            };
            match swallow(&mut words, command) {
                Some(name) => rest.push(format!("{option}={name}").into()),
                None => rest.push(option.into()),
            }
        } else if text.starts_with('-') && text.len() > 1 {
            rest.push(word);
            if verb.is_none() && takes_value(&text, command) {
                rest.extend(words.pop_front());
            }
        } else {
            if verb.is_none() {
                verb = Some(text);
            }
            rest.push(word);
        }
    }
    front.extend(rest);
    front
}

/// The profile that `word` (with `next`) names, and how many further words it took.
/// A word after `-p` that cannot be a name leaves the option where it is: clap
/// hands it to us and the name gets its own error.
fn profile_option(word: &str, next: Option<&str>) -> Option<(String, usize)> {
    if let Some(name) = word.strip_prefix("--profile=") {
        return Some((name.to_owned(), 0));
    }
    let next = next?;
    let is_name = hermes_types::ProfileName::parse(next).is_ok();
    (matches!(word, "-p" | "--profile") && is_name).then(|| (next.to_owned(), 1))
}

/// A `KEY=VALUE` for this run, and how many further words it took.
fn config_option(word: &str, next: Option<&str>) -> Option<(String, usize)> {
    if let Some(assignment) = word.strip_prefix("--config=") {
        return Some((assignment.to_owned(), 0));
    }
    match word {
        "--config" => next.map(|next| (next.to_owned(), 1)),
        "-c" => next
            .filter(|next| is_assignment(next))
            .map(|next| (next.to_owned(), 1)),
        _ => {
            let attached = word.strip_prefix("-c").filter(|text| is_assignment(text))?;
            Some((attached.to_owned(), 0))
        }
    }
}

/// `key=…` or `section.key=…`: no spaces before the `=`, so that a sentence with
/// an equals sign in it stays a session's name.
fn is_assignment(text: &str) -> bool {
    let Some((key, _)) = text.split_once('=') else {
        return false;
    };
    key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && !key.ends_with('.')
        && key
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

fn swallow(words: &mut VecDeque<OsString>, command: &Command) -> Option<String> {
    let mut name: Vec<String> = Vec::new();
    while let Some(text) = words.front().and_then(|word| word.to_str()) {
        let is_verb = || command.find_subcommand(text).is_some();
        if text.starts_with('-') || (!name.is_empty() && is_verb()) {
            break;
        }
        name.push(text.to_owned());
        words.pop_front();
    }
    (!name.is_empty()).then(|| name.join(" "))
}

/// Whether the word after this option of the root is its value.
fn takes_value(word: &str, command: &Command) -> bool {
    command.get_arguments().any(|argument| {
        let names_it = word.strip_prefix("--").map_or_else(
            || {
                let mut characters = word.chars().skip(1);
                let short = characters.next();
                // `-mgpt` carries its value itself.
                characters.next().is_none() && short.is_some() && argument.get_short() == short
            },
            |long| argument.get_long() == Some(long),
        );
        names_it
            && argument.get_action().takes_values()
            && argument
                .get_num_args()
                .is_none_or(|range| range.min_values() > 0)
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn prepared(line: &str) -> String {
        let words = std::iter::once("hermes").chain(line.split_whitespace());
        let prepared = prepare(words.map(OsString::from).collect(), &crate::cli::command());
        let words: Vec<String> = prepared
            .into_iter()
            .skip(1)
            .map(|word| word.into_string().unwrap())
            .collect();
        words.join("|")
    }

    #[test]
    fn the_profile_counts_wherever_it_stands_and_the_first_wins() {
        assert_eq!(
            prepared("chat -p coder -q hi"),
            "--profile=coder|chat|-q|hi"
        );
        assert_eq!(prepared("-p Coder version"), "--profile=Coder|version");
        assert_eq!(
            prepared("version --profile=Coder"),
            "--profile=Coder|version"
        );
        assert_eq!(prepared("gateway run -p a -p b"), "--profile=a|gateway|run");
        assert_eq!(prepared("-p ../x version"), "-p|../x|version");
        assert_eq!(
            prepared("sandbox exec -- psql -p x"),
            "sandbox|exec|--|psql|-p|x"
        );
    }

    #[test]
    fn after_cron_the_long_profile_option_belongs_to_the_job() {
        assert_eq!(
            prepared("-p a cron create --profile builder"),
            "--profile=a|cron|create|--profile|builder"
        );
        assert_eq!(prepared("cron list -p a"), "--profile=a|cron|list");
    }

    #[test]
    fn c_with_a_key_is_config_and_with_anything_else_a_session() {
        assert_eq!(prepared("-c a.b=1 version"), "--config=a.b=1|version");
        assert_eq!(
            prepared("version -c model=x -ca.b="),
            "--config=model=x|--config=a.b=|version"
        );
        assert_eq!(prepared("-c my old project"), "--continue=my old project");
        assert_eq!(prepared("-c"), "--continue");
        assert_eq!(prepared("-c -m x"), "--continue|-m|x");
    }

    #[test]
    fn session_names_end_at_an_option_or_a_verb_but_the_first_word_is_always_taken() {
        assert_eq!(prepared("-c model"), "--continue=model");
        assert_eq!(
            prepared("-r my project chat -q hi"),
            "--resume=my project|chat|-q|hi"
        );
        assert_eq!(
            prepared("chat -r my project -q hi"),
            "chat|--resume=my project|-q|hi"
        );
        assert_eq!(prepared("sessions list -r x y"), "sessions|list|-r|x|y");
    }

    #[test]
    fn a_value_before_the_verb_is_not_the_verb() {
        assert_eq!(
            prepared("-m cron --profile a version"),
            "--profile=a|-m|cron|version"
        );
    }
}
