//! The schema of `state.db` and how an older file grows into it.
//!
//! Changes only add: missing tables, columns, indexes and triggers are made,
//! nothing is renamed or dropped, unknown columns and newer versions are left
//! alone. All of it happens in one transaction, so a file is never between two
//! shapes. A file that is complete is only read.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, Transaction};

use crate::tables::SCHEMA_VERSION;
use crate::{Database, StoreError};

const TABLES: &str = include_str!("schema.sql");
const SEARCH: &str = include_str!("search.sql");

/// Below this, the full-text tables held the content alone.
const SEARCH_TEXT_VERSION: i64 = 11;
/// Below this, `active` could be NULL.
const ACTIVE_VERSION: i64 = 12;

pub(super) fn prepare(database: &Database) -> Result<(), StoreError> {
    if is_complete(database.connection())? || database.is_read_only() {
        return Ok(());
    }
    database.write(|transaction| {
        // Somebody else may have done it while we waited for the lock.
        if is_complete(transaction)? {
            return Ok(());
        }
        grow(transaction)
    })
}

/// Reads only the catalogue: cheap enough for every start.
fn is_complete(connection: &Connection) -> Result<bool, StoreError> {
    let present = objects(connection)?;
    if statements().any(|statement| !present.contains(statement.name)) {
        return Ok(false);
    }
    let version = version(connection)?;
    Ok(version >= SCHEMA_VERSION && missing_columns(connection)?.is_empty())
}

fn grow(transaction: &Transaction<'_>) -> Result<(), StoreError> {
    let present = objects(transaction)?;
    let version = if present.contains("schema_version") {
        version(transaction)?
    } else {
        0
    };
    let fresh = !present.contains("messages");
    let make_missing = |text: &'static str| -> Result<bool, StoreError> {
        let mut made = false;
        for statement in split(text) {
            if !present.contains(statement.name) {
                transaction.execute_batch(statement.sql)?;
                made = true;
            }
        }
        Ok(made)
    };
    // Columns first: an index may be on one of them.
    for (table, column) in missing_columns(transaction)? {
        transaction.execute_batch(&format!("ALTER TABLE {table} ADD COLUMN {column}"))?;
    }
    make_missing(TABLES)?;
    let search_incomplete = make_missing(SEARCH)?;
    if !fresh && (search_incomplete || version < SEARCH_TEXT_VERSION) {
        rebuild_search(transaction)?;
    }
    if !fresh && version < ACTIVE_VERSION {
        transaction.execute("UPDATE messages SET active = 1 WHERE active IS NULL", [])?;
    }
    let changed = transaction.execute(
        "UPDATE schema_version SET version = MAX(version, ?1)",
        [SCHEMA_VERSION],
    )?;
    if changed == 0 {
        transaction.execute(
            "INSERT INTO schema_version (version) VALUES (?1)",
            [SCHEMA_VERSION],
        )?;
    }
    Ok(())
}

/// Fills both full-text tables anew from the messages.
pub(super) fn rebuild_search(transaction: &Transaction<'_>) -> Result<(), StoreError> {
    for table in SEARCH_TABLES {
        // Dropping also heals an index that is damaged inside.
        transaction.execute_batch(&format!("DROP TABLE IF EXISTS {table}"))?;
        for statement in split(SEARCH).filter(|statement| statement.name == table) {
            transaction.execute_batch(statement.sql)?;
        }
        transaction.execute_batch(&format!(
            "INSERT INTO {table}(rowid, content) SELECT id, COALESCE(content, '') || ' ' || \
             COALESCE(tool_name, '') || ' ' || COALESCE(tool_calls, '') FROM messages ORDER BY id"
        ))?;
    }
    Ok(())
}

pub(super) const SEARCH_TABLES: [&str; 2] = ["messages_fts", "messages_fts_trigram"];

fn version(connection: &Connection) -> Result<i64, StoreError> {
    Ok(connection
        .query_row("SELECT MAX(version) FROM schema_version", [], |row| {
            row.get::<_, Option<i64>>(0)
        })
        .optional()?
        .flatten()
        .unwrap_or(0))
}

fn objects(connection: &Connection) -> Result<HashSet<String>, StoreError> {
    let mut statement = connection.prepare("SELECT name FROM sqlite_master")?;
    let names = statement
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(names)
}

struct Statement {
    name: &'static str,
    sql: &'static str,
}

fn statements() -> impl Iterator<Item = Statement> {
    split(TABLES).chain(split(SEARCH))
}

/// Cuts the schema text at its `CREATE`s; every statement starts a line with one.
fn split(text: &'static str) -> impl Iterator<Item = Statement> {
    text.match_indices("CREATE ")
        .filter(|(at, _)| *at == 0 || text.as_bytes()[at - 1] == b'\n')
        .map(move |(at, _)| {
            let rest = &text[at..];
            let end = rest.find("\nCREATE ").unwrap_or(rest.len());
            let sql = &rest[..end];
            let name = sql
                .split(|c: char| c.is_whitespace() || c == '(')
                .find(|word| {
                    !matches!(
                        *word,
                        "CREATE" | "UNIQUE" | "VIRTUAL" | "TABLE" | "INDEX" | "TRIGGER"
                    )
                })
                .unwrap_or_default();
            Statement { name, sql }
        })
}

/// Declared columns that a live table lacks, as `(table, definition)`.
fn missing_columns(
    connection: &Connection,
) -> Result<Vec<(&'static str, &'static str)>, StoreError> {
    let mut missing = Vec::new();
    for statement in split(TABLES).filter(|statement| statement.sql.starts_with("CREATE TABLE")) {
        let mut live = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
        let live: HashSet<String> = live
            .query_map([statement.name], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        if live.is_empty() {
            continue;
        }
        missing.extend(
            declared_columns(statement.sql)
                .filter(|(name, _)| !live.contains(*name))
                .map(|(_, definition)| (statement.name, definition)),
        );
    }
    Ok(missing)
}

/// The schema text has one column per line.
fn declared_columns(sql: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    sql.lines().filter_map(|line| {
        let definition = line.strip_prefix("    ")?.trim_end_matches(',');
        let name = definition.split(' ').next()?;
        (name != "FOREIGN").then_some((name, definition))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_of_the_schema_has_its_name() {
        let names: Vec<&str> = statements().map(|statement| statement.name).collect();
        assert_eq!(names.len(), 21);
        for name in [
            "sessions",
            "idx_sessions_title_unique",
            "messages_fts_trigram",
            "messages_fts_trigram_update",
        ] {
            assert!(names.contains(&name), "{name} is not among {names:?}");
        }
    }

    #[test]
    fn columns_are_read_from_the_schema_text() {
        let sessions = split(TABLES)
            .find(|statement| statement.name == "sessions")
            .unwrap();
        let columns: Vec<_> = declared_columns(sessions.sql).collect();
        assert_eq!(columns.len(), 33);
        assert_eq!(columns[0], ("id", "id TEXT PRIMARY KEY"));
        assert_eq!(
            columns[32],
            ("archived", "archived INTEGER NOT NULL DEFAULT 0")
        );
    }
}
