//! Searching files that this machine can reach: ripgrep's engine within the
//! process, so that there is nothing to install and nothing to spawn.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::SystemTime;

use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use ignore::{DirEntry, WalkBuilder, WalkState};

use super::pattern::{LinePattern, NameGlob, SearchError};

/// More lines than this are counted, not kept.
const MAX_KEPT: usize = 20_000;

#[derive(Clone, Debug)]
pub struct ContentQuery {
    pub pattern: String,
    pub file_glob: Option<String>,
    /// Lines before and after each hit.
    pub context: usize,
}

/// One line of a file; context lines are no hits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineHit {
    pub path: PathBuf,
    pub line: u64,
    pub text: String,
    pub is_match: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContentHits {
    /// By path, then line.
    pub lines: Vec<LineHit>,
    /// Matching lines per file, by path.
    pub counts: Vec<(PathBuf, usize)>,
    /// All matching lines, kept or not.
    pub total: usize,
}

/// Files whose lines match, of those that may be read. Blocks; `cancelled` ends it
/// early.
pub fn search_content(
    root: &Path,
    query: &ContentQuery,
    may_read: &(dyn Fn(&Path) -> bool + Sync),
    cancelled: &AtomicBool,
) -> Result<ContentHits, SearchError> {
    let LinePattern(matcher) = LinePattern::new(&query.pattern)?;
    let glob = query.file_glob.as_deref().map(NameGlob::new).transpose()?;
    let found = Mutex::new(ContentHits::default());
    let kept = AtomicUsize::new(0);
    walk(root, cancelled, |path, _| {
        if glob.as_ref().is_some_and(|glob| !glob.matches(path, root)) {
            return;
        }
        let hits = search_file(path, &matcher, query.context, &kept);
        // Asked of the few that match: the rules cost more than most files.
        if hits.matches > 0
            && may_read(path)
            && let Ok(mut found) = found.lock()
        {
            found.total += hits.matches;
            found.counts.push((path.to_owned(), hits.matches));
            found.lines.extend(hits.lines);
        }
    });
    let mut found = found.into_inner().unwrap_or_default();
    found
        .lines
        .sort_by(|a, b| a.path.cmp(&b.path).then(a.line.cmp(&b.line)));
    found.counts.sort();
    Ok(found)
}

/// Files whose base name matches the glob, newest first.
pub fn search_names(
    root: &Path,
    pattern: &str,
    cancelled: &AtomicBool,
) -> Result<Vec<PathBuf>, SearchError> {
    let glob = NameGlob::of_names(pattern)?;
    let found = Mutex::new(Vec::new());
    walk(root, cancelled, |path, modified| {
        if glob.matches(path, root)
            && let Ok(mut found) = found.lock()
        {
            found.push((modified(), path.to_owned()));
        }
    });
    let mut found = found.into_inner().unwrap_or_default();
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

fn walk(
    root: &Path,
    cancelled: &AtomicBool,
    visit: impl Fn(&Path, &dyn Fn() -> SystemTime) + Sync,
) {
    let visit = &visit;
    let threads = std::thread::available_parallelism()
        .map_or(2, usize::from)
        .min(8);
    WalkBuilder::new(root)
        .threads(threads)
        .add_custom_ignore_filename(".rgignore")
        .git_global(false)
        .filter_entry(is_shown)
        .build_parallel()
        .run(|| {
            Box::new(move |entry| {
                if cancelled.load(Ordering::Relaxed) {
                    return WalkState::Quit;
                }
                // What cannot be read is passed over, as ripgrep does.
                let Ok(entry) = entry else {
                    return WalkState::Continue;
                };
                if entry.file_type().is_some_and(|kind| kind.is_file()) {
                    let modified = || {
                        let metadata = entry.metadata().ok();
                        metadata
                            .and_then(|m| m.modified().ok())
                            .unwrap_or(SystemTime::UNIX_EPOCH)
                    };
                    visit(entry.path(), &modified);
                }
                WalkState::Continue
            })
        });
}

/// Where a rule file says that a hidden one is wanted, ripgrep would show it; others
/// that search for us could not.
fn is_shown(entry: &DirEntry) -> bool {
    entry.depth() == 0 || !entry.file_name().as_encoded_bytes().starts_with(b".")
}

#[derive(Default)]
struct FileHits {
    lines: Vec<LineHit>,
    matches: usize,
}

fn search_file(
    path: &Path,
    matcher: &RegexMatcher,
    context: usize,
    kept: &AtomicUsize,
) -> FileHits {
    let mut searcher = SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .line_number(true)
        .before_context(context)
        .after_context(context)
        .build();
    let mut sink = Collect {
        path,
        kept,
        hits: FileHits::default(),
    };
    // A file that vanishes or cannot be opened has no hits.
    let _ = searcher.search_path(matcher, path, &mut sink);
    sink.hits
}

struct Collect<'p> {
    path: &'p Path,
    kept: &'p AtomicUsize,
    hits: FileHits,
}

impl Collect<'_> {
    fn keep(&mut self, line: Option<u64>, bytes: &[u8], is_match: bool) {
        if self.kept.fetch_add(1, Ordering::Relaxed) >= MAX_KEPT {
            return;
        }
        let text = String::from_utf8_lossy(bytes)
            .trim_end_matches(['\n', '\r'])
            .to_owned();
        self.hits.lines.push(LineHit {
            path: self.path.to_owned(),
            line: line.unwrap_or(0),
            text,
            is_match,
        });
    }
}

impl Sink for Collect<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        for (offset, line) in found.lines().enumerate() {
            self.hits.matches += 1;
            let number = found.line_number().map(|first| first + offset as u64);
            self.keep(number, line, true);
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> Result<bool, Self::Error> {
        self.keep(found.line_number(), found.bytes(), false);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use pretty_assertions::assert_eq;

    use super::*;

    fn tree() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &[u8]| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("a.txt", b"foo\nbar\nbaz\n");
        write("src/b.rs", b"fn foo() {}\n");
        write(".hidden/c.txt", b"foo\n");
        write("bin.dat", b"foo\0foo\n");
        root
    }

    fn content(root: &Path, pattern: &str, context: usize) -> ContentHits {
        let query = ContentQuery {
            pattern: pattern.into(),
            file_glob: None,
            context,
        };
        search_content(root, &query, &|_| true, &AtomicBool::new(false)).unwrap()
    }

    #[test]
    fn alternation_finds_lines_in_the_starting_directory() {
        let root = tree();
        let hits = content(root.path(), "foo|baz", 0);
        let lines: Vec<(String, u64)> = hits
            .lines
            .iter()
            .map(|hit| {
                (
                    hit.path
                        .strip_prefix(root.path())
                        .unwrap()
                        .display()
                        .to_string(),
                    hit.line,
                )
            })
            .collect();
        assert_eq!(
            lines,
            [
                ("a.txt".into(), 1),
                ("a.txt".into(), 3),
                ("src/b.rs".into(), 1)
            ]
        );
        assert_eq!(hits.total, 3);
    }

    #[test]
    fn context_lines_are_no_hits() {
        let hits = content(tree().path(), "bar", 1);
        assert_eq!(hits.total, 1);
        assert_eq!(hits.lines.iter().filter(|hit| !hit.is_match).count(), 2);
    }

    #[test]
    fn names_are_found_at_any_depth() {
        let root = tree();
        let found = search_names(root.path(), "*.rs", &AtomicBool::new(false)).unwrap();
        assert_eq!(found, [root.path().join("src/b.rs")]);
        assert_eq!(
            search_names(root.path(), ".rs", &AtomicBool::new(false))
                .unwrap()
                .len(),
            1
        );
    }

    #[test]
    fn a_broken_pattern_is_an_error() {
        let query = ContentQuery {
            pattern: "(".into(),
            file_glob: None,
            context: 0,
        };
        assert!(
            search_content(Path::new("/"), &query, &|_| true, &AtomicBool::new(false)).is_err()
        );
    }
}
