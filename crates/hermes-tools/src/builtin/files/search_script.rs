//! Searching with what a sandbox has: ripgrep, GNU grep and find, or the small ones
//! of busybox. All of them say the same in a form that no file name can spoil.
//!
//! An old ripgrep may not know every form of pattern; then it is not asked.
//!
//! Ripgrep knows which files a project ignores. The others do not: where there is
//! anything to know, the first script brings the rules instead of hits, and a
//! second one leaves out whole directories; single files are left out here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use hermes_sandbox::SandboxPath;
use hermes_sandbox::search::{
    ContentHits, IgnoreRules, LineHit, LinePattern, NameGlob, Rule, RuleFile, ere,
};
use hermes_sandbox::session::quote;

/// First byte of an answer that is a survey.
const SURVEY: char = '\u{1}';
/// Directories that are named to `find` as not to be entered; hits in more are only
/// dropped.
const MAX_PRUNED: usize = 200;

/// Where a search begins.
pub(super) struct Start<'a> {
    pub(super) path: &'a SandboxPath,
    pub(super) is_directory: bool,
}

/// What is looked for in files.
pub(super) struct Content<'a> {
    pub(super) pattern: &'a str,
    pub(super) glob: Option<&'a NameGlob>,
    pub(super) context: usize,
}

/// How a search is made.
#[derive(Clone, Copy)]
pub(super) enum Step<'a> {
    /// A survey, if there are rules that the sandbox's programs do not know.
    First,
    /// Without these directories.
    Without(&'a [PathBuf]),
}

impl Start<'_> {
    /// The directory that names are relative to.
    fn base(&self) -> SandboxPath {
        match (self.is_directory, self.path.parent()) {
            (false, Some(parent)) => parent,
            _ => self.path.clone(),
        }
    }

    fn name(&self) -> String {
        match (self.is_directory, self.path.file_name()) {
            (false, Some(name)) => quote(&format!("./{name}")),
            _ => ".".to_owned(),
        }
    }

    fn enter(&self) -> String {
        format!("cd {} || exit 2\n", quote(self.base().as_str()))
    }

    /// Files below whose name matches, hidden ones left out; what was asked for by
    /// name is never hidden.
    fn find(&self, pattern: &str, step: Step<'_>) -> String {
        let mut left_out = match self.is_directory {
            true => vec!["-name '.?*'".to_owned()],
            false => Vec::new(),
        };
        if let Step::Without(directories) = step {
            let base = self.base();
            let relative = directories
                .iter()
                .filter_map(|path| path.strip_prefix(base.as_str()).ok()?.to_str())
                .take(MAX_PRUNED);
            left_out
                .extend(relative.map(|path| format!("-path {}", quote(&as_pattern("./", path)))));
        }
        let left_out = match left_out.is_empty() {
            true => String::new(),
            false => format!("\\( {} \\) -prune -o ", left_out.join(" -o ")),
        };
        let pattern = quote(pattern);
        format!("find {} {left_out}-type f -name {pattern} ", self.name())
    }

    fn absolute(&self, name: &str) -> PathBuf {
        let name = name.strip_prefix("./").unwrap_or(name);
        PathBuf::from(self.base().join(name).as_str())
    }

    /// Ends the script with a survey where a rule file or a repository is about.
    fn survey(&self, step: Step<'_>) -> &'static str {
        match (step, self.is_directory) {
            (Step::First, true) => SURVEY_SCRIPT,
            _ => "",
        }
    }
}

/// Records that end in NUL: `G` and a repository; `I`, a rule file, NUL, its text; after
/// an empty record, directories.
const SURVEY_SCRIPT: &str = r#"below() { find . -name .git -prune "$@" -o -type d -name '.?*' -prune -o -type f \( -name .gitignore -o -name .ignore -o -name .rgignore \) "$@" 2>/dev/null; }
above() { d=$(pwd -P); [ "$d" = / ] || while [ -n "$d" ]; do d=${d%/*}; for n in .git .gitignore .ignore .rgignore; do [ -e "$d/$n" ] && printf '%s\000' "$d/$n"; done; done; }
if [ -n "$({ above; below -print0; } | head -c 1)" ]; then
printf '\001'
{ above; below -print0; } | xargs -0 -n 200 sh -c 'for f; do case $f in */.git) printf "G%s\000" "$f"; f=$f/info/exclude; [ -f "$f" ] || continue ;; esac; [ -f "$f" ] || continue; printf "I%s\000" "$f"; head -c 65536 "$f" 2>/dev/null | tr -d "\000"; printf "\000"; done' sh
printf '\000'
find . -type d -name '.?*' -prune -o -type d -print0 2>/dev/null
exit 0
fi
"#;

/// A path in which no character is a wildcard.
fn as_pattern(before: &str, path: &str) -> String {
    let mut pattern = before.to_owned();
    for char in path.chars() {
        if matches!(char, '*' | '?' | '[' | '\\') {
            pattern.push('\\');
        }
        pattern.push(char);
    }
    pattern
}

/// Name, NUL, line number, mark, text for each line; or, for each file with hits,
/// NUL, its name, NUL, such lines; or a survey.
pub(super) fn content(start: &Start<'_>, wanted: &Content<'_>, step: Step<'_>) -> String {
    let context = match wanted.context {
        0 => String::new(),
        lines => format!(" -C {lines}"),
    };
    // A glob on the command line would bring ignored files back; a type does not. Nor
    // does a rule file bring hidden ones back.
    let of_type = wanted.glob.and_then(NameGlob::for_names);
    let kind = match (start.is_directory, of_type) {
        (true, Some(glob)) => format!(
            " -g '!.*' --type-add {} -t hermes",
            quote(&format!("hermes:{glob}"))
        ),
        (true, None) => " -g '!.*'".to_owned(),
        (false, _) => String::new(),
    };
    let theirs = ere(wanted.pattern);
    let fold = if theirs.ignore_case { "i" } else { "" };
    let pattern = quote(&theirs.text);
    let find = start.find(wanted.glob.map_or("*", NameGlob::for_find), step);
    // Two hundred files are asked about at once; only where one answers, each is.
    let each = quote(&format!(
        "grep -qE{fold} -e {pattern} -- \"$@\" 2>/dev/null || exit 0\nfor f; do o=$(grep -nE{fold}{context} -e {pattern} -- \"$f\" 2>/dev/null) || continue; [ \"$(head -c 8192 \"$f\" | tr -dc '\\000' | wc -c)\" -eq 0 ] || continue; printf '\\000%s\\000%s\\n' \"$f\" \"$o\"; done"
    ));
    format!(
        "{}if command -v rg >/dev/null 2>&1 && {{ rg --no-config -q -e {ours} -- /dev/null 2>/dev/null; [ $? -le 1 ]; }}; then exec rg --no-config --no-messages --no-ignore-global --null --no-heading --with-filename --line-number --color never --sort path{context}{kind} -e {ours} -- {name}; fi\n\
         {survey}echo x | grep -E -e {pattern} >/dev/null; [ $? -le 1 ] || exit 2\n\
         if grep --version 2>/dev/null | grep -q GNU; then {find}-print0 2>/dev/null | xargs -0 -n 500 grep -EnIHZs{fold}{context} -e {pattern} --; exit 0; fi\n\
         {find}-print0 2>/dev/null | xargs -0 -n 200 sh -c {each} sh\nexit 0\n",
        start.enter(),
        ours = quote(wanted.pattern),
        survey = start.survey(step),
        name = start.name(),
    )
}

/// For each file its time, a blank, its name, NUL; or the same in two lists; or a
/// survey.
pub(super) fn names(start: &Start<'_>, wanted: &NameGlob, step: Step<'_>) -> String {
    let find = start.find(wanted.for_find(), step);
    let each = quote(
        "stat -c %Y -- \"$@\" 2>/dev/null; printf '\\000'; printf '%s\\000' \"$@\"; printf '\\000'",
    );
    format!(
        "{}{}if find . -maxdepth 0 -printf '' 2>/dev/null; then {find}-printf '%T@ %p\\000' 2>/dev/null; exit 0; fi\n\
         printf '\\000'\n{find}-exec sh -c {each} sh {{}} + 2>/dev/null\nexit 0\n",
        start.enter(),
        start.survey(step),
    )
}

/// What a project ignores, and the directories that there are.
pub(super) struct Survey {
    pub(super) rules: IgnoreRules,
    pub(super) directories: Vec<PathBuf>,
}

/// `None`: the answer is one to the search itself.
pub(super) fn read_survey(start: &Start<'_>, text: &str) -> Option<Survey> {
    let text = text.strip_prefix(SURVEY)?;
    let mut fields = text.split('\0');
    let (mut files, mut repositories) = (Vec::new(), Vec::new());
    let place = |name: &str| match name.strip_prefix('/') {
        Some(_) => PathBuf::from(name),
        None => start.absolute(name),
    };
    while let Some(field) = fields.next() {
        if let Some(name) = field.strip_prefix('G') {
            repositories.extend(place(name).parent().map(Path::to_owned));
        } else if let Some(name) = field.strip_prefix('I') {
            let text = fields.next().unwrap_or_default();
            files.extend(rule_file(&place(name), text.to_owned()));
        } else {
            break;
        }
    }
    let directories = fields.filter(|name| !name.is_empty()).map(&place).collect();
    Some(Survey {
        rules: IgnoreRules::new(Path::new(start.base().as_str()), &files, repositories),
        directories,
    })
}

fn rule_file(path: &Path, text: String) -> Option<RuleFile> {
    let (rule, levels) = match Rule::of_name(path.file_name()?.to_str()?) {
        Some(rule) => (rule, 1),
        None => (Rule::GitExclude, 3),
    };
    Some(RuleFile {
        directory: path.ancestors().nth(levels)?.to_owned(),
        rule,
        text,
    })
}

/// Names as the sandbox sees them, newest first.
pub(super) fn read_names(start: &Start<'_>, text: &str) -> Vec<PathBuf> {
    let mut found: Vec<(f64, PathBuf)> = Vec::new();
    let mut add = |time: Option<&str>, name: &str| {
        let time = time.and_then(|time| time.trim().parse().ok());
        found.push((time.unwrap_or(0.0), start.absolute(name)));
    };
    match text.strip_prefix('\0') {
        None => {
            for entry in text.split('\0') {
                if let Some((time, name)) = entry.split_once(' ') {
                    add(Some(time), name);
                }
            }
        }
        // Batches of times, then names, then nothing.
        Some(batches) => {
            let mut fields = batches.split('\0');
            while let Some(times) = fields.next() {
                let mut times = times.lines();
                for name in fields.by_ref().take_while(|name| !name.is_empty()) {
                    add(times.next(), name);
                }
            }
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    found.into_iter().map(|(_, path)| path).collect()
}

/// Lines of either form.
pub(super) fn read_content(start: &Start<'_>, text: &str) -> Vec<LineHit> {
    let mut lines = Vec::new();
    let mut fields = text.split('\0');
    let mut name = fields.next().unwrap_or_default();
    if text.starts_with('\0') {
        while let (Some(name), Some(all)) = (fields.next(), fields.next()) {
            let hits = all
                .lines()
                .filter_map(|line| hit(start.absolute(name), line));
            lines.extend(hits);
        }
    } else {
        // The rest of a line, then the next line's name, which may have line breaks.
        for field in fields {
            let (line, next) = field.split_once('\n').unwrap_or((field, ""));
            lines.extend(hit(start.absolute(name), line));
            name = next.strip_prefix("--\n").unwrap_or(next);
        }
    }
    lines
}

/// Drops lines that only a program with fewer words took for hits, and what stood
/// around them.
pub(super) fn look_again(lines: &mut Vec<LineHit>, pattern: &LinePattern, context: usize) {
    for hit in lines.iter_mut().filter(|hit| hit.is_match) {
        hit.is_match = pattern.matches(&hit.text);
    }
    let hits: BTreeSet<(PathBuf, u64)> = lines
        .iter()
        .filter(|hit| hit.is_match)
        .map(|hit| (hit.path.clone(), hit.line))
        .collect();
    let context = context as u64;
    lines.retain(|hit| {
        let near = (hit.path.clone(), hit.line.saturating_sub(context))
            ..=(hit.path.clone(), hit.line + context);
        hits.range(near).next().is_some()
    });
}

/// Lines by path and number, with their counts.
pub(super) fn counted(mut lines: Vec<LineHit>) -> ContentHits {
    lines.sort_by(|a, b| a.path.cmp(&b.path).then(a.line.cmp(&b.line)));
    let mut counts: BTreeMap<&PathBuf, usize> = BTreeMap::new();
    for found in lines.iter().filter(|found| found.is_match) {
        *counts.entry(&found.path).or_default() += 1;
    }
    let counts: Vec<(PathBuf, usize)> = counts
        .into_iter()
        .map(|(path, count)| (path.clone(), count))
        .collect();
    ContentHits {
        total: counts.iter().map(|(_, count)| count).sum(),
        counts,
        lines,
    }
}

fn hit(path: PathBuf, rest: &str) -> Option<LineHit> {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let line = rest[..digits].parse().ok()?;
    let mark = rest[digits..].chars().next()?;
    let text = &rest[digits + mark.len_utf8()..];
    let text = match line {
        1 => text.strip_prefix('\u{feff}').unwrap_or(text),
        _ => text,
    };
    Some(LineHit {
        path,
        line,
        text: text.trim_end_matches('\r').to_owned(),
        is_match: mark == ':',
    })
}
