//! Searching with what a sandbox has: ripgrep, GNU grep and find, or the small ones
//! of busybox. All of them say the same in a form that no file name can spoil.

use std::collections::BTreeMap;
use std::path::PathBuf;

use hermes_sandbox::SandboxPath;
use hermes_sandbox::search::{ContentHits, LineHit};
use hermes_sandbox::session::quote;

/// Where a search begins.
pub(super) struct Start<'a> {
    pub(super) path: &'a SandboxPath,
    pub(super) is_directory: bool,
}

/// What is looked for in files.
pub(super) struct Content<'a> {
    pub(super) pattern: &'a str,
    pub(super) glob: Option<&'a str>,
    pub(super) context: usize,
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
    fn find(&self, pattern: &str) -> String {
        let hidden = match self.is_directory {
            true => "-name '.?*' -prune -o ",
            false => "",
        };
        format!("find {} {hidden}-type f -name {pattern} ", self.name())
    }

    fn absolute(&self, name: &str) -> PathBuf {
        let name = name.strip_prefix("./").unwrap_or(name);
        PathBuf::from(self.base().join(name).as_str())
    }
}

/// Name, NUL, line number, mark, text for each line; or, for each file with hits,
/// NUL, its name, NUL, such lines.
pub(super) fn content(start: &Start<'_>, wanted: &Content<'_>) -> String {
    let pattern = quote(wanted.pattern);
    let context = match wanted.context {
        0 => String::new(),
        lines => format!(" -C {lines}"),
    };
    let glob = wanted.glob.map(quote);
    let option = |name: &str| match &glob {
        Some(glob) => format!(" {name}{glob}"),
        None => String::new(),
    };
    let (rg_glob, grep_glob) = (option("-g "), option("--include="));
    let hidden = match start.is_directory {
        true => " --exclude-dir='.?*' --exclude='.?*'",
        false => "",
    };
    // A glob of theirs would let hidden files in again.
    let rg_hidden = match start.is_directory && glob.is_some() {
        true => " -g '!.*'",
        false => "",
    };
    let find = start.find(glob.as_deref().unwrap_or("'*'"));
    // Two hundred files are asked about at once; only where one answers, each is.
    let each = quote(&format!(
        "grep -qE -e {pattern} -- \"$@\" 2>/dev/null || exit 0\nfor f; do o=$(grep -nE{context} -e {pattern} -- \"$f\" 2>/dev/null) || continue; [ \"$(head -c 8192 \"$f\" | tr -dc '\\000' | wc -c)\" -eq 0 ] || continue; printf '\\000%s\\000%s\\n' \"$f\" \"$o\"; done"
    ));
    format!(
        "{}if command -v rg >/dev/null 2>&1; then exec rg --null --no-heading --with-filename --line-number --color never --sort path{context}{rg_glob}{rg_hidden} -e {pattern} -- {name}; fi\n\
         if grep --version 2>/dev/null | grep -q GNU; then exec grep -rEnIHZ{context}{grep_glob}{hidden} -e {pattern} -- {name}; fi\n\
         echo x | grep -E -e {pattern} >/dev/null; [ $? -le 1 ] || exit 2\n\
         {find}-print0 | xargs -0 -n 200 sh -c {each} sh\nexit 0\n",
        start.enter(),
        name = start.name(),
    )
}

/// For each file its time, a blank, its name, NUL; or the same in two lists.
pub(super) fn names(start: &Start<'_>, pattern: &str) -> String {
    let has_wildcard = pattern.contains(['*', '?', '[']);
    let pattern = quote(&match has_wildcard {
        true => pattern.to_owned(),
        false => format!("*{pattern}*"),
    });
    let find = start.find(&pattern);
    let each = quote(
        "stat -c %Y -- \"$@\" 2>/dev/null; printf '\\000'; printf '%s\\000' \"$@\"; printf '\\000'",
    );
    format!(
        "{}if find . -maxdepth 0 -printf '' 2>/dev/null; then exec {find}-printf '%T@ %p\\000'; fi\n\
         printf '\\000'\n{find}-exec sh -c {each} sh {{}} +\nexit 0\n",
        start.enter()
    )
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

/// Hits of either form, by path and line.
pub(super) fn read_content(start: &Start<'_>, text: &str) -> ContentHits {
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
    Some(LineHit {
        path,
        line,
        text: rest[digits + mark.len_utf8()..]
            .trim_end_matches('\r')
            .to_owned(),
        is_match: mark == ':',
    })
}
