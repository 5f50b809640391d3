//! Nothing outside of the store knows SQL: a board may come to lie elsewhere.

use std::fs;
use std::path::{Path, PathBuf};

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn only_the_store_knows_sql_and_its_database() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let store = crates.join("hermes-kanban/src/store");
    let mut files = Vec::new();
    sources(&crates.join("hermes-kanban/src"), &mut files);
    // Whoever mounts the product speaks to the board as everybody does.
    sources(&crates.join("hermes-cli/src/commands/kanban"), &mut files);
    files.push(crates.join("hermes-cli/src/commands/chat/worker.rs"));
    assert!(files.iter().any(|file| file.starts_with(&store)));
    let mut knowing = Vec::new();
    for file in files.iter().filter(|file| !file.starts_with(&store)) {
        let text = fs::read_to_string(file).unwrap();
        for word in [
            "rusqlite",
            "hermes_store",
            "SqliteBoard",
            "SELECT ",
            "INSERT ",
            "DELETE FROM",
            "PRAGMA ",
        ] {
            if text.contains(word) {
                knowing.push(format!("{}: {word}", file.display()));
            }
        }
    }
    assert_eq!(knowing, Vec::<String>::new());
}
