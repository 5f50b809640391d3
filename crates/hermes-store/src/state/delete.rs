//! Removing conversations, one or by age, with the files that belong to them.

use std::fs;
use std::path::Path;

use hermes_types::SessionId;
use rusqlite::types::Value as SqlValue;
use rusqlite::{Transaction, params_from_iter};

use super::{StateDb, first_id};
use crate::StoreError;

/// Which sessions are old enough to go. Only ended ones ever go.
#[derive(Clone, Debug, PartialEq)]
pub struct Prune {
    pub older_than_days: f64,
    pub source: Option<String>,
}

/// What was removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deleted {
    pub sessions: Vec<SessionId>,
    pub messages: usize,
}

const SECONDS_PER_DAY: f64 = 86_400.0;

impl StateDb {
    /// Removes one session with its messages; its children become roots.
    pub fn delete_session(&self, id: &SessionId) -> Result<Deleted, StoreError> {
        self.write_healing(|transaction| {
            let messages = remove(transaction, id)?;
            Ok(match messages {
                Some(messages) => Deleted {
                    sessions: vec![id.clone()],
                    messages,
                },
                None => Deleted::default(),
            })
        })
    }

    /// What [`StateDb::prune`] would remove.
    pub fn prunable(&self, prune: &Prune) -> Result<Vec<SessionId>, StoreError> {
        let now = self.now();
        self.read(|connection| prunable(connection, prune, now))
    }

    /// Removes ended sessions that started before the cutoff, in one transaction.
    pub fn prune(&self, prune: &Prune) -> Result<Deleted, StoreError> {
        let now = self.now();
        self.write_healing(|transaction| {
            let mut deleted = Deleted::default();
            for id in prunable(transaction, prune, now)? {
                deleted.messages += remove(transaction, &id)?.unwrap_or(0);
                deleted.sessions.push(id);
            }
            Ok(deleted)
        })
    }

    /// Sessions of the terminal UI that were opened and closed without a word.
    pub fn prune_ghosts(&self) -> Result<Deleted, StoreError> {
        let day_ago = self.now() - SECONDS_PER_DAY;
        self.write_healing(|transaction| {
            let ghosts = ids(
                transaction,
                "SELECT id FROM sessions s WHERE source = 'tui' AND title IS NULL \
                 AND ended_at IS NOT NULL AND started_at < ? \
                 AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.session_id = s.id)",
                vec![day_ago.into()],
            )?;
            for id in &ghosts {
                remove(transaction, id)?;
            }
            Ok(Deleted {
                sessions: ghosts,
                messages: 0,
            })
        })
    }

    /// Ends children of a compression that never made a call and are a week old.
    pub fn finish_orphaned_compressions(&self) -> Result<usize, StoreError> {
        let now = self.now();
        self.write(|transaction| {
            Ok(transaction.execute(
                "UPDATE sessions SET ended_at = ?1, end_reason = 'orphaned_compression' \
                 WHERE ended_at IS NULL AND COALESCE(api_call_count, 0) = 0 AND started_at < ?2 \
                 AND parent_session_id IN (SELECT id FROM sessions WHERE end_reason = 'compression')",
                [now, now - 7.0 * SECONDS_PER_DAY],
            )?)
        })
    }
}

fn prunable(
    connection: &rusqlite::Connection,
    prune: &Prune,
    now: f64,
) -> Result<Vec<SessionId>, StoreError> {
    let mut sql =
        "SELECT id FROM sessions WHERE started_at < ? AND ended_at IS NOT NULL".to_owned();
    let mut values = vec![SqlValue::from(
        now - prune.older_than_days * SECONDS_PER_DAY,
    )];
    if let Some(source) = &prune.source {
        sql.push_str(" AND source = ?");
        values.push(source.clone().into());
    }
    sql.push_str(" ORDER BY started_at");
    ids(connection, &sql, values)
}

fn ids(
    connection: &rusqlite::Connection,
    sql: &str,
    values: Vec<SqlValue>,
) -> Result<Vec<SessionId>, StoreError> {
    Ok(connection
        .prepare(sql)?
        .query_map(params_from_iter(values), first_id)?
        .collect::<rusqlite::Result<_>>()?)
}

/// `None` when there is no such session.
fn remove(transaction: &Transaction<'_>, id: &SessionId) -> Result<Option<usize>, StoreError> {
    transaction
        .prepare_cached(
            "UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id = ?1",
        )?
        .execute([id.as_str()])?;
    let messages = transaction
        .prepare_cached("DELETE FROM messages WHERE session_id = ?1")?
        .execute([id.as_str()])?;
    let sessions = transaction
        .prepare_cached("DELETE FROM sessions WHERE id = ?1")?
        .execute([id.as_str()])?;
    Ok((sessions > 0).then_some(messages))
}

/// Removes `<id>.json`, `<id>.jsonl`, `session_<id>.json` and `request_dump_<id>_*`
/// in the directory of session files. Returns how many there were; one that cannot
/// be removed is left for the next time.
pub fn remove_session_files(directory: &Path, id: &SessionId) -> usize {
    let dump_prefix = format!("request_dump_{id}_");
    let exact = [
        format!("{id}.json"),
        format!("{id}.jsonl"),
        format!("session_{id}.json"),
    ];
    let Ok(entries) = fs::read_dir(directory) else {
        return 0;
    };
    entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            exact.iter().any(|exact| *exact == name) || name.starts_with(&dump_prefix)
        })
        .filter(|entry| fs::remove_file(entry.path()).is_ok())
        .count()
}
