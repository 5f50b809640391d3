//! Whether a command inside a container could touch a directory of the host.
//!
//! What a command names is resolved against the working directory and every
//! directory it changes to, then through links. Where that cannot be known
//! (variables, substitutions, `~`), the command is taken to reach the host.

use hermes_sandbox::{Files, SandboxPath};

use super::normalize::normalize;
use super::program::Call;
use super::{MAX_DEPTH, inner_scripts, shell};

/// Paths that are resolved at most; a command with more is taken to reach the host.
const MAX_PATHS: usize = 64;

/// What a command line names, as far as its text tells.
#[derive(Debug, Default, PartialEq, Eq)]
struct Named {
    words: Vec<String>,
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
        // `--directory=/x`, `of=/x`
        if let Some((_, value)) = word.split_once('=') {
            self.words.push(value.to_owned());
        }
        if !word.starts_with('-') {
            self.words.push(word.to_owned());
        }
    }

    fn look(&mut self, text: &str, depth: usize) {
        for simple in shell::parse(text) {
            for redirect in simple.redirects.iter().filter(|redirect| redirect.writes) {
                self.add(&redirect.target);
            }
            let Some(call) = Call::of(&simple) else {
                continue;
            };
            for word in call.arguments {
                self.add(word);
            }
            if matches!(call.name.as_str(), "cd" | "pushd" | "chdir") {
                let to = call.arguments.iter().find(|word| !word.starts_with('-'));
                self.directories.extend(to.cloned());
                self.unknown |= to.is_none();
            }
            if depth < MAX_DEPTH {
                for script in inner_scripts(&call) {
                    self.look(&script, depth + 1);
                }
            }
        }
    }
}

/// `exposed` are the directories of the host that the container may write to.
pub(super) async fn reaches_host(
    files: &dyn Files,
    exposed: &[SandboxPath],
    cwd: &SandboxPath,
    command: &str,
) -> bool {
    if exposed.is_empty() {
        return false;
    }
    let text = normalize(command);
    let mut named = Named::default();
    named.look(&text, 0);
    let is_named = exposed.iter().any(|mount| text.contains(mount.as_str()));
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
            (root, "find -delete", true),
            (&format!("{root}/host/deep"), "rm -rf x", true),
        ] {
            let reached = reaches_host(&files, &exposed, &at(cwd), command).await;
            assert_eq!(reached, expected, "{command} in {cwd}");
        }
        assert!(!reaches_host(&files, &[], &at("/"), "rm -rf /").await);
    }
}
