//! What a command runs that stands in a file: `bash x.sh`, `./x`, `. x`, `python3 x.py`.
//!
//! A command line is judged by its text, and `bash x.sh` says nothing. So the script is
//! read where it lies, as far as it is short and can be found, and judged by the same
//! rules. A script that was there before the conversation is somebody's tool: of that
//! only what is never run counts. What was written since may be the model's own.

use hermes_sandbox::{FileKind, Files, SandboxPath, Stat};

use super::interpreters::{SHELLS, is_interpreter};
use super::makefile;
use super::program::{Call, wildcard_matches};
use super::shell::{self, Known, Simple};
use super::{Findings, MAX_DEPTH, examine, hidden, inner_scripts};

/// Longer ones are not read, and asked about where a shell is to run them.
const MAX_SIZE: u64 = 1 << 20;
/// Long scripts are judged in pieces of about this size.
const PIECE: usize = 32 << 10;
/// Scripts that run scripts, all in all.
const MAX_FILES: usize = 8;
/// Where programs of the system are; no text there is the model's.
const SYSTEM: &[&str] = &[
    "/bin/", "/sbin/", "/usr/", "/lib/", "/opt/", "/nix/", "/snap/",
];
/// Options of shells and interpreters that have a word of their own.
const VALUED: &[&str] = &[
    "-o",
    "+o",
    "-O",
    "--rcfile",
    "--init-file",
    "-W",
    "-X",
    "-r",
    "-I",
];
/// Lines of code that start programs.
const STARTS: &[&str] = &[
    "system",
    "popen",
    "subprocess",
    "exec",
    "spawn",
    "check_",
    "run(",
    "call(",
];
/// Ways to delete trees in other languages.
const DELETES: &[&str] = &[
    "rmtree(",
    "rm_rf",
    "rm_r(",
    "remove_entry",
    "removedirs(",
    "remove_tree(",
];

/// Where scripts are looked for.
pub(super) struct Shelf<'a> {
    pub(super) files: &'a dyn Files,
    pub(super) cwd: &'a SandboxPath,
    pub(super) home: Option<SandboxPath>,
    /// Nanoseconds of the epoch: what changed later may be the model's.
    pub(super) since: i128,
    /// What earlier commands set.
    pub(super) known: &'a Known,
}

/// A script that a command runs, and what was found in it.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) path: SandboxPath,
    pub(super) text: String,
    pub(super) findings: Findings,
    pub(super) is_shell: bool,
}

impl Script {
    fn judged(path: SandboxPath, text: String, is_shell: bool, is_new: bool) -> Self {
        let mut findings = judge(&text, is_shell);
        if !is_new {
            findings = Findings {
                hardline: findings.hardline,
                ..Findings::default()
            };
        }
        Self {
            path,
            text,
            findings,
            is_shell,
        }
    }

    /// The lines that gave rise to the findings, as far as single lines did.
    pub(super) fn reasons(&self) -> String {
        let lines = self.text.lines().map(str::trim);
        let telling = lines.filter(|line| !judge(line, self.is_shell).is_clean());
        let shown: Vec<&str> = telling.take(5).collect();
        format!("# {}: {}", self.path, shown.join("\n# "))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Shell,
    Other,
    /// Its first line says.
    Own,
}

/// One call of make.
#[derive(Debug, Default, PartialEq, Eq)]
struct Make {
    directory: Option<String>,
    file: Option<String>,
    targets: Vec<String>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Runs {
    files: Vec<(String, Language)>,
    /// Where the text changes to, in order.
    directories: Vec<String>,
    makes: Vec<Make>,
    /// Names that a file gets before it is run: source and target.
    copies: Vec<(String, String)>,
    /// Where else programs are looked for.
    path: Vec<String>,
}

impl Runs {
    fn of(text: &str, known: &Known) -> Self {
        let mut runs = Self::default();
        runs.look(text, known, 0);
        // A copy of a copy is followed, too.
        for (from, to) in runs.copies.iter().rev() {
            let name = from.rsplit('/').next().unwrap_or(from);
            let inside = format!("{}/{name}", to.trim_end_matches('/'));
            let plain = |path: &str| path.trim_start_matches("./").to_owned();
            let copied = runs
                .files
                .iter()
                .find(|(file, _)| plain(file) == plain(to) || plain(file) == plain(&inside));
            if let Some((_, language)) = copied {
                let language = *language;
                runs.files.push((from.clone(), language));
            }
        }
        let mut seen: Vec<(String, Language)> = Vec::new();
        runs.files.retain(|file| {
            let is_new = !seen.contains(file);
            seen.extend(is_new.then(|| file.clone()));
            is_new
        });
        runs
    }

    fn look(&mut self, text: &str, known: &Known, depth: usize) {
        let (commands, after) = shell::parse_knowing(text, known);
        if depth == 0 {
            self.settings(&after);
        }
        let evaluates = commands.iter().any(|simple| {
            let program = simple.words.first().map_or("", String::as_str);
            let call = Call::of(simple);
            program.starts_with("$(")
                || call.is_some_and(|call| {
                    call.is_one_of(SHELLS) || call.is_one_of(&["eval", "source", "."])
                })
        });
        for (at, simple) in commands.iter().enumerate() {
            if evaluates && simple.nested {
                self.shown(simple);
            }
            let Some(call) = Call::of(simple) else {
                continue;
            };
            let previous = at.checked_sub(1).map(|before| &commands[before]);
            self.call(&call, previous.filter(|_| simple.piped));
            if depth < MAX_DEPTH {
                for script in inner_scripts(&call) {
                    self.look(&script, &after, depth + 1);
                }
            }
        }
    }

    /// Variables that make a shell read a file, or find programs elsewhere.
    fn settings(&mut self, after: &Known) {
        let value = |name: &str| after.variables.get(name).cloned();
        let read = ["BASH_ENV", "ENV"].into_iter().filter_map(value);
        self.files.extend(read.map(|file| (file, Language::Shell)));
        let path = value("PATH").unwrap_or_default();
        let own = path.split(':').filter(|place| {
            let system = SYSTEM
                .iter()
                .any(|known| format!("{place}/").starts_with(known));
            !place.is_empty() && *place != "$PATH" && *place != "${PATH}" && !system
        });
        self.path.extend(own.take(4).map(str::to_owned));
    }

    /// `$(cat x)` and `$(<x)`, where something runs what they say.
    fn shown(&mut self, simple: &Simple) {
        let read = simple.redirects.iter().filter(|redirect| !redirect.writes);
        let mut files: Vec<String> = read.map(|redirect| redirect.target.clone()).collect();
        if let Some(cat) = Call::of(simple).filter(|call| call.name == "cat") {
            files.extend(cat.operands().map(str::to_owned));
        }
        let files = files.into_iter();
        self.files.extend(files.map(|file| (file, Language::Shell)));
    }

    fn make(&mut self, call: &Call<'_>) {
        let mut make = Make::default();
        let mut words = call.arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "-C" | "--directory" => make.directory = words.next().cloned(),
                "-f" | "--file" | "--makefile" => make.file = words.next().cloned(),
                "-j" | "-l" | "-I" | "-o" | "-W" => {}
                option if option.starts_with('-') || option.contains('=') => {}
                target => make.targets.push(target.to_owned()),
            }
        }
        self.makes.push(make);
    }

    fn copy(&mut self, call: &Call<'_>) {
        let written = call
            .simple
            .redirects
            .iter()
            .find(|redirect| redirect.writes);
        let mut words: Vec<&str> = call.operands().collect();
        let target = match call.name.as_str() {
            "cat" => written.map(|redirect| redirect.target.as_str()),
            _ => words.pop(),
        };
        if let Some(target) = target {
            let copies = words.iter().take(MAX_FILES);
            self.copies
                .extend(copies.map(|from| ((*from).to_owned(), target.to_owned())));
        }
    }

    fn call(&mut self, call: &Call<'_>, feeder: Option<&Simple>) {
        let simple = call.simple;
        let is_shell = call.is_one_of(SHELLS);
        let interprets = is_interpreter(call);
        if call.is_one_of(&["cd", "pushd", "chdir"]) {
            self.directories
                .extend(call.operands().next().map(str::to_owned));
        } else if call.is_one_of(&["source", "."]) {
            let file = call.arguments.first().cloned();
            self.files.extend(file.map(|file| (file, Language::Shell)));
        } else if call.is_one_of(&["make", "gmake"]) {
            self.make(call);
        } else if call.is_one_of(&["cp", "mv", "ln", "install", "cat"]) {
            self.copy(call);
        } else if call.is_one_of(&["awk", "gawk", "mawk"]) {
            let pairs = call.arguments.windows(2).filter(|pair| pair[0] == "-f");
            let long = call
                .arguments
                .iter()
                .filter_map(|w| w.strip_prefix("--file="));
            let files = pairs
                .map(|pair| pair[1].clone())
                .chain(long.map(str::to_owned));
            self.files.extend(files.map(|file| (file, Language::Other)));
        } else if is_shell || interprets {
            let language = if is_shell {
                Language::Shell
            } else {
                Language::Other
            };
            let mut files: Vec<String> = file_operand(call).into_iter().collect();
            if files.is_empty() && !has_inline(call) {
                let read = simple.redirects.iter().filter(|redirect| !redirect.writes);
                files.extend(read.map(|redirect| redirect.target.clone()));
                if let Some(cat) = feeder.and_then(Call::of).filter(|call| call.name == "cat") {
                    files.extend(cat.operands().map(str::to_owned));
                }
            }
            self.files
                .extend(files.into_iter().map(|file| (file, language)));
        } else {
            let at = simple.words.len() - call.arguments.len();
            let program = at.checked_sub(1).and_then(|at| simple.words.get(at));
            let own = program.filter(|word| {
                word.contains('/') && !SYSTEM.iter().any(|place| word.starts_with(place))
            });
            self.files
                .extend(own.map(|word| (word.clone(), Language::Own)));
            if let Some(word) = program.filter(|word| !word.contains(['/', '$'])) {
                let places = self.path.iter();
                let found = places.map(|place| (format!("{place}/{word}"), Language::Own));
                self.files.extend(found.collect::<Vec<_>>());
            }
        }
    }
}

/// `-c`, `-e`: the script stands in the command itself. `-m`: it is a module.
fn has_inline(call: &Call<'_>) -> bool {
    call.has_short('c') || call.has_short('e') || call.has_short('m')
}

fn file_operand(call: &Call<'_>) -> Option<String> {
    let mut words = call.arguments.iter();
    while let Some(word) = words.next() {
        if VALUED.contains(&word.as_str()) {
            words.next();
        } else if word.starts_with('-') && word.len() > 1 {
            let flags = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
            if flags.is_some_and(|flags| flags.contains(['c', 'm'])) {
                return None;
            }
        } else if word != "-" && !word.starts_with('+') {
            return Some(word.clone());
        }
    }
    None
}

impl Shelf<'_> {
    /// The scripts that matter, also those that scripts run.
    pub(super) async fn scripts(&self, command: &str) -> Vec<Script> {
        let mut found: Vec<Script> = Vec::new();
        let mut seen: Vec<SandboxPath> = Vec::new();
        let mut texts = vec![command.to_owned()];
        let mut known = self.known;
        let nothing = Known::default();
        while let Some(text) = texts.pop() {
            let runs = Runs::of(&super::normalize::normalize(&text), known);
            // Scripts set what they need themselves.
            known = &nothing;
            for (word, language) in &runs.files {
                for path in self.matching(self.paths(word, &runs.directories)).await {
                    if seen.len() >= MAX_FILES || seen.contains(&path) {
                        continue;
                    }
                    seen.push(path.clone());
                    if let Some(script) = self.read(&path, *language).await {
                        if script.is_shell {
                            texts.push(script.text.clone());
                        }
                        found.push(script);
                    }
                }
            }
            for make in &runs.makes {
                found.extend(self.made(make, &runs.directories).await);
            }
        }
        found.retain(|script| !script.findings.is_clean() || script.findings.sudo_stdin);
        found
    }

    /// The recipes that one call of make runs.
    async fn made(&self, make: &Make, directories: &[String]) -> Option<Script> {
        let names: Vec<&str> = match &make.file {
            Some(file) => vec![file.as_str()],
            None => makefile::NAMES.to_vec(),
        };
        for name in names {
            let word = match &make.directory {
                Some(directory) => format!("{directory}/{name}"),
                None => name.to_owned(),
            };
            for path in self.paths(&word, directories).into_iter().rev() {
                if let Some((text, is_new)) = self.text(&path).await {
                    let text = makefile::recipes(&text, &make.targets);
                    return Some(Script::judged(path, text, true, is_new));
                }
            }
        }
        None
    }

    /// Patterns as the files that they stand for now.
    async fn matching(&self, paths: Vec<SandboxPath>) -> Vec<SandboxPath> {
        let is_pattern = |text: &str| text.contains(['*', '?', '[']);
        let mut found = Vec::new();
        for path in paths {
            if !is_pattern(path.as_str()) {
                found.push(path);
                continue;
            }
            let mut places = SandboxPath::absolute("/").into_iter().collect::<Vec<_>>();
            for piece in path.as_str().split('/').filter(|piece| !piece.is_empty()) {
                let mut next = Vec::new();
                for place in places {
                    if !is_pattern(piece) {
                        next.push(place.join(piece));
                        continue;
                    }
                    let entries = self.files.list(&place).await.unwrap_or_default();
                    let names = entries.iter().map(|entry| entry.name.as_str());
                    let fitting = names.filter(|name| wildcard_matches(piece, name));
                    next.extend(fitting.take(MAX_FILES).map(|name| place.join(name)));
                }
                next.truncate(MAX_FILES);
                places = next;
            }
            found.extend(places);
        }
        found
    }

    /// A relative path is looked for in every directory that the command goes to.
    fn paths(&self, word: &str, directories: &[String]) -> Vec<SandboxPath> {
        let Some(word) = self.expanded(word) else {
            return Vec::new();
        };
        let mut bases = vec![self.cwd.clone()];
        for directory in directories.iter().filter_map(|word| self.expanded(word)) {
            let next: Vec<SandboxPath> = bases.iter().map(|base| base.join(&directory)).collect();
            bases.extend(next);
            bases.truncate(MAX_FILES);
        }
        let mut paths: Vec<SandboxPath> = bases.iter().map(|base| base.join(&word)).collect();
        paths.dedup();
        paths
    }

    /// With what is known of variables; `None` where only the shell can tell.
    fn expanded(&self, word: &str) -> Option<String> {
        let home = self.home.as_ref().map(SandboxPath::as_str);
        let mut word = word.to_owned();
        if word == "~" || word.starts_with("~/") {
            word.replace_range(..1, home?);
        }
        for (name, value) in [("HOME", home), ("PWD", Some(self.cwd.as_str()))] {
            for form in [format!("${{{name}}}"), format!("${name}")] {
                if let (Some(rest), Some(value)) = (word.strip_prefix(&form), value) {
                    word = format!("{value}{rest}");
                }
            }
        }
        (!word.contains(['$', '`'])).then_some(word)
    }

    async fn read(&self, path: &SandboxPath, language: Language) -> Option<Script> {
        let (text, is_new) = match self.text(path).await {
            Some(read) => read,
            None if language == Language::Shell => return self.too_long(path).await,
            None => return None,
        };
        let is_shell = match language {
            Language::Shell => true,
            Language::Other => false,
            Language::Own => is_shell_script(&text),
        };
        Some(Script::judged(path.clone(), text, is_shell, is_new))
    }

    /// The text of a file, and whether it may be the model's.
    async fn text(&self, path: &SandboxPath) -> Option<(String, bool)> {
        let (_, stat) = self.files.look(path).await.ok()?;
        let stat = stat.filter(|stat| stat.kind == FileKind::File && stat.size <= MAX_SIZE)?;
        let bytes = self.files.read(path, 0, MAX_SIZE).await.ok()?;
        let text = String::from_utf8(bytes).ok();
        let text = text.filter(|text| !text.contains('\0'))?;
        Some((text, stat.modified_nanos >= self.since))
    }

    /// A new script of which nobody can say what it does.
    async fn too_long(&self, path: &SandboxPath) -> Option<Script> {
        let (_, stat) = self.files.look(path).await.ok()?;
        let is_new = |stat: &Stat| {
            stat.kind == FileKind::File && stat.size > MAX_SIZE && stat.modified_nanos >= self.since
        };
        stat.filter(is_new)?;
        let mut findings = Findings::default();
        findings.add("shell command via -c/-lc flag");
        Some(Script {
            path: path.clone(),
            // As much as can be said about it.
            text: format!("eval \"$(cat {path})\""),
            findings,
            is_shell: true,
        })
    }
}

/// Without a first line that names another, a shell reads it.
fn is_shell_script(text: &str) -> bool {
    let Some(line) = text.strip_prefix("#!").and_then(|text| text.lines().next()) else {
        return true;
    };
    let names = line.split(['/', ' ', '\t']);
    names.into_iter().any(|word| SHELLS.contains(&word))
}

fn judge(text: &str, is_shell: bool) -> Findings {
    let mut findings = Findings::default();
    for piece in pieces(text) {
        findings.include(&match is_shell {
            true => examine(piece),
            false => in_code(piece),
        });
    }
    findings
}

/// Whole lines together; what a long script does takes no longer than its length.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while rest.len() > PIECE {
        let bytes = &rest.as_bytes()[..PIECE];
        let end = bytes.iter().rposition(|byte| *byte == b'\n');
        let end = end
            .or_else(|| rest.find('\n'))
            .map_or(rest.len(), |at| at + 1);
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    pieces
}

/// Trees deleted, disks written, and commands that a program starts.
fn in_code(text: &str) -> Findings {
    let mut findings = Findings::default();
    let lines: Vec<&str> = text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let code = line.to_lowercase();
        let code = code.trim_start();
        if code.starts_with('#') || code.starts_with("//") {
            continue;
        }
        if DELETES.iter().any(|word| code.contains(word))
            || (code.contains("rmsync(") && text.contains("recursive"))
        {
            findings.add("recursive delete");
        }
        if code.contains("open(") && literals(line).iter().any(|text| is_disk(text)) {
            findings.add("write to block device");
        }
        if STARTS.iter().any(|word| code.contains(word)) {
            // A list of words may go on below.
            let near = lines[at..lines.len().min(at + 4)].join("\n");
            let words = literals(&near);
            for command in words.iter().chain([&words.join(" ")]) {
                hidden::merge(&examine(command), &mut findings);
            }
        }
    }
    findings
}

fn is_disk(text: &str) -> bool {
    let Some(name) = text.strip_prefix("/dev/") else {
        return false;
    };
    ["sd", "nvme", "hd", "mmcblk", "vd", "xvd"]
        .iter()
        .any(|disk| name.starts_with(disk))
}

/// What stands between quotes.
fn literals(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut chars = code.chars();
    while let Some(char) = chars.next() {
        if !matches!(char, '"' | '\'' | '`') {
            continue;
        }
        let mut text = String::new();
        while let Some(inner) = chars.next() {
            match inner {
                '\\' => text.extend(chars.next()),
                inner if inner == char => break,
                inner => text.push(inner),
            }
        }
        if !text.is_empty() {
            found.push(text);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn files(command: &str) -> Vec<String> {
        let runs = Runs::of(command, &Known::default());
        runs.files.into_iter().map(|(file, _)| file).collect()
    }

    #[test]
    fn the_files_that_a_command_runs() {
        for (command, expected) in [
            ("bash x.sh a b", &["x.sh"][..]),
            ("sudo -u me bash -eux ./x.sh", &["./x.sh"]),
            ("bash -o pipefail x.sh", &["x.sh"]),
            ("bash < x.sh", &["x.sh"]),
            ("cat x.sh | sh", &["x.sh"]),
            (". ./env.sh && source other.sh", &["./env.sh", "other.sh"]),
            ("cd sub && ./run --fast", &["./run"]),
            ("timeout 5 sub/run.sh", &["sub/run.sh"]),
            ("bash -c './a.sh; b'", &["./a.sh"]),
            ("python3.12 -u tool.py --x", &["tool.py"]),
            ("node --inspect app.js", &["app.js"]),
            ("eval \"$(cat a.txt)\"", &["a.txt"]),
            ("bash -c \"$(< a.txt)\"", &["a.txt"]),
            ("cp y.sh ls2; sh ls2", &["ls2", "y.sh"]),
            ("mv y.sh b && mv b c && sh ./c", &["./c", "b", "y.sh"]),
            ("cp y.sh d/; sh d/y.sh", &["d/y.sh", "y.sh"]),
            ("PATH=$PATH:/d; y12", &["/d/y12"]),
            ("export BASH_ENV=y26", &["y26"]),
            ("awk -f y.awk data", &["y.awk"]),
            ("cat a.txt; bash x.sh", &["x.sh"]),
            ("python3 -m pytest tests", &[]),
            ("python3 -c 'print(1)'", &[]),
            ("/usr/bin/env ls", &[]),
            ("cargo test; make", &[]),
            ("echo bash x.sh", &[]),
        ] {
            assert_eq!(files(command), expected, "{command}");
        }
    }

    #[test]
    fn code_is_read_for_what_it_starts() {
        for code in [
            "import os\nos.system('rm -rf /srv/data')",
            "subprocess.run([\n  'rm',\n  '-rf', '/srv/data'])",
            "shutil.rmtree(path)",
            "require('fs').rmSync(dir, {recursive: true})",
            "child_process.execSync(\"rm -r old\")",
            "with open('/dev/sda', 'wb') as disk: pass",
            "FileUtils.rm_rf('x')",
        ] {
            assert!(!in_code(code).is_clean(), "{code}");
        }
        for code in [
            "print('rm -rf /')",
            "# os.system('rm -rf /')\nprint(1)",
            "subprocess.run(['cargo', 'build'])",
            "os.remove('a.txt')",
            "data = open('/dev/null').read()",
            "print(\"done\") # it's system\nos.system('ls')",
        ] {
            assert!(in_code(code).is_clean(), "{code}");
        }
        assert_eq!(
            in_code("os.system('rm -rf /')").hardline,
            Some("recursive delete of root filesystem")
        );
    }
}
