//! The file: the same schema as the reference, and every older one brought to it.

use std::collections::BTreeMap;

use hermes_kanban::store::{Board, OpenOptions};
use hermes_store::rusqlite::Connection;
use hermes_types::TaskId;
use pretty_assertions::assert_eq;

use super::support::TestHome;

fn raw(path: &std::path::Path) -> Connection {
    Connection::open(path).unwrap()
}

fn columns(
    connection: &Connection,
    table: &str,
) -> Vec<(String, String, i64, Option<String>, i64)> {
    connection
        .prepare("SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_info(?1)")
        .unwrap()
        .query_map([table], |r| {
            Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?))
        })
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
}

fn names(connection: &Connection, kind: &str) -> Vec<String> {
    connection
        .prepare("SELECT name FROM sqlite_master WHERE type = ?1 AND name NOT LIKE 'sqlite_%' ORDER BY name")
        .unwrap()
        .query_map([kind], |r| r.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
}

#[test]
fn a_new_board_has_the_schema_of_the_reference_and_one_table_more() {
    let recorded = TestHome::recorded();
    let theirs = raw(&recorded.root().join("kanban.db"));
    let home = TestHome::new();
    drop(home.board());
    let ours = raw(&home.root().join("kanban.db"));
    for table in names(&theirs, "table") {
        assert_eq!(columns(&ours, &table), columns(&theirs, &table), "{table}");
    }
    let mut expected = names(&theirs, "table");
    expected.push("worker_identity".to_owned());
    assert_eq!(names(&ours, "table"), expected);
    assert_eq!(names(&ours, "index"), names(&theirs, "index"));
    let version: i64 = ours
        .pragma_query_value(None, "user_version", |r| r.get(0))
        .unwrap();
    assert_eq!(version, 0);
}

#[test]
fn opening_a_board_of_the_reference_adds_a_table_and_changes_no_row() {
    let home = TestHome::recorded();
    let path = home.root().join("kanban.db");
    let dump = |connection: &Connection| -> BTreeMap<String, Vec<String>> {
        names(connection, "table")
            .into_iter()
            .filter(|table| table != "worker_identity")
            .map(|table| {
                let list: Vec<String> = columns(connection, &table)
                    .into_iter()
                    .map(|c| format!("quote({})", c.0))
                    .collect();
                let rows = connection
                    .prepare(&format!("SELECT {} FROM {table}", list.join("||'|'||")))
                    .unwrap()
                    .query_map([], |r| r.get(0))
                    .unwrap()
                    .collect::<Result<_, _>>()
                    .unwrap();
                (table, rows)
            })
            .collect()
    };
    let before = dump(&raw(&path));
    drop(home.board());
    let after = raw(&path);
    assert_eq!(dump(&after), before);
    let changes = |c: &Connection| -> i64 {
        c.pragma_query_value(None, "schema_version", |r| r.get(0))
            .unwrap()
    };
    let version = changes(&after);
    drop(home.board());
    assert_eq!(changes(&after), version, "the second open migrates nothing");
}

/// The oldest shape that migrations know: few columns, failures under their old
/// names, text ids, renamed kinds, a running task without a run.
#[test]
fn an_old_board_is_brought_to_the_present() {
    let home = TestHome::new();
    let path = home.root().join("kanban.db");
    raw(&path)
        .execute_batch(
            "CREATE TABLE tasks (id TEXT PRIMARY KEY, title TEXT NOT NULL, body TEXT, assignee TEXT,
                 status TEXT NOT NULL, priority INTEGER DEFAULT 0, created_by TEXT,
                 created_at INTEGER NOT NULL, started_at INTEGER, completed_at INTEGER,
                 workspace_kind TEXT NOT NULL DEFAULT 'scratch', workspace_path TEXT,
                 claim_lock TEXT, claim_expires INTEGER, spawn_failures INTEGER DEFAULT 0,
                 last_spawn_error TEXT, project_id TEXT);
             CREATE TABLE task_events (id TEXT PRIMARY KEY, task_id TEXT NOT NULL, kind TEXT NOT NULL,
                 payload TEXT, created_at INTEGER NOT NULL);
             CREATE TABLE task_comments (id TEXT, task_id TEXT NOT NULL, author TEXT NOT NULL,
                 body TEXT NOT NULL, created_at INTEGER NOT NULL);
             CREATE TABLE kanban_notify_subs (task_id TEXT NOT NULL, platform TEXT NOT NULL,
                 chat_id TEXT NOT NULL, thread_id TEXT NOT NULL DEFAULT '', user_id TEXT,
                 created_at INTEGER NOT NULL, last_event_id TEXT,
                 PRIMARY KEY (task_id, platform, chat_id, thread_id));
             INSERT INTO tasks (id, title, status, created_at, started_at, assignee, claim_lock,
                 claim_expires, spawn_failures, last_spawn_error, project_id)
             VALUES ('t_00000001', 'runs', 'running', 10, 20, 'w', 'h:1', 99, 1, 'boom', 'p');
             INSERT INTO task_events VALUES ('a', 't_00000001', 'ready', NULL, 11),
                 ('b', 't_00000001', 'priority', '{\"priority\": 3}', 12),
                 ('c', 't_00000001', 'spawn_auto_blocked', NULL, 13);
             INSERT INTO task_comments VALUES ('x', 't_00000001', 'me', 'hello', 14);
             INSERT INTO kanban_notify_subs VALUES ('t_00000001', 'p', 'c', '', NULL, 1, '7'),
                 ('t_00000001', 'p', 'd', '', NULL, 1, 'junk'), ('t_00000001', 'p', 'e', '', NULL, 1, NULL);",
        )
        .unwrap();
    let board = home.board();
    let id = TaskId::new("t_00000001");
    let task = board.task(&id).unwrap();
    assert_eq!(task.consecutive_failures, 1);
    assert_eq!(task.last_failure_error.as_deref(), Some("boom"));
    let view = board.view(&id).unwrap();
    let kinds: Vec<(i64, &str)> = view
        .events
        .iter()
        .map(|e| (e.id, e.kind.as_str()))
        .collect();
    assert_eq!(
        kinds,
        [(1, "promoted"), (2, "reprioritized"), (3, "gave_up")]
    );
    assert_eq!(view.comments[0].body, "hello");
    let run = &view.runs[0];
    assert_eq!(task.current_run_id, Some(run.id));
    assert_eq!(
        (run.started_at, run.claim_lock.as_deref()),
        (20, Some("h:1"))
    );
    let cursors: Vec<i64> = board
        .subscriptions(None)
        .unwrap()
        .iter()
        .map(|s| s.last_event_id)
        .collect();
    assert_eq!(cursors, [7, 0, 0]);
    let kept: String = raw(&path)
        .query_row("SELECT project_id FROM tasks", [], |r| r.get(0))
        .unwrap();
    assert_eq!(kept, "p", "columns that we do not know survive");
    board.comment(&id, "me", "ids go on").unwrap();
}

#[test]
fn a_board_that_was_removed_and_made_anew_gets_its_schema() {
    let home = TestHome::new();
    let path = home.root().join("kanban/boards/p/kanban.db");
    let open = || Board::open(&path, &OpenOptions::default()).unwrap();
    drop(open());
    Board::forget(&path);
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    assert!(open().status_counts().unwrap().is_empty());
}
