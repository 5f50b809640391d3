//! Whether a command inside a container could touch a directory of the host.
//!
//! What a command names is resolved against the working directory and every
//! directory it changes to, then through links. Where that cannot be known
//! (variables, substitutions, `~`, paths that come through a pipe), the command is
//! taken to reach the host. What is only read there is not touched.

use hermes_sandbox::{Files, SandboxPath};

use super::normalize::normalize;
use super::program::Call;
use super::shell::{Known, Simple};
use super::{MAX_DEPTH, inner_scripts, interpreters, shell};

/// Paths that are resolved at most; a command with more is taken to reach the host.
const MAX_PATHS: usize = 64;

/// Programs that change nothing that they name.
const READERS: &[&str] = &[
    "ls",
    "cat",
    "head",
    "tail",
    "less",
    "more",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "wc",
    "stat",
    "file",
    "du",
    "df",
    "diff",
    "cmp",
    "echo",
    "printf",
    "test",
    "[",
    "[[",
    "tree",
    "realpath",
    "readlink",
    "basename",
    "dirname",
    "md5sum",
    "sha256sum",
    "true",
    "pwd",
    "which",
    "jq",
];

/// What a command line names, as far as its text tells.
#[derive(Debug, Default, PartialEq, Eq)]
struct Named {
    words: Vec<String>,
    /// All that it says to programs that may change something.
    said: String,
    /// Where it changes to, in order.
    directories: Vec<String>,
    /// Something that only the shell can tell.
    unknown: bool,
}

impl Named {
    fn add(&mut self, word: &str) {
        if word.contains(['$', '`']) || word.starts_with('~') {
            self.unknown = true;
        }
        self.said.push_str(word);
        self.said.push('\n');
        // `--directory=/x`, `of=/x`
        if let Some((_, value)) = word.split_once('=') {
            self.words.push(value.to_owned());
        }
        if !word.starts_with('-') {
            self.words.push(word.to_owned());
        }
    }

    fn look(&mut self, text: &str, known: &Known, depth: usize) {
        let (commands, after) = shell::parse_knowing(text, known);
        for (at, simple) in commands.iter().enumerate() {
            for redirect in simple.redirects.iter().filter(|redirect| redirect.writes) {
                self.add(&redirect.target);
            }
            let Some(call) = Call::of(simple) else {
                simple.words.iter().for_each(|word| self.add(word));
                continue;
            };
            let feeds = simple.nested || commands.get(at + 1).is_some_and(|next| next.piped);
            if call.is_one_of(READERS) && !feeds {
                continue;
            }
            let feeder = at.checked_sub(1).map(|before| &commands[before]);
            self.unknown |= acts_on_input(&call, feeder.filter(|_| simple.piped));
            self.said.extend(simple.here.as_deref());
            self.said.push('\n');
            for word in touched(&call) {
                self.add(word);
            }
            if matches!(call.name.as_str(), "cd" | "pushd" | "chdir") {
                let to = call.arguments.iter().find(|word| !word.starts_with('-'));
                self.directories.extend(to.cloned());
                self.unknown |= to.is_none();
            }
            if depth < MAX_DEPTH {
                for script in inner_scripts(&call) {
                    self.look(&script, &after, depth + 1);
                }
            }
        }
    }
}

/// A copy leaves its source as it is.
fn touched<'c>(call: &Call<'c>) -> &'c [String] {
    let plain = call.is_one_of(&["cp", "install"])
        && !call.has_short('t')
        && !call.has_short('l')
        && !call.has_short('s')
        && call.arguments.iter().all(|word| !word.starts_with("--"));
    match call
        .arguments
        .iter()
        .rposition(|word| !word.starts_with('-'))
    {
        Some(last) if plain => &call.arguments[last..],
        _ => call.arguments,
    }
}

/// Whether what it does is told by its input, or only later.
fn acts_on_input(call: &Call<'_>, feeder: Option<&Simple>) -> bool {
    if call.is_one_of(&["xargs", "parallel"]) {
        let mut words = call
            .arguments
            .iter()
            .map(|w| w.rsplit('/').next().unwrap_or(w));
        return !words.any(|word| READERS.contains(&word));
    }
    let interprets = interpreters::is_shell(call) || interpreters::is_interpreter(call);
    let speaks =
        |simple: &Simple| Call::of(simple).is_some_and(|call| call.is_one_of(&["echo", "printf"]));
    call.name == "alias" || (interprets && feeder.is_some_and(|simple| !speaks(simple)))
}

/// `exposed` are the directories of the host that the container may write to.
pub(super) async fn reaches_host(
    files: &dyn Files,
    exposed: &[SandboxPath],
    cwd: &SandboxPath,
    known: &Known,
    command: &str,
) -> bool {
    if exposed.is_empty() {
        return false;
    }
    let text = normalize(command);
    let mut named = Named::default();
    named.look(&text, &Known::default(), 0);
    if !known.variables.is_empty() {
        named.look(&text, known, 0);
    }
    let is_named = exposed
        .iter()
        .any(|mount| named.said.contains(mount.as_str()));
    if is_named || named.unknown {
        return true;
    }
    let paths = paths(&named, cwd);
    if paths.len() > MAX_PATHS || paths.iter().any(|path| overlaps(exposed, path)) {
        return true;
    }
    for path in &paths {
        match files.resolve(path).await {
            Ok(real) if !overlaps(exposed, &real) => {}
            _ => return true,
        }
    }
    false
}

fn paths(named: &Named, cwd: &SandboxPath) -> Vec<SandboxPath> {
    let mut bases = vec![cwd.clone()];
    for directory in &named.directories {
        let next: Vec<SandboxPath> = bases.iter().map(|base| base.join(directory)).collect();
        for base in next {
            if bases.len() <= MAX_PATHS && !bases.contains(&base) {
                bases.push(base);
            }
        }
    }
    let mut paths = bases.clone();
    for word in &named.words {
        for base in &bases {
            let path = base.join(before_pattern(word));
            if paths.len() <= MAX_PATHS && !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    paths
}

/// The directory that a pattern is expanded in: `/w*/x` may be anything below `/`.
fn before_pattern(word: &str) -> &str {
    match word.find(['*', '?', '[', '{']) {
        Some(at) => &word[..word[..at].rfind('/').map_or(0, |slash| slash + 1)],
        None => word,
    }
}

/// The path is in a mount, or a mount is below the path.
fn overlaps(exposed: &[SandboxPath], path: &SandboxPath) -> bool {
    exposed
        .iter()
        .any(|mount| path.below(mount).is_some() || mount.below(path).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_sandbox::local::LocalFiles;

    fn at(text: &str) -> SandboxPath {
        SandboxPath::absolute(text).unwrap()
    }

    #[tokio::test]
    async fn what_a_command_could_touch() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let root = root.to_str().unwrap();
        for name in ["host/deep", "own"] {
            std::fs::create_dir_all(format!("{root}/{name}")).unwrap();
        }
        std::os::unix::fs::symlink(format!("{root}/host"), format!("{root}/own/link")).unwrap();
        let exposed = [at(&format!("{root}/host"))];
        let own = format!("{root}/own");
        let files = LocalFiles;
        let nothing = Known::default();
        for (cwd, command, expected) in [
            (own.as_str(), "rm -rf build", false),
            (&own, "rm -rf /var/tmp/x", false),
            (&own, "rm -rf *", false),
            (&own, "bash -c 'rm -rf build'", false),
            (&own, "rm -rf link/deep", true),
            (&own, "rm -rf ../host", true),
            (&own, "rm -rf ../h*", true),
            (&own, "rm -rf ..", true),
            (&own, "rm -rf /", true),
            (&own, "cd .. && rm -rf host", true),
            (&own, "cd ..; cd host; rm -rf x", true),
            (&own, "bash -c 'cd link && rm -rf x'", true),
            (&own, "rm -rf $DIR", true),
            (&own, "rm -rf ~/x", true),
            (&own, "cd && rm -rf x", true),
            (&own, "echo x > link/file", true),
            (&own, "tar --directory=link -x", true),
            (&own, "echo aG9zdA== | base64 -d | xargs rm -rf", true),
            (&own, "xargs rm < list", true),
            (&own, "echo cm0K | base64 -d | sh", true),
            (&own, "alias zap='rm -rf'", true),
            (&own, "ls ../host; rm -rf /var/tmp/q", false),
            (&own, "cp ../host/f /var/tmp/; rm -rf /var/tmp/n", false),
            (&own, "cat ../host/list | xargs rm -rf", true),
            (&own, "mv ../host/f /var/tmp/", true),
            (&own, "find . | xargs wc; rm -rf build", false),
            (root, "find -delete", true),
            (&format!("{root}/host/deep"), "rm -rf x", true),
        ] {
            let reached = reaches_host(&files, &exposed, &at(cwd), &nothing, command).await;
            assert_eq!(reached, expected, "{command} in {cwd}");
        }
        assert!(!reaches_host(&files, &[], &at("/"), &nothing, "rm -rf /").await);
        let mut known = Known::default();
        known.variables.insert("Z".into(), format!("{root}/host"));
        assert!(reaches_host(&files, &exposed, &at(&own), &known, "rm -rf $Z").await);
    }
}
