//! A second, suspicious reading: a delete, a format or a raw write that is not in
//! command position but stands where another program would run it. As an argument
//! (`flock l rm -rf /x`), within a quoted text (`script -c 'rm -rf /x'`), in what is
//! printed for a shell (`echo 'rm -rf /x' > s; sh s`), or behind an expansion that
//! only the shell can resolve (`$x -rf /x`).
//!
//! Only those classes are reported from here. Programs that merely print or search
//! their arguments are believed.

use super::program::Call;
use super::shell::{DECLARERS, Simple, assignment};
use super::{Findings, dangerous, hardline, interpreters};

/// Programs that show, search or store their arguments and their input.
const SPEAKERS: &[&str] = &[
    "echo",
    "printf",
    "grep",
    "egrep",
    "fgrep",
    "zgrep",
    "rg",
    "ag",
    "ack",
    "logger",
    "gh",
    "glab",
    "cat",
    "less",
    "more",
    "man",
    "which",
    "whereis",
    "type",
    "ls",
    "hermes",
    "wc",
    "head",
    "tail",
    "jq",
    "yq",
    "diff",
    "cmp",
    "test",
    "[",
    "[[",
    ":",
    "true",
    "false",
    "touch",
    "mkdir",
    "cd",
    "tee",
    "curl",
    "wget",
    "http",
    "patch",
    "cowsay",
    "figlet",
    "notify-send",
    "say",
    "wall",
    "mail",
    "case",
    "for",
    "select",
    "unset",
    "sort",
    "uniq",
    "cut",
    "tr",
    "column",
    "fold",
    "fmt",
    "nl",
    "tac",
    "rev",
    "base64",
    "md5sum",
    "sha256sum",
    "psql",
    "sqlite3",
    "mysql",
    "redis-cli",
    "apropos",
    "whatis",
    "help",
    "history",
    "tldr",
    "bat",
    "stat",
    "file",
];
/// Of these, the texts that are run are known by their option or their sign.
const CHOOSY: &[&str] = &["git", "sed", "gsed", "awk", "gawk", "mawk"];
/// Words that turn a quoted piece of a text into a command.
const RUNS: &[&str] = &[
    "system",
    "exec",
    "popen",
    "subprocess",
    "spawn",
    "shell",
    "getline",
    "| \"",
    "|\"",
    "backtick",
];
const CLASSES: &[&str] = &[
    "delete in root path",
    "recursive delete",
    "recursive delete (long flag)",
    "format filesystem",
    "disk copy",
    "write to block device",
    "find -delete",
    "find -exec/-execdir rm",
    "xargs with rm",
    "fork bomb",
];
/// Ways to delete in other languages.
const DELETERS: &[&str] = &[
    "rmtree",
    "os.remove",
    "os.unlink",
    "os.system",
    "subprocess",
    "removedirs",
    "rmsync",
    "rm_rf",
    "fileutils",
    "unlink(",
    "system(",
    "execsync",
];

/// Cheap enough to ask about every command line.
pub(super) fn may_hide(text: &str) -> bool {
    [
        "rm", "dd", "mkfs", "shred", "wipefs", "$", "base64", "unlink",
    ]
    .iter()
    .any(|mark| text.contains(mark))
}

/// Programs that are started by the call's arguments, word by word.
pub(super) fn arguments(call: &Call<'_>, findings: &mut Findings) {
    if is_speaker(call) || call.is_one_of(CHOOSY) || call.is_one_of(DECLARERS) {
        return;
    }
    for (at, word) in call.arguments.iter().enumerate() {
        let name = word.rsplit('/').next().unwrap_or(word).to_lowercase();
        if !matches!(name.as_str(), "rm" | "dd" | "shred" | "wipefs") && !name.starts_with("mkfs") {
            continue;
        }
        let simple = Simple {
            words: call.arguments[at..].to_vec(),
            ..Simple::default()
        };
        if let Some(inner) = Call::of(&simple)
            && is_meant(&inner)
        {
            report(&inner, findings);
        }
    }
}

/// Whether the words after a program's name are words for that program: `cp /bin/rm
/// /opt` and `apt install wipefs` name it and do not run it.
fn is_meant(call: &Call<'_>) -> bool {
    let far = |word: &str| word.starts_with(['/', '~', '$']);
    match call.name.as_str() {
        "rm" => {
            let flagged = ['r', 'R', 'f'].iter().any(|flag| call.has_short(*flag))
                || call.has_long("recursive")
                || call.has_long("force");
            flagged && call.operands().any(far)
        }
        "dd" => call.operands().any(|word| word.starts_with("of=/dev/")),
        _ => call.operands().any(|word| word.starts_with("/dev/")),
    }
}

fn report(call: &Call<'_>, findings: &mut Findings) {
    if let Some(text) = hardline::hardline(call) {
        findings.hardline.get_or_insert(text);
    }
    if let Some(key) = dangerous::dangerous(call).filter(|key| CLASSES.contains(key)) {
        findings.add(key);
    }
}

/// What a second reading of a carried text found, as far as it counts.
pub(super) fn merge(found: &Findings, findings: &mut Findings) {
    let counts = |key: &&&'static str| CLASSES.contains(key);
    // Words about power, processes and services are too common in plain texts.
    if let Some(text) = found.hardline
        && found.dangerous.iter().any(|key| CLASSES.contains(key))
    {
        findings.hardline.get_or_insert(text);
    }
    for key in found.dangerous.iter().filter(counts) {
        findings.add(key);
    }
}

/// Texts that the call may run: each is read as a script of its own.
pub(super) fn texts(call: &Call<'_>) -> Vec<String> {
    let mut texts = Vec::new();
    if is_speaker(call) || call.is_one_of(DECLARERS) {
        return texts;
    }
    // What git reads is a message or a patch.
    if call.name != "git" {
        texts.extend(call.simple.here.clone());
    }
    match call.name.as_str() {
        "git" => texts.extend(git(call)),
        "sed" | "gsed" => texts.extend(call.arguments.iter().flat_map(|word| sed(word))),
        "awk" | "gawk" | "mawk" => texts.extend(call.arguments.iter().flat_map(|w| quoted(w))),
        "source" | "." => {
            let fed = call.arguments.iter().filter_map(|w| w.strip_prefix("<("));
            texts.extend(fed.map(str::to_owned));
        }
        _ => {
            for word in call.arguments.iter().filter(|word| word.contains(' ')) {
                texts.extend(openings(word));
                texts.extend(quoted(word));
            }
        }
    }
    texts
}

fn is_speaker(call: &Call<'_>) -> bool {
    call.is_one_of(SPEAKERS)
}

/// The word itself and what follows its `=`, without the signs that editors and
/// others put in front of a shell command.
fn openings(word: &str) -> Vec<String> {
    let bare = |text: &str| {
        text.trim_start_matches(['!', ':', '@', '+', '|', ' ', '(', '<'])
            .to_owned()
    };
    let mut all = vec![bare(word)];
    all.extend(
        word.match_indices('=')
            .take(4)
            .map(|(at, _)| bare(&word[at + 1..])),
    );
    all
}

/// Quoted pieces of a program text that starts other programs.
fn quoted(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    if !RUNS.iter().any(|mark| lower.contains(mark)) {
        return Vec::new();
    }
    ['"', '\'', '`']
        .iter()
        .flat_map(|quote| text.split(*quote).skip(1))
        .filter(|piece| piece.contains(' '))
        .take(32)
        .map(|piece| piece.trim_end_matches('\\').to_owned())
        .collect()
}

/// Aliases and settings that name a program, and verbs that run their arguments.
fn git(call: &Call<'_>) -> Vec<String> {
    let runs = [
        "foreach",
        "bisect",
        "rebase",
        "filter-branch",
        "difftool",
        "mergetool",
    ]
    .iter()
    .any(|verb| call.has_word(verb));
    let words = call.arguments.iter();
    let mut texts: Vec<String> = words
        .clone()
        .filter_map(|word| word.split_once('='))
        .filter(|(name, value)| {
            let name = name.to_lowercase();
            value.starts_with('!')
                || ["command", "pager", "editor", "exec", "fsmonitor", "filter"]
                    .iter()
                    .any(|end| name.ends_with(end))
        })
        .flat_map(|(_, value)| openings(value))
        .collect();
    texts.extend(
        words
            .clone()
            .filter(|w| w.starts_with('!'))
            .flat_map(|w| openings(w)),
    );
    if runs {
        texts.extend(words.clone().filter(|w| w.contains(' ')).cloned());
        let verb = call
            .arguments
            .iter()
            .position(|w| w == "foreach" || w == "run");
        texts.extend(verb.map(|at| call.arguments[at + 1..].join(" ")));
    }
    texts
}

/// The command `e`, and the flag `e` of `s`.
fn sed(script: &str) -> Vec<String> {
    let mut texts: Vec<String> = script
        .match_indices("e ")
        .filter(|(at, _)| {
            script[..*at]
                .trim_end()
                .chars()
                .next_back()
                .is_none_or(|c| c.is_ascii_digit() || matches!(c, '$' | '/' | ';' | '{' | '\n'))
        })
        .map(|(at, _)| script[at + 2..].to_owned())
        .collect();
    let mut signs = script.chars();
    if signs.next() == Some('s')
        && let Some(mark) = signs.next()
    {
        let parts: Vec<&str> = script[1 + mark.len_utf8()..].split(mark).collect();
        if let [.., replacement, flags] = parts.as_slice()
            && flags.len() <= 4
            && flags.contains('e')
        {
            texts.push((*replacement).to_owned());
        }
        // The separator may stand escaped within.
        let unescaped = script.replace(&format!("\\{mark}"), "\u{1}");
        let parts: Vec<&str> = unescaped.split(mark).collect();
        if let [_, _, replacement, flags] = parts.as_slice()
            && flags.contains('e')
        {
            texts.push(replacement.replace('\u{1}', &mark.to_string()));
        }
    }
    texts
}

/// What is printed for something that runs it: through a pipe, a file that the same
/// line starts, or a substitution.
pub(super) fn printed(commands: &[Simple]) -> Vec<(String, bool)> {
    let calls: Vec<Option<Call<'_>>> = commands.iter().map(Call::of).collect();
    let mut texts = Vec::new();
    for (at, call) in calls.iter().enumerate() {
        let Some(call) = call else { continue };
        if !call.is_one_of(&["echo", "printf", "cat", "tee"]) {
            continue;
        }
        let piped: Vec<usize> = (at + 1..commands.len())
            .take_while(|next| commands[*next].piped)
            .collect();
        let runners = piped.iter().filter_map(|next| calls[*next].as_ref());
        let mut runner = runners.clone().find(|next| runs_input(next));
        let mut files: Vec<&str> = written(call.simple);
        for next in runners {
            files.extend(written(next.simple));
            if next.name == "tee" {
                files.extend(next.operands());
            }
        }
        if call.name == "tee" {
            files.extend(call.operands());
        }
        runner = runner.or_else(|| {
            let later = calls[at + 1..].iter().flatten();
            later.into_iter().find(|later| starts_file(later, &files))
        });
        if call.simple.nested {
            let outer = calls[at + 1..].iter().flatten();
            runner = runner.or_else(|| outer.into_iter().find(|outer| runs_substitution(outer)));
        }
        let Some(runner) = runner else { continue };
        let interprets = interpreters::is_interpreter(runner);
        let mut said: Vec<String> = call.simple.here.iter().cloned().collect();
        if call.is_one_of(&["echo", "printf"]) {
            said.push(call.operands().collect::<Vec<_>>().join(" "));
            said.extend(
                call.operands()
                    .filter(|w| w.contains(' '))
                    .map(str::to_owned),
            );
        }
        texts.extend(
            said.into_iter()
                .map(|text| (text.replace("\\n", "\n"), interprets)),
        );
    }
    texts
}

fn written(simple: &Simple) -> Vec<&str> {
    let files = simple.redirects.iter().filter(|r| r.writes);
    files
        .map(|r| r.target.as_str())
        .filter(|target| !target.starts_with("/dev/"))
        .collect()
}

/// Reads a program, or the arguments of one, from its input.
fn runs_input(call: &Call<'_>) -> bool {
    interpreters::is_shell(call)
        || interpreters::is_interpreter(call)
        || call.is_one_of(&[
            "xargs", "parallel", "source", ".", "ssh", "at", "batch", "crontab", "make",
        ])
        || call.name.starts_with('$')
}

fn starts_file(call: &Call<'_>, files: &[&str]) -> bool {
    let is_file = |word: &str| {
        let plain = |path: &str| path.trim_start_matches("./").to_owned();
        files.iter().any(|file| plain(file) == plain(word))
    };
    let runs = runs_input(call) && call.operands().any(is_file);
    let input = runs_input(call)
        && call
            .simple
            .redirects
            .iter()
            .any(|r| !r.writes && is_file(&r.target));
    let words = &call.simple.words;
    let itself = words.len() - call.arguments.len();
    runs || input || words[..itself].last().is_some_and(|word| is_file(word))
}

fn runs_substitution(call: &Call<'_>) -> bool {
    (interpreters::is_shell(call) || call.is_one_of(&["source", ".", "eval"]))
        && call.arguments.iter().any(|word| word.starts_with("<("))
}

/// A text for an interpreter that deletes in the interpreter's own words.
pub(super) fn deletes_in_code(text: &str) -> bool {
    let lower = text.to_lowercase();
    DELETERS.iter().any(|word| lower.contains(word))
}

/// A program that only the shell can name, with arguments as `rm` has them.
pub(super) fn unknown_program(call: &Call<'_>, findings: &mut Findings) {
    if !call.name.starts_with('$') && !call.name.starts_with("${") {
        return;
    }
    let flags = call.arguments.iter().filter(|w| w.starts_with('-'));
    let like_rm = flags.clone().all(|word| match word.strip_prefix("--") {
        Some(long) => matches!(long, "" | "recursive" | "force" | "no-preserve-root"),
        None => word[1..].chars().all(|c| "rRfivdI".contains(c)),
    });
    let recursive = call.has_short('r') || call.has_short('R') || call.has_long("recursive");
    if like_rm && recursive {
        let mut words = vec!["rm".to_owned()];
        words.extend(call.arguments.iter().cloned());
        let simple = Simple {
            words,
            ..Simple::default()
        };
        if let Some(inner) = Call::of(&simple).filter(is_meant) {
            report(&inner, findings);
        }
    }
    let onto_disk = call.operands().any(|word| {
        word.strip_prefix("of=")
            .is_some_and(super::paths::is_block_device)
    });
    if onto_disk {
        findings.hardline.get_or_insert("dd to raw block device");
        findings.add("disk copy");
    }
}

/// `read c; $c`: what was read is run.
pub(super) fn runs_what_it_read(commands: &[Simple]) -> bool {
    let mut names: Vec<&str> = Vec::new();
    for call in commands.iter().filter_map(Call::of) {
        if call.is_one_of(&["read", "mapfile", "readarray"]) {
            names.extend(call.operands());
        }
        let first = call
            .simple
            .words
            .iter()
            .find(|word| assignment(word).is_none());
        let Some(first) = first.and_then(|word| word.strip_prefix('$')) else {
            continue;
        };
        let name = first.trim_start_matches('{');
        let end = name
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or(name.len());
        // `$name/bin/x` is a path, not a command line.
        let whole = matches!(&name[end..], "" | "}" | "[@]}" | "[*]}" | "[0]}");
        if whole && names.contains(&&name[..end]) {
            return true;
        }
    }
    false
}

/// A name for a delete or a raw write whose arguments come later, when nobody
/// sees any more what the name stands for.
pub(super) fn names_a_delete(text: &str, commands: &[Simple]) -> bool {
    let is_function = text.contains("()") || text.contains("function ");
    commands.iter().filter_map(Call::of).any(|call| {
        let open = call
            .operands()
            .any(|word| matches!(word, "$@" | "$*" | "${@}" | "${*}"));
        let destroys =
            |name: &str| matches!(name, "rm" | "dd" | "shred") || name.starts_with("mkfs");
        (is_function && open && destroys(&call.name))
            || (call.name == "alias"
                && call
                    .operands()
                    .filter_map(|word| word.split_once('='))
                    .any(|(_, body)| {
                        let mut words = body.split_whitespace();
                        let name = words.next().map(|w| w.rsplit('/').next().unwrap_or(w));
                        let careful = |w: &str| w.starts_with('-') && w.contains(['i', 'I']);
                        name.is_some_and(destroys) && !words.any(careful)
                    }))
    })
}

/// A delete that is kept in a variable for later.
pub(super) fn kept(simple: &Simple) -> Vec<String> {
    let words = match simple.words.first().map(String::as_str) {
        Some(first) if DECLARERS.contains(&first) => &simple.words[1..],
        _ => &simple.words[..],
    };
    words
        .iter()
        .map_while(|word| assignment(word))
        .filter(|(_, value)| value.contains(' '))
        .map(|(_, value)| value.to_owned())
        .collect()
}
