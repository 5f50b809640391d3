//! Tables, indexes and the steps that bring an old file to them.
//!
//! Names and columns are those of Python Hermes 0.16.0, which works on the same
//! file; `worker_identity` is the one table of ours, and it ignores that. Steps
//! only add, run in one transaction, and are safe to run beside another migrator.

use std::collections::HashSet;

use rusqlite::{Connection, Transaction, params};

use crate::error::KanbanError;

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS tasks (
    id                   TEXT PRIMARY KEY,
    title                TEXT NOT NULL,
    body                 TEXT,
    assignee             TEXT,
    status               TEXT NOT NULL,
    priority             INTEGER DEFAULT 0,
    created_by           TEXT,
    created_at           INTEGER NOT NULL,
    started_at           INTEGER,
    completed_at         INTEGER,
    workspace_kind       TEXT NOT NULL DEFAULT 'scratch',
    workspace_path       TEXT,
    branch_name          TEXT,
    claim_lock           TEXT,
    claim_expires        INTEGER,
    tenant               TEXT,
    result               TEXT,
    idempotency_key      TEXT,
    consecutive_failures INTEGER NOT NULL DEFAULT 0,
    worker_pid           INTEGER,
    last_failure_error   TEXT,
    max_runtime_seconds  INTEGER,
    last_heartbeat_at    INTEGER,
    current_run_id       INTEGER,
    workflow_template_id TEXT,
    current_step_key     TEXT,
    skills               TEXT,
    model_override       TEXT,
    max_retries          INTEGER,
    goal_mode            INTEGER NOT NULL DEFAULT 0,
    goal_max_turns       INTEGER,
    session_id           TEXT
);
CREATE TABLE IF NOT EXISTS task_links (
    parent_id  TEXT NOT NULL,
    child_id   TEXT NOT NULL,
    PRIMARY KEY (parent_id, child_id)
);
CREATE TABLE IF NOT EXISTS task_comments (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id    TEXT NOT NULL,
    author     TEXT NOT NULL,
    body       TEXT NOT NULL,
    created_at INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS task_events (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id    TEXT NOT NULL,
    run_id     INTEGER,
    kind       TEXT NOT NULL,
    payload    TEXT,
    created_at INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS task_runs (
    id                  INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id             TEXT NOT NULL,
    profile             TEXT,
    step_key            TEXT,
    status              TEXT NOT NULL,
    claim_lock          TEXT,
    claim_expires       INTEGER,
    worker_pid          INTEGER,
    max_runtime_seconds INTEGER,
    last_heartbeat_at   INTEGER,
    started_at          INTEGER NOT NULL,
    ended_at            INTEGER,
    outcome             TEXT,
    summary             TEXT,
    metadata            TEXT,
    error               TEXT
);
CREATE TABLE IF NOT EXISTS task_attachments (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id      TEXT NOT NULL,
    filename     TEXT NOT NULL,
    stored_path  TEXT NOT NULL,
    content_type TEXT,
    size         INTEGER NOT NULL DEFAULT 0,
    uploaded_by  TEXT,
    created_at   INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS kanban_notify_subs (
    task_id          TEXT NOT NULL,
    platform         TEXT NOT NULL,
    chat_id          TEXT NOT NULL,
    thread_id        TEXT NOT NULL DEFAULT '',
    user_id          TEXT,
    notifier_profile TEXT,
    created_at       INTEGER NOT NULL,
    last_event_id    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (task_id, platform, chat_id, thread_id)
);
CREATE TABLE IF NOT EXISTS worker_identity (
    run_id     INTEGER PRIMARY KEY,
    pid        INTEGER,
    start_time INTEGER,
    boot_id    TEXT,
    host       TEXT,
    exit_code  INTEGER,
    signal     INTEGER,
    ended_at   INTEGER
);
";

const TABLE_NAMES: &[&str] = &[
    "tasks",
    "task_links",
    "task_comments",
    "task_events",
    "task_runs",
    "task_attachments",
    "kanban_notify_subs",
    "worker_identity",
];

/// Index, table, columns.
const INDEXES: &[(&str, &str, &str)] = &[
    ("idx_tasks_assignee_status", "tasks", "assignee, status"),
    ("idx_tasks_status", "tasks", "status"),
    ("idx_tasks_tenant", "tasks", "tenant"),
    ("idx_tasks_idempotency", "tasks", "idempotency_key"),
    ("idx_tasks_session_id", "tasks", "session_id"),
    ("idx_links_child", "task_links", "child_id"),
    ("idx_links_parent", "task_links", "parent_id"),
    ("idx_comments_task", "task_comments", "task_id, created_at"),
    ("idx_events_task", "task_events", "task_id, created_at"),
    ("idx_events_run", "task_events", "run_id, id"),
    ("idx_runs_task", "task_runs", "task_id, started_at"),
    ("idx_runs_status", "task_runs", "status"),
    (
        "idx_attachments_task",
        "task_attachments",
        "task_id, created_at",
    ),
    ("idx_notify_task", "kanban_notify_subs", "task_id"),
];

/// Columns that older files may lack, with the older column they inherit from.
const ADDED_TO_TASKS: &[(&str, &str, Option<&str>)] = &[
    ("tenant", "TEXT", None),
    ("result", "TEXT", None),
    ("branch_name", "TEXT", None),
    ("idempotency_key", "TEXT", None),
    (
        "consecutive_failures",
        "INTEGER NOT NULL DEFAULT 0",
        Some("spawn_failures"),
    ),
    ("worker_pid", "INTEGER", None),
    ("last_failure_error", "TEXT", Some("last_spawn_error")),
    ("max_runtime_seconds", "INTEGER", None),
    ("last_heartbeat_at", "INTEGER", None),
    ("current_run_id", "INTEGER", None),
    ("workflow_template_id", "TEXT", None),
    ("current_step_key", "TEXT", None),
    ("skills", "TEXT", None),
    ("max_retries", "INTEGER", None),
    ("model_override", "TEXT", None),
    ("goal_mode", "INTEGER NOT NULL DEFAULT 0", None),
    ("goal_max_turns", "INTEGER", None),
    ("session_id", "TEXT", None),
];

const RENAMED_KINDS: &[(&str, &str)] = &[
    ("ready", "promoted"),
    ("priority", "reprioritized"),
    ("spawn_auto_blocked", "gave_up"),
];

/// Whether the file has everything already; the usual case, and it only reads.
pub(super) fn is_current(connection: &Connection) -> rusqlite::Result<bool> {
    let names: HashSet<String> = connection
        .prepare("SELECT name FROM sqlite_master WHERE type IN ('table', 'index')")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut known = TABLE_NAMES
        .iter()
        .chain(INDEXES.iter().map(|(name, _, _)| name));
    if !known.all(|name| names.contains(*name)) {
        return Ok(false);
    }
    let columns = columns_of(connection, "tasks")?;
    Ok(ADDED_TO_TASKS
        .iter()
        .all(|(name, _, _)| columns.contains(*name))
        && columns_of(connection, "task_events")?.contains("run_id")
        && columns_of(connection, "kanban_notify_subs")?.contains("notifier_profile")
        && drifted(connection)?.is_empty()
        && !has_running_without_run(connection)?)
}

/// A board that the reference keeps and we have never written to.
pub(super) fn lacks_only_ours(connection: &Connection) -> rusqlite::Result<bool> {
    let has = |table: &str| {
        connection
            .prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1")?
            .exists([table])
    };
    Ok(!has("worker_identity")?
        && has("tasks")?
        && columns_of(connection, "tasks")?.contains("session_id"))
}

/// The missing table for this connection alone.
pub(super) fn add_ours_in_memory(connection: &Connection) -> rusqlite::Result<()> {
    let ours = TABLES
        .split(';')
        .find(|statement| statement.contains("EXISTS worker_identity ("))
        .unwrap_or_default();
    connection.execute_batch(&ours.replace("CREATE TABLE", "CREATE TEMP TABLE"))
}

fn columns_of(connection: &Connection, table: &str) -> rusqlite::Result<HashSet<String>> {
    connection
        .prepare_cached("SELECT name FROM pragma_table_info(?1)")?
        .query_map([table], |row| row.get(0))?
        .collect()
}

fn has_running_without_run(connection: &Connection) -> rusqlite::Result<bool> {
    connection
        .prepare("SELECT 1 FROM tasks WHERE status = 'running' AND current_run_id IS NULL")?
        .exists([])
}

/// All steps. Idempotent.
pub(super) fn migrate(tx: &Transaction<'_>, now: i64) -> Result<(), KanbanError> {
    // A file that had tables before this transaction may hold data to convert.
    let existed = tx
        .prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'tasks'")?
        .exists([])?;
    tx.execute_batch(TABLES)?;
    let columns = columns_of(tx, "tasks")?;
    for (name, definition, legacy) in ADDED_TO_TASKS {
        if columns.contains(*name) {
            continue;
        }
        add_column(tx, "tasks", name, definition)?;
        if let Some(legacy) = legacy.filter(|legacy| columns.contains(*legacy)) {
            let copy = format!("UPDATE tasks SET {name} = {legacy} WHERE {legacy} IS NOT NULL");
            tx.execute(&copy, [])?;
        }
    }
    add_column(tx, "task_events", "run_id", "INTEGER")?;
    add_column(tx, "kanban_notify_subs", "notifier_profile", "TEXT")?;
    for table in drifted(tx)? {
        rebuild(tx, table)?;
    }
    for (index, table, columns) in INDEXES {
        tx.execute(
            &format!("CREATE INDEX IF NOT EXISTS {index} ON {table}({columns})"),
            [],
        )?;
    }
    if existed {
        for (old, new) in RENAMED_KINDS {
            tx.execute(
                "UPDATE task_events SET kind = ?2 WHERE kind = ?1",
                params![old, new],
            )?;
        }
        give_running_tasks_a_run(tx, now)?;
    }
    Ok(())
}

fn add_column(
    tx: &Transaction<'_>,
    table: &str,
    column: &str,
    definition: &str,
) -> rusqlite::Result<()> {
    if columns_of(tx, table)?.contains(column) {
        return Ok(());
    }
    tx.execute(
        &format!("ALTER TABLE {table} ADD COLUMN {column} {definition}"),
        [],
    )?;
    Ok(())
}

/// Tables whose key columns have a type that only old files have.
fn drifted(connection: &Connection) -> rusqlite::Result<Vec<&'static str>> {
    let mut statement = connection
        .prepare_cached("SELECT upper(type), pk FROM pragma_table_info(?1) WHERE name = ?2")?;
    let mut out = Vec::new();
    for (table, column, is_key) in [
        ("task_events", "id", true),
        ("task_comments", "id", true),
        ("task_runs", "id", true),
        ("kanban_notify_subs", "last_event_id", false),
    ] {
        let found: Option<(String, i64)> = statement
            .query_map([table, column], |row| Ok((row.get(0)?, row.get(1)?)))?
            .next()
            .transpose()?;
        if let Some((kind, position)) = found
            && (kind != "INTEGER" || (is_key && position == 0))
        {
            out.push(table);
        }
    }
    Ok(out)
}

/// Gives a drifted table its proper shape: new ids in row order, cursors cast.
fn rebuild(tx: &Transaction<'_>, table: &str) -> Result<(), KanbanError> {
    let old = columns_of(tx, table)?;
    let definition = TABLES
        .split(';')
        .find(|statement| statement.contains(&format!("EXISTS {table} (")))
        .unwrap_or_default();
    tx.execute(&format!("ALTER TABLE {table} RENAME TO {table}_legacy"), [])?;
    // Indexes move with the renamed table; they are made again afterwards.
    for (index, of, _) in INDEXES {
        if *of == table {
            tx.execute(&format!("DROP INDEX IF EXISTS {index}"), [])?;
        }
    }
    tx.execute(definition, [])?;
    let is_cursor = table == "kanban_notify_subs";
    let shared: Vec<String> = columns_of(tx, table)?
        .into_iter()
        .filter(|name| old.contains(name) && (is_cursor || name != "id"))
        .collect();
    let into = shared.join(", ");
    let from = shared
        .iter()
        .map(|name| match name.as_str() {
            "last_event_id" => "CAST(COALESCE(last_event_id, 0) AS INTEGER)".to_owned(),
            other => other.to_owned(),
        })
        .collect::<Vec<_>>()
        .join(", ");
    tx.execute(
        &format!("INSERT INTO {table} ({into}) SELECT {from} FROM {table}_legacy ORDER BY rowid"),
        [],
    )?;
    tx.execute(&format!("DROP TABLE {table}_legacy"), [])?;
    Ok(())
}

/// Files from before runs existed, and claims whose run was never written.
fn give_running_tasks_a_run(tx: &Transaction<'_>, now: i64) -> Result<(), KanbanError> {
    let ids: Vec<String> = tx
        .prepare("SELECT id FROM tasks WHERE status = 'running' AND current_run_id IS NULL")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for id in ids {
        tx.execute(
            "INSERT INTO task_runs (task_id, profile, step_key, status, claim_lock, claim_expires,
                 worker_pid, max_runtime_seconds, last_heartbeat_at, started_at)
             SELECT id, assignee, current_step_key, 'running', claim_lock, claim_expires, worker_pid,
                 max_runtime_seconds, last_heartbeat_at, COALESCE(started_at, ?2)
             FROM tasks WHERE id = ?1",
            params![id, now],
        )?;
        let run = tx.last_insert_rowid();
        tx.execute(
            "UPDATE tasks SET current_run_id = ?2 WHERE id = ?1 AND current_run_id IS NULL",
            params![id, run],
        )?;
    }
    Ok(())
}
