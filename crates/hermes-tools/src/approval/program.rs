//! Which program a simple command really starts, behind `sudo`, `env`, `nohup`…

use super::shell::{Simple, assignment};

/// A simple command with its wrappers taken off.
#[derive(Debug)]
pub(crate) struct Call<'c> {
    /// Base name in lower case.
    pub(crate) name: String,
    pub(crate) arguments: &'c [String],
    pub(crate) simple: &'c Simple,
    /// The wrappers in front, outermost first.
    pub(crate) wrappers: Vec<String>,
}

/// Wrappers, and which of their options take a value of their own.
const WRAPPERS: &[(&str, &[&str])] = &[
    (
        "sudo",
        &[
            "-u", "-g", "-h", "-p", "-C", "-r", "-t", "-T", "-U", "-D", "-R",
        ],
    ),
    ("doas", &["-u", "-C"]),
    ("env", &["-u", "-C", "-S"]),
    ("exec", &["-a"]),
    ("nohup", &[]),
    ("coproc", &[]),
    ("chroot", &[]),
    ("setsid", &[]),
    ("time", &["-f", "-o"]),
    ("command", &[]),
    ("builtin", &[]),
    ("nice", &["-n"]),
    ("ionice", &["-c", "-n"]),
    ("stdbuf", &["-i", "-o", "-e"]),
    ("timeout", &["-s", "-k"]),
    ("chrt", &["-p"]),
    ("busybox", &[]),
    ("watch", &["-n"]),
    ("unbuffer", &[]),
    ("caffeinate", &[]),
];

impl<'c> Call<'c> {
    /// `None` for a command of assignments and redirects only.
    pub(crate) fn of(simple: &'c Simple) -> Option<Self> {
        let mut words = simple.words.as_slice();
        let mut wrappers = Vec::new();
        loop {
            while words.first().is_some_and(|word| assignment(word).is_some()) {
                words = &words[1..];
            }
            let (first, rest) = words.split_first()?;
            let name = base_name(first);
            let wrapper = WRAPPERS.iter().find(|(wrapper, _)| *wrapper == name);
            let inner = wrapper.map(|(_, valued)| skip_options(&name, rest, valued));
            match inner {
                Some(inner) if !inner.is_empty() => {
                    wrappers.push(name);
                    words = inner;
                }
                _ => {
                    return Some(Self {
                        name,
                        arguments: rest,
                        simple,
                        wrappers,
                    });
                }
            }
        }
    }

    /// A short flag, alone or in a cluster: `-rf` has `r` and `f`.
    pub(crate) fn has_short(&self, flag: char) -> bool {
        self.arguments
            .iter()
            .any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(flag))
    }

    pub(crate) fn has_long(&self, flag: &str) -> bool {
        self.arguments.iter().any(|word| {
            word.strip_prefix("--").is_some_and(|name| {
                let name = name.split('=').next().unwrap_or(name);
                // GNU accepts any unique beginning.
                name == flag || (name.len() >= 3 && flag.starts_with(name))
            })
        })
    }

    pub(crate) fn has_word(&self, word: &str) -> bool {
        self.arguments
            .iter()
            .any(|argument| argument.eq_ignore_ascii_case(word))
    }

    /// Arguments that are no options.
    pub(crate) fn operands(&self) -> impl Iterator<Item = &'c str> {
        self.arguments
            .iter()
            .map(String::as_str)
            .filter(|word| !word.starts_with('-'))
    }

    /// Operands as absolute paths, as far as the text tells.
    pub(crate) fn places(&self) -> impl Iterator<Item = String> {
        self.operands().map(|word| self.simple.placed(word))
    }

    pub(crate) fn is_recursive(&self) -> bool {
        self.has_short('r') || self.has_short('R') || self.has_long("recursive")
    }

    pub(crate) fn is_one_of(&self, names: &[&str]) -> bool {
        names.contains(&self.name.as_str())
    }

    /// Like `name ==`, seeing through `/bin/r?`.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        if self.name.contains(['?', '*', '[']) {
            glob_matches(&self.name, name)
        } else {
            self.name == name
        }
    }
}

fn base_name(word: &str) -> String {
    word.rsplit('/').next().unwrap_or(word).to_lowercase()
}

fn skip_options<'w>(name: &str, words: &'w [String], valued: &[&str]) -> &'w [String] {
    let mut rest = words;
    while let Some((first, after)) = rest.split_first() {
        if valued.contains(&first.as_str()) {
            rest = after.get(1..).unwrap_or_default();
        } else if first.starts_with('-') || (name != "exec" && assignment(first).is_some()) {
            rest = after;
        } else {
            break;
        }
    }
    // `timeout 5 rm …`, `chroot / rm …`: the duration or the place comes first.
    if name == "timeout" || name == "chroot" {
        rest.get(1..).unwrap_or_default()
    } else {
        rest
    }
}

fn glob_matches(pattern: &str, text: &str) -> bool {
    // A name made only of wildcards says nothing.
    pattern.chars().any(char::is_alphabetic) && wildcard_matches(pattern, text)
}

/// `?`, `*` and `[…]`, enough for a name.
pub(super) fn wildcard_matches(pattern: &str, text: &str) -> bool {
    fn go(p: &[char], t: &[char]) -> bool {
        match (p.split_first(), t.split_first()) {
            (None, None) => true,
            (Some(('*', rest)), _) => (0..=t.len()).any(|skip| go(rest, &t[skip..])),
            (Some(('?', rest)), Some((_, t))) => go(rest, t),
            (Some(('[', rest)), Some((c, t))) => match rest.iter().position(|x| *x == ']') {
                Some(end) => is_in(&rest[..end], *c) && go(&rest[end + 1..], t),
                None => false,
            },
            (Some((x, rest)), Some((c, t))) => x == c && go(rest, t),
            _ => false,
        }
    }
    fn is_in(class: &[char], c: char) -> bool {
        let (inverted, class) = match class.split_first() {
            Some(('!' | '^', rest)) => (true, rest),
            _ => (false, class),
        };
        let mut ranges = class.windows(3).filter(|part| part[1] == '-');
        let found = class.contains(&c) || ranges.any(|part| (part[0]..=part[2]).contains(&c));
        found != inverted
    }
    let mut pattern: Vec<char> = pattern.chars().collect();
    // One star is as good as many, and tried faster.
    pattern.dedup_by(|a, b| *a == '*' && *b == '*');
    let text: Vec<char> = text.chars().collect();
    go(&pattern, &text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval::shell::parse;

    #[test]
    fn wrappers_are_taken_off() {
        for text in [
            "rm x",
            "sudo rm x",
            "sudo -u root -n rm x",
            "FOO=1 env -i A=b nohup setsid /usr/bin/rm x",
            "timeout -k 5 10 nice -n 3 RM x",
            "busybox rm x",
        ] {
            let commands = parse(text);
            let call = Call::of(&commands[0]).unwrap();
            assert_eq!(
                (call.name.as_str(), call.arguments),
                ("rm", &["x".to_owned()][..]),
                "{text}"
            );
        }
    }

    #[test]
    fn wildcards_in_a_program_name_are_seen_through() {
        let commands = parse("/bin/r? x");
        assert!(Call::of(&commands[0]).unwrap().is_called("rm"));
        let commands = parse("./* x");
        assert!(!Call::of(&commands[0]).unwrap().is_called("rm"));
    }
}
