//! What a command runs that stands in a file: `bash x.sh`, `./x`, `. x`, `python3 x.py`.
//!
//! A command line is judged by its text, and `bash x.sh` says nothing. So the script is
//! read where it lies, as far as it is short and can be found, and judged by the same
//! rules. A script that was there before the conversation is somebody's tool: of that
//! only what is never run counts. What was written since may be the model's own.

use hermes_sandbox::{FileKind, Files, SandboxPath};

use super::interpreters::{SHELLS, is_interpreter};
use super::program::Call;
use super::shell::{self, Simple};
use super::{Findings, MAX_DEPTH, examine, hidden, inner_scripts};

/// Longer ones are no scripts that a model has just written.
const MAX_SIZE: u64 = 64 << 10;
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

#[derive(Debug, Default, PartialEq, Eq)]
struct Runs {
    files: Vec<(String, Language)>,
    /// Where the text changes to, in order.
    directories: Vec<String>,
}

impl Runs {
    fn look(&mut self, text: &str, depth: usize) {
        let commands = shell::parse(text);
        for (at, simple) in commands.iter().enumerate() {
            let Some(call) = Call::of(simple) else {
                continue;
            };
            let previous = at.checked_sub(1).map(|before| &commands[before]);
            self.call(&call, previous.filter(|_| simple.piped));
            if depth < MAX_DEPTH {
                for script in inner_scripts(&call) {
                    self.look(&script, depth + 1);
                }
            }
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
        while let Some(text) = texts.pop() {
            let mut runs = Runs::default();
            runs.look(&super::normalize::normalize(&text), 0);
            for (word, language) in &runs.files {
                for path in self.paths(word, &runs.directories) {
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
        }
        found.retain(|script| !script.findings.is_clean() || script.findings.sudo_stdin);
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
        (!word.contains(['$', '`', '*', '?'])).then_some(word)
    }

    async fn read(&self, path: &SandboxPath, language: Language) -> Option<Script> {
        let (_, stat) = self.files.look(path).await.ok()?;
        let stat = stat.filter(|stat| stat.kind == FileKind::File && stat.size <= MAX_SIZE)?;
        let bytes = self.files.read(path, 0, MAX_SIZE).await.ok()?;
        let text = String::from_utf8(bytes)
            .ok()
            .filter(|text| !text.contains('\0'))?;
        let is_shell = match language {
            Language::Shell => true,
            Language::Other => false,
            Language::Own => is_shell_script(&text),
        };
        let mut findings = judge(&text, is_shell);
        if stat.modified_nanos < self.since {
            findings = Findings {
                hardline: findings.hardline,
                ..Findings::default()
            };
        }
        Some(Script {
            path: path.clone(),
            text,
            findings,
            is_shell,
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
    match is_shell {
        true => examine(text),
        false => in_code(text),
    }
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
        let mut runs = Runs::default();
        runs.look(command, 0);
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
