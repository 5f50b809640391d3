//! What can be saved of a damaged `state.db`: every row that can still be read,
//! around the places that cannot.

use std::path::Path;

use hermes_home::Clock;
use rusqlite::{Connection, Row, ToSql, Transaction, params_from_iter};
use serde::Serialize;

use super::{PRAGMAS, StateDb};
use crate::StoreError;
use crate::door::{self, Damaged, Repaired};
use crate::tables::UNKNOWN_SOURCE;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Salvaged {
    pub sessions: usize,
    pub messages: usize,
    /// Sessions whose own row was lost; their messages are kept under a new one.
    pub nameless_sessions: usize,
}

/// Saves what can be read of a file that does not open.
pub fn salvage_closed(path: &Path) -> Result<Repaired<Salvaged>, StoreError> {
    door::repair(&Damaged::Closed(path), &PRAGMAS, save)
}

impl StateDb {
    /// Saves what can be read of a file that opens but fails its checks.
    pub fn salvage(&self) -> Result<Repaired<Salvaged>, StoreError> {
        door::repair(&Damaged::Open(self.database()), &PRAGMAS, save)
    }
}

/// In this order: messages refer to sessions.
const TABLES: [&str; 3] = ["sessions", "messages", "state_meta"];

fn save(from: &Connection, into: &Path) -> Result<Salvaged, StoreError> {
    let target = StateDb::open(into, Clock::System)?;
    // Parents may be among what was lost.
    target
        .database()
        .connection()
        .pragma_update(None, "foreign_keys", false)?;
    let mut saved = Salvaged::default();
    target.write(|transaction| {
        let [sessions, messages, _] = TABLES.map(|table| copy_rows(from, transaction, table));
        saved.sessions = sessions?;
        saved.messages = messages?;
        saved.nameless_sessions = transaction.execute(
            "INSERT INTO sessions (id, source, started_at, message_count) \
             SELECT session_id, ?1, MIN(timestamp), COUNT(*) FROM messages \
             WHERE session_id NOT IN (SELECT id FROM sessions) GROUP BY session_id",
            [UNKNOWN_SOURCE],
        )?;
        transaction.execute(
            "UPDATE sessions SET parent_session_id = NULL \
             WHERE parent_session_id NOT IN (SELECT id FROM sessions)",
            [],
        )?;
        Ok(())
    })?;
    target.checkpoint()?;
    target.database().integrity_check()?;
    Ok(saved)
}

/// Rows in the order of their ids; behind an unreadable place the search for the
/// next readable one goes on in growing steps.
fn copy_rows(from: &Connection, into: &Transaction<'_>, table: &str) -> Result<usize, StoreError> {
    let Ok(columns) = shared_columns(from, into, table) else {
        return Ok(0);
    };
    let list = columns.join(", ");
    let marks = vec!["?"; columns.len()].join(", ");
    let select = format!("SELECT rowid, {list} FROM {table} WHERE rowid >= ?1 ORDER BY rowid");
    let mut insert = into.prepare(&format!(
        "INSERT OR IGNORE INTO {table} ({list}) VALUES ({marks})"
    ))?;
    let mut copied = 0;
    let mut next = 0_i64;
    let mut step = 1_i64;
    while step < LONGEST_STEP {
        let Ok(mut statement) = from.prepare(&select) else {
            break;
        };
        let Ok(mut rows) = statement.query([next]) else {
            break;
        };
        loop {
            match rows.next() {
                Ok(None) => return Ok(copied),
                Ok(Some(row)) => {
                    let values = values(row, columns.len())?;
                    copied += insert.execute(params_from_iter(values))?;
                    next = row.get::<_, i64>(0)?.saturating_add(1);
                    step = 1;
                }
                Err(_) => break,
            }
        }
        next = next.saturating_add(step);
        step = step.saturating_mul(2);
    }
    Ok(copied)
}

/// Further than any id lies behind the last row that could be read.
const LONGEST_STEP: i64 = 1 << 32;

fn values(row: &Row<'_>, columns: usize) -> Result<Vec<Box<dyn ToSql>>, StoreError> {
    (1..=columns)
        .map(|index| {
            let value: rusqlite::types::Value = row.get(index)?;
            Ok(Box::new(value) as Box<dyn ToSql>)
        })
        .collect()
}

fn shared_columns(
    from: &Connection,
    into: &Connection,
    table: &str,
) -> Result<Vec<String>, StoreError> {
    let names = |connection: &Connection| -> rusqlite::Result<Vec<String>> {
        connection
            .prepare("SELECT name FROM pragma_table_info(?1)")?
            .query_map([table], |row| row.get(0))?
            .collect()
    };
    let theirs = names(from)?;
    Ok(names(into)?
        .into_iter()
        .filter(|name| theirs.contains(name))
        .collect())
}
