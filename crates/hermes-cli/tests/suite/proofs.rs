//! Pages that name tests must name tests that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The pages, and how many names they have at least: fewer mean that one was not
/// understood.
const PAGES: [(&str, usize); 2] = [("turn-loop-proofs.md", 100), ("model-proofs.md", 60)];

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Names of functions that stand below a test attribute.
fn tests_of(text: &str, names: &mut BTreeSet<String>) {
    let mut is_test = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            is_test = true;
        } else if let Some(rest) = line
            .strip_prefix("async fn ")
            .or_else(|| line.strip_prefix("fn "))
        {
            if is_test && let Some((name, _)) = rest.split_once('(') {
                names.insert(name.to_owned());
            }
            is_test = false;
        }
    }
}

#[test]
fn the_proofs_name_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    sources(&root.join("crates"), &mut files);
    let mut tests = BTreeSet::new();
    for file in files {
        tests_of(&fs::read_to_string(file).expect("a source"), &mut tests);
    }
    for (page, fewest) in PAGES {
        let text = fs::read_to_string(root.join("docs/design").join(page)).expect("the page");
        let named: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("| ")?.rsplit_once(" | "))
            .flat_map(|(_, proofs)| proofs.split('`').skip(1).step_by(2))
            .collect();
        assert!(named.len() >= fewest, "{page}: {} names", named.len());
        let missing: Vec<&&str> = named
            .iter()
            .filter(|name| !tests.contains(**name))
            .collect();
        assert!(missing.is_empty(), "{page}: {missing:#?}");
    }
}
