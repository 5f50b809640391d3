//! Which files a project says are not worth a look, where only the texts of its
//! rule files are known. The same decisions as ripgrep's walk: the nearest rule
//! wins, what lies in an ignored directory is ignored, and `.gitignore` holds only
//! within its repository.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// What a rule file is, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    Ripgrep,
    Any,
    Git,
    /// `.git/info/exclude`.
    GitExclude,
}

impl Rule {
    pub fn of_name(name: &str) -> Option<Self> {
        match name {
            ".rgignore" => Some(Rule::Ripgrep),
            ".ignore" => Some(Rule::Any),
            ".gitignore" => Some(Rule::Git),
            _ => None,
        }
    }
}

/// A rule file of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleFile {
    pub directory: PathBuf,
    pub rule: Rule,
    pub text: String,
}

pub struct IgnoreRules {
    root: PathBuf,
    files: HashMap<PathBuf, Vec<(Rule, Gitignore)>>,
    repositories: Vec<PathBuf>,
    known: HashMap<PathBuf, bool>,
}

impl IgnoreRules {
    /// `repositories` are the directories that have a `.git`.
    pub fn new(root: &Path, files: &[RuleFile], repositories: Vec<PathBuf>) -> Self {
        let mut by_directory: HashMap<PathBuf, Vec<(Rule, Gitignore)>> = HashMap::new();
        for file in files {
            let mut builder = GitignoreBuilder::new(&file.directory);
            for line in file.text.lines() {
                // A line that cannot be understood rules nothing, as in git.
                let _ = builder.add_line(None, line);
            }
            if let Ok(matcher) = builder.build() {
                let entry = by_directory.entry(file.directory.clone()).or_default();
                entry.push((file.rule, matcher));
            }
        }
        Self {
            root: root.to_owned(),
            files: by_directory,
            repositories,
            known: HashMap::new(),
        }
    }

    /// Whether a walk from the root would have passed over this file.
    pub fn ignores_file(&mut self, path: &Path) -> bool {
        path.parent()
            .is_some_and(|parent| self.ignores_directory(parent))
            || self.is_ruled_out(path, false)
    }

    /// The same for a directory; where the search began is never ignored.
    pub fn ignores_directory(&mut self, path: &Path) -> bool {
        if path == self.root || !path.starts_with(&self.root) {
            return false;
        }
        if let Some(known) = self.known.get(path) {
            return *known;
        }
        let above = path
            .parent()
            .is_some_and(|parent| self.ignores_directory(parent));
        let ignored = above || self.is_ruled_out(path, true);
        self.known.insert(path.to_owned(), ignored);
        ignored
    }

    /// Of these directories, the ignored ones that lie in no other ignored one.
    pub fn topmost(&mut self, directories: &[PathBuf]) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for directory in directories {
            let above = directory
                .parent()
                .is_some_and(|parent| self.ignores_directory(parent));
            if !above && self.ignores_directory(directory) {
                found.push(directory.clone());
            }
        }
        found
    }

    fn is_ruled_out(&self, path: &Path, is_directory: bool) -> bool {
        let in_repository = path
            .ancestors()
            .skip(1)
            .any(|above| self.is_repository(above));
        let mut strongest: Option<(Rule, bool)> = None;
        let mut left_repository = false;
        for above in path.ancestors().skip(1) {
            for (rule, matcher) in self.files.get(above).into_iter().flatten() {
                let of_git = matches!(rule, Rule::Git | Rule::GitExclude);
                if of_git && (!in_repository || left_repository) {
                    continue;
                }
                // A nearer file of the same kind has spoken already.
                if strongest.is_some_and(|(known, _)| known <= *rule) {
                    continue;
                }
                match matcher.matched(path, is_directory) {
                    Match::None => {}
                    Match::Ignore(_) => strongest = Some((*rule, true)),
                    Match::Whitelist(_) => strongest = Some((*rule, false)),
                }
            }
            left_repository |= self.is_repository(above);
        }
        strongest.is_some_and(|(_, ignored)| ignored)
    }

    fn is_repository(&self, directory: &Path) -> bool {
        self.repositories.iter().any(|known| known == directory)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::AtomicBool;

    use pretty_assertions::assert_eq;

    use super::super::search_names;
    use super::*;

    /// The same tree, walked and judged.
    #[test]
    fn decides_as_the_walk_does() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        let root = top.join("root");
        let mut names = Vec::new();
        for name in [
            "a.log",
            "keep.log",
            "build/x.rs",
            "src/build/y.rs",
            "src/b.rs",
            "src/gen/c.rs",
            "src/gen/keep.rs",
            "other/d.tmp",
            "other/e.txt",
            "inner/a.log",
            "inner/f.rs",
            "outer.txt",
            "excluded.txt",
            "rg.txt",
        ] {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "x").unwrap();
            names.push(path);
        }
        let texts = [
            (
                "root/.gitignore",
                "*.log\n!keep.log\n/build/\nsrc/gen/*\n!src/gen/keep.rs\n",
            ),
            ("root/other/.ignore", "*.tmp\n"),
            ("root/.rgignore", "rg.txt\n"),
            ("root/inner/.gitignore", "f.rs\n"),
            (".ignore", "outer.txt\n"),
            (".gitignore", "src/\n"),
        ];
        for repositories in [vec![], vec!["root"], vec!["root", "root/inner"], vec![""]] {
            let mut files = Vec::new();
            for (name, text) in texts {
                let path = top.join(name);
                fs::write(&path, text).unwrap();
                files.push(RuleFile {
                    directory: path.parent().unwrap().to_owned(),
                    rule: Rule::of_name(path.file_name().unwrap().to_str().unwrap()).unwrap(),
                    text: text.to_owned(),
                });
            }
            for repository in &repositories {
                let info = top.join(repository).join(".git/info");
                fs::create_dir_all(&info).unwrap();
                fs::write(info.join("exclude"), "excluded.txt\n").unwrap();
                files.push(RuleFile {
                    directory: top.join(repository),
                    rule: Rule::GitExclude,
                    text: "excluded.txt\n".to_owned(),
                });
            }
            let git: Vec<PathBuf> = repositories.iter().map(|name| top.join(name)).collect();
            let mut rules = IgnoreRules::new(&root, &files, git);
            let mut kept: Vec<PathBuf> = names
                .iter()
                .filter(|path| !rules.ignores_file(path))
                .cloned()
                .collect();
            kept.sort();
            let mut walked = search_names(&root, "*", &AtomicBool::new(false)).unwrap();
            walked.sort();
            assert_eq!(kept, walked, "repositories: {repositories:?}");
            for repository in &repositories {
                fs::remove_dir_all(top.join(repository).join(".git")).unwrap();
            }
        }
    }

    #[test]
    fn whole_directories_are_told_once() {
        let root = Path::new("/p");
        let files = [RuleFile {
            directory: root.to_owned(),
            rule: Rule::Any,
            text: "target\n".to_owned(),
        }];
        let mut rules = IgnoreRules::new(root, &files, Vec::new());
        let directories = ["/p", "/p/target", "/p/target/debug", "/p/src"].map(PathBuf::from);
        assert_eq!(rules.topmost(&directories), [PathBuf::from("/p/target")]);
    }
}
