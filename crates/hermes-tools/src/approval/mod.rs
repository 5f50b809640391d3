//! What a command line would do that a person should hear of first.
//!
//! [`examine`] is pure: text in, findings out. [`ApprovalGate`] decides what becomes
//! of them for one conversation. This is a seat belt, not a wall: a program that
//! the command starts can do what it likes. The wall is the sandbox.

mod allowlist;
mod dangerous;
mod expand;
mod gate;
mod hardline;
mod hidden;
mod interpreters;
mod judge;
mod makefile;
mod normalize;
mod paths;
mod policy;
mod program;
mod reach;
mod scripts;
mod shell;
mod sql;
mod touches;

#[cfg(test)]
mod corpus;

pub use allowlist::{Allowlist, ConfigAllowlist};
pub use gate::{Admission, ApprovalGate, Gate, Yolo};
pub use judge::{Judge, ModelJudge, Verdict};
pub use policy::{ApprovalPolicy, Nobody, Occasion};
pub(crate) use touches::touches;

use program::Call;
use shell::{Known, Simple};

/// What the rules found in a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Never run, whoever said yes.
    pub hardline: Option<&'static str>,
    /// Allowlist keys that need a yes, each once, in order of appearance.
    pub dangerous: Vec<&'static str>,
    /// The model feeds a password to `sudo` itself.
    pub sudo_stdin: bool,
}

impl Findings {
    pub fn is_clean(&self) -> bool {
        self.hardline.is_none() && self.dangerous.is_empty()
    }

    fn include(&mut self, other: &Findings) {
        self.hardline = self.hardline.or(other.hardline);
        self.sudo_stdin |= other.sudo_stdin;
        for key in &other.dangerous {
            self.add(key);
        }
    }

    fn add(&mut self, key: &'static str) {
        if !self.dangerous.contains(&key) {
            self.dangerous.push(key);
        }
    }
}

/// Scripts in scripts in scripts: deeper than this is asked about anyway,
/// because the outer call already is a finding.
const MAX_DEPTH: usize = 4;

/// Texts that are only perhaps run are many: each level multiplies them.
const MAX_GUESSES: usize = 2;

/// Looks through a command line and every script it carries within itself.
pub fn examine(command: &str) -> Findings {
    examine_knowing(command, &Known::default())
}

/// The same for a command that starts in a known place, with known variables.
fn examine_knowing(command: &str, known: &Known) -> Findings {
    let mut findings = Findings::default();
    look(&normalize::normalize(command), known, 0, &mut findings);
    findings
}

/// Looks for what other programs are made to run.
fn look_closer(
    text: &str,
    commands: &[Simple],
    known: &Known,
    depth: usize,
    findings: &mut Findings,
) {
    let read = |script: &str| {
        let mut found = Findings::default();
        if depth < MAX_GUESSES {
            look(script, known, depth + 1, &mut found);
        }
        found
    };
    for simple in commands {
        for kept in hidden::kept(simple) {
            let found = read(&kept);
            if found.dangerous.contains(&"delete in root path") {
                findings.add("delete in root path");
            }
        }
        let Some(call) = Call::of(simple) else {
            continue;
        };
        // Within a carried text, a later word is more often prose than a program.
        if depth == 0 {
            hidden::arguments(&call, findings);
        }
        hidden::unknown_program(&call, findings);
        for script in hidden::texts(&call) {
            hidden::merge(&read(&script), findings);
        }
    }
    for (script, interpreted) in hidden::printed(commands) {
        hidden::merge(&read(&script), findings);
        if interpreted && hidden::deletes_in_code(&script) {
            findings.add("script execution via heredoc");
        }
    }
    if hidden::runs_what_it_read(commands) {
        findings.add("shell command via -c/-lc flag");
    }
    if hidden::names_a_delete(text, commands) {
        findings.add("recursive delete");
    }
}

fn look(text: &str, known: &Known, depth: usize, findings: &mut Findings) {
    let (commands, known) = shell::parse_knowing(text, known);
    if hardline::is_fork_bomb(text) {
        findings.hardline.get_or_insert("fork bomb");
        findings.add("fork bomb");
    }
    for simple in &commands {
        look_at(simple, &known, depth, findings);
    }
    if depth < MAX_DEPTH {
        for script in interpreters::spoken_to_shell(&commands) {
            look(&script, &known, depth + 1, findings);
        }
    }
    if hidden::may_hide(text) {
        look_closer(text, &commands, &known, depth, findings);
    }
    if interpreters::pipes_to_shell(&commands)
        || interpreters::decodes_for_eval(&commands)
        || interpreters::downloaded_and_run(&commands)
    {
        findings.add("pipe remote content to shell");
    }
    if let Some(key) = sql::sql(text, &commands) {
        findings.add(key);
    }
    if interpreters::made_runnable_and_run(&commands) {
        findings.add("chmod +x followed by immediate execution");
    }
    if text.contains('`')
        && text.contains("pgrep")
        && commands
            .iter()
            .any(|c| c.words.first().is_some_and(|w| w == "kill"))
    {
        findings.add("kill process via backtick pgrep expansion (self-termination)");
    }
}

fn look_at(simple: &Simple, known: &Known, depth: usize, findings: &mut Findings) {
    if let Some(text) = hardline::hardline_redirect(simple) {
        findings.hardline.get_or_insert(text);
    }
    let Some(call) = Call::of(simple) else {
        if let Some(key) = dangerous::redirects(simple) {
            findings.add(key);
        }
        return;
    };
    if let Some(text) = hardline::hardline(&call) {
        findings.hardline.get_or_insert(text);
    }
    if let Some(key) = dangerous::dangerous(&call) {
        findings.add(key);
    }
    findings.sudo_stdin |= call.wrappers.iter().any(|w| w == "sudo")
        && simple
            .words
            .iter()
            .take_while(|w| !w.eq_ignore_ascii_case(&call.name))
            .any(|w| {
                w == "--stdin" || (w.starts_with('-') && !w.starts_with("--") && w.contains('S'))
            });
    if depth < MAX_DEPTH {
        let scripts = inner_scripts(&call);
        let known = || Known {
            place: simple.place.clone(),
            variables: known.variables.clone(),
        };
        let known = (!scripts.is_empty()).then(known).unwrap_or_default();
        for script in scripts {
            look(&script, &known, depth + 1, findings);
        }
    }
}

/// What follows the host.
fn remote_words(arguments: &[String]) -> Option<String> {
    const VALUED: &str = "BbcDEeFIiJLlmOopQRSWw";
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.strip_prefix('-') {
            Some(option) if option.len() == 1 && VALUED.contains(option) => {
                words.next();
            }
            Some(_) => {}
            None => {
                let rest: Vec<&str> = words.map(String::as_str).collect();
                return (!rest.is_empty()).then(|| rest.join(" "));
            }
        }
    }
    None
}

/// `system("…")` in a program of awk's.
fn system_calls(program: &str) -> impl Iterator<Item = String> {
    program.split("system(").skip(1).filter_map(|rest| {
        let text = rest.trim_start().strip_prefix('"')?;
        Some(text.split('"').next()?.to_owned())
    })
}

/// Texts that the call hands to a shell.
fn inner_scripts(call: &Call<'_>) -> Vec<String> {
    let mut scripts = Vec::new();
    match call.name.as_str() {
        "bash" | "sh" | "zsh" | "ksh" | "dash" | "ash" => {
            let flag = call
                .arguments
                .iter()
                .position(|w| w.starts_with('-') && !w.starts_with("--") && w.contains('c'));
            scripts.extend(flag.and_then(|at| call.arguments.get(at + 1)).cloned());
            scripts.extend(call.simple.here.clone());
        }
        "eval" => scripts.push(call.arguments.join(" ")),
        // What the first word says is run later, whenever that is.
        "trap" => scripts.extend(call.operands().next().map(str::to_owned)),
        "alias" => scripts.extend(
            call.operands()
                .filter_map(|word| word.split_once('='))
                .map(|(_, text)| text.to_owned()),
        ),
        // The host, then words that a shell over there reads.
        "ssh" => scripts.extend(remote_words(call.arguments)),
        "parallel" => {
            let program = call.arguments.iter().position(|w| !w.starts_with('-'));
            scripts.extend(program.map(|at| {
                let words = call.arguments[at..].iter();
                let words = words.take_while(|word| !word.starts_with(":::"));
                words.cloned().collect::<Vec<_>>().join(" ")
            }));
        }
        "awk" | "gawk" | "mawk" => scripts.extend(call.operands().flat_map(system_calls)),
        "su" | "runuser" | "script" => {
            let flag = call
                .arguments
                .iter()
                .position(|w| w == "-c" || w == "--command");
            scripts.extend(flag.and_then(|at| call.arguments.get(at + 1)).cloned());
        }
        "xargs" => {
            let program = call.arguments.iter().position(|w| !w.starts_with('-'));
            scripts.extend(program.map(|at| call.arguments[at..].join(" ")));
        }
        "find" => {
            let exec = call
                .arguments
                .iter()
                .position(|w| w == "-exec" || w == "-execdir");
            scripts.extend(exec.map(|at| {
                let words = call.arguments[at + 1..]
                    .iter()
                    .take_while(|w| *w != ";" && *w != "+");
                words.cloned().collect::<Vec<_>>().join(" ")
            }));
        }
        _ => {}
    }
    scripts
}
