//! Files that are no board, or not any more.

use std::fs;
use std::path::Path;

use super::support::TestHome;

fn backups(root: &Path) -> Vec<String> {
    fs::read_dir(root)
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.contains(".corrupt.") && name.ends_with(".bak"))
        .collect()
}

#[test]
fn a_damaged_board_is_refused_and_copied_once() {
    let home = TestHome::new();
    for n in 0..300 {
        home.board()
            .create(&hermes_kanban::machine::NewTask {
                title: format!("task {n}"),
                body: Some("x".repeat(400)),
                ..Default::default()
            })
            .unwrap();
    }
    let path = home.root().join("kanban.db");
    // In another process there is no connection that could hide the damage.
    hermes_kanban::store::Board::forget(&path);
    for sidecar in ["kanban.db-wal", "kanban.db-shm"] {
        let _ = fs::remove_file(home.root().join(sidecar));
    }
    let mut bytes = fs::read(&path).unwrap();
    assert!(
        bytes.len() > 64 * 1024,
        "large enough to damage: {}",
        bytes.len()
    );
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 24 * 1024].fill(0xA5);
    // A new file, as a restart would find it.
    fs::remove_file(&path).unwrap();
    fs::write(&path, &bytes).unwrap();
    for _ in 0..10 {
        let outcome = home.kanban("list");
        assert_eq!(outcome.exit, 1);
        let start = format!(
            "kanban: could not initialize database: Refusing to open corrupt kanban DB at {}: ",
            path.display()
        );
        assert!(outcome.err.starts_with(&start), "{}", outcome.err);
        assert!(
            outcome.err.contains("Original preserved; backup at "),
            "{}",
            outcome.err
        );
    }
    assert_eq!(backups(home.root()).len(), 1);
    assert_eq!(fs::read(&path).unwrap(), bytes, "the original is as it was");
    // Not an empty board among others.
    let listed = home.kanban("boards list");
    assert!(
        listed.out.contains("(corrupt)") && !listed.out.contains("(empty)"),
        "{}",
        listed.out
    );
    let rows: serde_json::Value =
        serde_json::from_str(&home.kanban("boards list --json").out).unwrap();
    assert_eq!(rows[0]["state"], "corrupt", "{rows}");
    assert!(
        rows[0]["error"]
            .as_str()
            .unwrap()
            .contains("Refusing to open corrupt"),
        "{rows}"
    );
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let home = TestHome::new();
    let path = home.root().join("kanban.db");
    fs::write(&path, b"\x16\x03\x01 something else entirely, longer than a header of a hundred bytes, so that nothing is cut off here..").unwrap();
    let outcome = home.kanban("list");
    assert_eq!(outcome.exit, 1);
    assert!(
        outcome
            .err
            .contains("file is not a database: invalid SQLite header for"),
        "{}",
        outcome.err
    );
    assert!(backups(home.root()).is_empty());
    assert!(fs::read(&path).unwrap().starts_with(b"\x16\x03\x01"));
}

#[test]
fn an_empty_file_is_a_fresh_board() {
    let home = TestHome::new();
    fs::write(home.root().join("kanban.db"), b"").unwrap();
    assert_eq!(home.ok("list"), "(no matching tasks)\n");
}
