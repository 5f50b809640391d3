//! Files of older versions grow into ours; files of newer ones are left alone.

use std::fs;

use hermes_store::rusqlite::Connection;
use hermes_store::{SearchRequest, StateDb};
use hermes_types::SessionId;
use pretty_assertions::assert_eq;

use super::support::{Scratch, fixture, session};

fn raw(scratch: &Scratch) -> Connection {
    Connection::open(scratch.path()).unwrap()
}

/// The catalogue as text, full-text shadow tables left out.
fn schema(connection: &Connection) -> Vec<String> {
    let mut lines: Vec<String> = connection
        .prepare(
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' \
             AND name NOT LIKE 'messages_fts_%data' AND name NOT LIKE 'messages_fts_%idx' \
             AND name NOT LIKE 'messages_fts_%content' AND name NOT LIKE 'messages_fts_%docsize' \
             AND name NOT LIKE 'messages_fts_%config'",
        )
        .unwrap()
        .query_map([], |row| row.get::<_, String>(0))
        .unwrap()
        .map(|line| format!("{};", line.unwrap()))
        .collect();
    lines.sort();
    lines
}

#[test]
fn a_new_file_has_the_schema_of_the_reference_word_for_word() {
    let scratch = Scratch::new();
    drop(scratch.open());
    let text = fs::read_to_string(fixture("state-schema.sql")).unwrap();
    let mut expected: Vec<String> = text
        .split("\nCREATE ")
        .skip(1)
        .map(|statement| {
            let body: Vec<&str> = statement
                .lines()
                .filter(|line| !line.starts_with("--"))
                .collect();
            format!("CREATE {}", body.join("\n").trim_end())
        })
        .collect();
    expected.sort();
    assert_eq!(schema(&raw(&scratch)), expected);
    let version: i64 = raw(&scratch)
        .query_row("SELECT version FROM schema_version", [], |row| row.get(0))
        .unwrap();
    assert_eq!(version, 14);
    let user_version: i64 = raw(&scratch)
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap();
    assert_eq!(user_version, 0);
}

#[test]
fn opening_a_complete_file_changes_nothing_in_it() {
    let scratch = Scratch::with_fixture();
    let before = schema(&raw(&scratch));
    drop(scratch.open());
    drop(scratch.open());
    let connection = raw(&scratch);
    assert_eq!(schema(&connection), before);
    let changes: i64 = connection
        .query_row("PRAGMA schema_version", [], |row| row.get(0))
        .unwrap();
    let original: i64 = Connection::open(fixture("state-0.16.0.db"))
        .unwrap()
        .query_row("PRAGMA schema_version", [], |row| row.get(0))
        .unwrap();
    assert_eq!(changes, original);
}

const OLD: &str = "
CREATE TABLE schema_version (version INTEGER NOT NULL);
INSERT INTO schema_version VALUES (6);
CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, model TEXT,
  model_config TEXT, system_prompt TEXT, parent_session_id TEXT, started_at REAL NOT NULL,
  ended_at REAL, end_reason TEXT, message_count INTEGER DEFAULT 0, tool_call_count INTEGER DEFAULT 0,
  input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0, title TEXT, from_the_future TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id),
  role TEXT NOT NULL, content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT,
  timestamp REAL NOT NULL, token_count INTEGER, finish_reason TEXT, reasoning TEXT);
CREATE VIRTUAL TABLE messages_fts USING fts5(content, content=messages, content_rowid=id);
CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN
  INSERT INTO messages_fts(rowid, content) VALUES (new.id, new.content); END;
INSERT INTO sessions (id, source, started_at, title, from_the_future) VALUES ('old', 'cli', 1.0, 'Old', 'kept');
INSERT INTO messages (session_id, role, content, tool_name, timestamp) VALUES ('old', 'tool', '日本語のテキスト', 'terminal', 1.0);
";

#[test]
fn an_old_file_grows_columns_indexes_and_search() {
    let scratch = Scratch::new();
    raw(&scratch).execute_batch(OLD).unwrap();
    let db = scratch.open();
    let old = SessionId::new("old");
    assert_eq!(
        db.session(&old).unwrap().unwrap().title.as_deref(),
        Some("Old")
    );
    let messages = db.messages(&old).unwrap();
    assert!(messages[0].active && !messages[0].observed);
    // The text that is indexed has the tool's name since version 11.
    assert_eq!(db.search(&SearchRequest::new("terminal")).unwrap().len(), 1);
    assert_eq!(db.search(&SearchRequest::new("日本語")).unwrap().len(), 1);
    drop(db);
    let kept: String = raw(&scratch)
        .query_row("SELECT from_the_future FROM sessions", [], |row| row.get(0))
        .unwrap();
    assert_eq!(kept, "kept");
    let version: i64 = raw(&scratch)
        .query_row("SELECT MAX(version) FROM schema_version", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(version, 14);
}

#[test]
fn a_newer_file_keeps_its_version_and_columns() {
    let scratch = Scratch::with_fixture();
    raw(&scratch)
        .execute_batch(
            "UPDATE schema_version SET version = 99; ALTER TABLE sessions ADD COLUMN mood TEXT; \
             UPDATE sessions SET mood = 'good'",
        )
        .unwrap();
    let db = scratch.open();
    session(&db, "ours");
    let exported = db
        .export(&SessionId::new("20260520_090003_d65561"))
        .unwrap();
    assert_eq!(exported.unwrap()["mood"], "good");
    let version: i64 = raw(&scratch)
        .query_row("SELECT version FROM schema_version", [], |row| row.get(0))
        .unwrap();
    assert_eq!(version, 99);
}

#[test]
fn missing_triggers_are_made_again_and_the_index_is_filled() {
    let scratch = Scratch::with_fixture();
    raw(&scratch)
        .execute_batch(
            "DROP TRIGGER messages_fts_insert; DROP TRIGGER messages_fts_trigram_insert; \
             INSERT INTO messages (session_id, role, content, timestamp) \
             VALUES ('20260520_090003_d65561', 'user', 'written without triggers', 2.0)",
        )
        .unwrap();
    let db = scratch.open();
    assert_eq!(
        db.search(&SearchRequest::new("written without triggers"))
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn two_processes_that_make_the_file_at_once_both_succeed() {
    for _ in 0..10 {
        let scratch = Scratch::new();
        let path = scratch.path();
        std::thread::scope(|scope| {
            let handles: Vec<_> = (0..6)
                .map(|number| {
                    let path = path.clone();
                    scope.spawn(move || {
                        let db = StateDb::open(&path, hermes_home::Clock::System).unwrap();
                        session(&db, &format!("s{number}"));
                    })
                })
                .collect();
            for handle in handles {
                handle.join().unwrap();
            }
        });
        assert_eq!(scratch.open().stats().unwrap().sessions, 6);
    }
}
