//! Shells and interpreters, and how a text gets into them: by an option, a pipe, a
//! download, a here-document.

use super::program::Call;
use super::shell::{Simple, assignment};

pub(super) const SHELLS: &[&str] = &["bash", "sh", "zsh", "ksh", "dash", "ash", "fish"];
const INTERPRETERS: &[&str] = &[
    "python", "python2", "python3", "perl", "ruby", "node", "nodejs", "php", "lua",
];

pub(super) fn scripts(call: &Call<'_>) -> Option<&'static str> {
    let is_shell = call.is_one_of(SHELLS);
    if is_shell && has_command_flag(call, "c") {
        return Some("shell command via -c/-lc flag");
    }
    if call.is_one_of(INTERPRETERS) || is_versioned(&call.name) {
        // `-c` only checks a file in most of them.
        let (letters, words): (&str, &[&str]) = match call.name.as_str() {
            "node" | "nodejs" => ("ep", &["--eval", "--print"]),
            "php" => ("r", &["--run"]),
            name if name.starts_with("python") => ("c", &[]),
            _ => ("eE", &[]),
        };
        let mut options = call.arguments.iter().take_while(|w| w.starts_with('-'));
        let evaluates = options.any(|word| {
            let letter = || {
                // Behind these the rest of the word is a value or a file's ending.
                let cluster = word[1..].split(['m', 'W', 'X', 'I', 'i', 'M', 'r']).next();
                cluster.is_some_and(|letters_| letters_.contains(|c| letters.contains(c)))
            };
            words
                .iter()
                .any(|long| word.split('=').next() == Some(long))
                || (!word.starts_with("--")
                    && (letter() || (word.len() > 1 && letters.contains(&word[1..]))))
        });
        if evaluates {
            return Some("script execution via -e/-c flag");
        }
    }
    if (is_shell || call.is_one_of(&["source", ".", "eval"]))
        && call.arguments.iter().any(|word| fetches_remotely(word))
    {
        return Some("execute remote script via process substitution");
    }
    None
}

pub(crate) fn is_shell(call: &Call<'_>) -> bool {
    call.is_one_of(SHELLS)
}

pub(crate) fn is_interpreter(call: &Call<'_>) -> bool {
    call.is_one_of(INTERPRETERS) || is_versioned(&call.name)
}

/// A shell that reads a downloaded or decoded program from its pipe.
pub(crate) fn pipes_to_shell(commands: &[Simple]) -> bool {
    commands.iter().enumerate().any(|(at, simple)| {
        let Some(call) = Call::of(simple) else {
            return false;
        };
        let executes = call.is_one_of(SHELLS)
            || ((call.is_one_of(INTERPRETERS) || is_versioned(&call.name))
                && call.operands().all(|word| word == "-"));
        if !simple.piped
            || !executes
            || call
                .operands()
                .any(|word| word != "-" && call.is_one_of(SHELLS) && !call.has_short('s'))
        {
            return false;
        }
        let mut feeder = at;
        while feeder > 0 && commands[feeder].piped {
            feeder -= 1;
            if Call::of(&commands[feeder]).is_some_and(|call| hides_or_fetches(&call)) {
                return true;
            }
        }
        false
    })
}

/// Literal text that is piped into a shell: as good as `sh -c`.
pub(crate) fn spoken_to_shell(commands: &[Simple]) -> Vec<String> {
    let pairs = commands.windows(2).filter(|pair| pair[1].piped);
    pairs
        .filter_map(|pair| {
            let (speaker, shell) = (Call::of(&pair[0])?, Call::of(&pair[1])?);
            if shell.name == "xargs" && speaker.is_one_of(&["echo", "printf"]) {
                let program = shell.arguments.iter().position(|w| !w.starts_with('-'))?;
                let words = shell.arguments[program..].iter().map(String::as_str);
                return Some(
                    words
                        .chain(speaker.operands())
                        .collect::<Vec<_>>()
                        .join(" "),
                );
            }
            let reads = shell.is_one_of(SHELLS)
                && (shell.operands().next().is_none() || shell.has_short('s'));
            let speaks = speaker.is_one_of(&["echo", "printf"]);
            (reads && speaks).then(|| speaker.operands().collect::<Vec<_>>().join(" "))
        })
        .collect()
}

/// `eval "$(… | base64 -d)"`: what runs cannot be read.
pub(crate) fn decodes_for_eval(commands: &[Simple]) -> bool {
    let calls: Vec<Call<'_>> = commands.iter().filter_map(Call::of).collect();
    let evaluates = |call: &Call<'_>| {
        let carries =
            |word: &String| word.contains("$(") || word.contains('`') || word.contains("<(");
        let itself = call
            .simple
            .words
            .iter()
            .find(|word| assignment(word).is_none());
        (call.is_one_of(&["eval", "source", "."]) && call.arguments.iter().any(carries))
            || itself.is_some_and(|word| word.starts_with("$("))
    };
    let decodes = |call: &Call<'_>| {
        call.simple.nested
            && call.is_one_of(&["base64", "base32", "xxd", "openssl"])
            && hides_or_fetches(call)
    };
    calls.iter().any(evaluates) && calls.iter().any(decodes)
}

/// `curl -o f … && sh f`: fetched and run in one breath.
pub(crate) fn downloaded_and_run(commands: &[Simple]) -> bool {
    let calls: Vec<Call<'_>> = commands.iter().filter_map(Call::of).collect();
    calls.iter().enumerate().any(|(at, call)| {
        if !call.is_one_of(&["curl", "wget", "fetch", "aria2c"]) {
            return false;
        }
        let after = |flag: &str| {
            let pair = call.arguments.windows(2).find(|pair| pair[0] == flag);
            pair.map(|pair| pair[1].as_str())
        };
        let written = call.simple.redirects.iter().filter(|r| r.writes);
        let mut files: Vec<&str> = written.map(|r| r.target.as_str()).collect();
        files.extend(
            ["-o", "-O", "--output", "--output-document"]
                .into_iter()
                .filter_map(after),
        );
        calls[at + 1..].iter().any(|later| {
            let runs = later.is_one_of(SHELLS)
                || later.is_one_of(&["source", "."])
                || later.is_one_of(INTERPRETERS)
                || is_versioned(&later.name);
            runs && later
                .operands()
                .next()
                .is_some_and(|file| files.contains(&file))
        })
    })
}

fn hides_or_fetches(call: &Call<'_>) -> bool {
    match call.name.as_str() {
        "curl" | "wget" | "fetch" | "aria2c" | "http" | "nc" | "ncat" => true,
        "base64" | "base32" => {
            call.has_short('d') || call.has_short('D') || call.has_long("decode")
        }
        "xxd" => call.has_short('r'),
        "openssl" | "gunzip" | "zcat" | "gzip" | "rev" | "tr" => true,
        "echo" | "printf" => {
            // Literal text is as good as `sh -c`: what it says decides, and escapes hide it.
            call.arguments
                .iter()
                .any(|word| word.contains("\\x") || word.contains("\\0"))
        }
        _ => false,
    }
}

fn fetches_remotely(word: &str) -> bool {
    let inner = word.trim_start_matches("<(");
    (word.starts_with("<(") || word.contains("$("))
        && ["curl ", "wget ", "curl\t", "wget\t"]
            .iter()
            .any(|tool| inner.contains(tool))
}

fn has_command_flag(call: &Call<'_>, flag: &str) -> bool {
    call.arguments
        .iter()
        .take_while(|word| word.starts_with('-'))
        .any(|word| !word.starts_with("--") && word.contains(flag))
}

fn is_versioned(name: &str) -> bool {
    name.strip_prefix("python").is_some_and(|rest| {
        !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit() || c == '.')
    })
}

pub(super) fn heredoc(call: &Call<'_>) -> Option<&'static str> {
    let interprets =
        call.is_one_of(SHELLS) || call.is_one_of(INTERPRETERS) || is_versioned(&call.name);
    (interprets && call.simple.here.is_some()).then_some("script execution via heredoc")
}

/// `chmod +x f && ./f`: made runnable and run in one breath.
pub(crate) fn made_runnable_and_run(commands: &[Simple]) -> bool {
    let calls: Vec<Call<'_>> = commands.iter().filter_map(Call::of).collect();
    calls.iter().enumerate().any(|(at, call)| {
        let makes = call.is_called("chmod")
            && call
                .operands()
                .next()
                .is_some_and(|m| m.contains("+x") || m.contains("+rx") || m == "755" || m == "700");
        makes
            && call.operands().skip(1).any(|file| {
                let name = file.rsplit('/').next().unwrap_or(file);
                calls[at + 1..].iter().any(|later| {
                    later
                        .simple
                        .words
                        .iter()
                        .any(|word| word == file || word == &format!("./{name}"))
                        && (later.name == name.to_lowercase() || later.is_one_of(SHELLS))
                })
            })
    })
}
