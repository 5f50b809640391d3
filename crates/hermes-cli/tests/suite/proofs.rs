//! Pages that name tests must name tests that exist.

use std::collections::BTreeSet;
use std::path::Path;

fn collect(directory: &Path, names: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, names);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            for piece in text.split("fn ").skip(1) {
                let end = piece.find(|c: char| !c.is_alphanumeric() && c != '_');
                names.insert(piece[..end.unwrap_or(0)].to_owned());
            }
        }
    }
}

#[test]
fn the_proofs_name_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut known = BTreeSet::new();
    for entry in std::fs::read_dir(root.join("crates")).unwrap().flatten() {
        for part in ["src", "tests"] {
            let directory = entry.path().join(part);
            if directory.is_dir() {
                collect(&directory, &mut known);
            }
        }
    }
    let page = std::fs::read_to_string(root.join("docs/design/model-proofs.md")).unwrap();
    let named: Vec<&str> = page
        .lines()
        .filter_map(|line| line.rsplit_once(" | ").map(|(_, tests)| tests))
        .flat_map(|tests| tests.split('`').skip(1).step_by(2))
        .collect();
    assert!(named.len() > 60, "{}", named.len());
    let missing: Vec<&&str> = named
        .iter()
        .filter(|name| !known.contains(**name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
