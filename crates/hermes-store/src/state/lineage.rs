//! Parents, children, and the live end of a conversation that was compressed.

use hermes_types::SessionId;
use rusqlite::{Connection, OptionalExtension};

use super::StateDb;
use super::titles::lineage_titles;
use crate::StoreError;

/// Longer chains are taken for a loop.
const LONGEST_CHAIN: usize = 100;
const LONGEST_RESUME_WALK: usize = 32;

impl StateDb {
    /// Parent, grandparent, …; nearest first.
    pub fn ancestors(&self, id: &SessionId) -> Result<Vec<SessionId>, StoreError> {
        self.read(|connection| ancestors(connection, id))
    }

    /// The root of a session's lineage: itself when it has no parent.
    pub fn lineage_root(&self, id: &SessionId) -> Result<SessionId, StoreError> {
        Ok(self.ancestors(id)?.pop().unwrap_or_else(|| id.clone()))
    }

    /// Where a compressed session lives on: itself unless it ended by compression.
    pub fn compression_tip(&self, id: &SessionId) -> Result<SessionId, StoreError> {
        self.read(|connection| compression_tip(connection, id))
    }

    /// Where a compressed conversation began: itself unless its parent ended by
    /// compression. Branches and subagents begin with themselves.
    pub fn compression_root(&self, id: &SessionId) -> Result<SessionId, StoreError> {
        self.read(|connection| {
            follow(
                connection,
                id,
                "SELECT parent.id FROM sessions child JOIN sessions parent \
                 ON parent.id = child.parent_session_id \
                 WHERE child.id = ?1 AND parent.end_reason = 'compression' \
                 AND child.started_at >= parent.ended_at",
            )
        })
    }

    /// What to load when a session is resumed: its live end and, when that has no
    /// messages, the newest descendant that has some.
    pub fn resume_target(&self, id: &SessionId) -> Result<SessionId, StoreError> {
        self.read(|connection| {
            let tip = compression_tip(connection, id)?;
            let mut current = tip.clone();
            for _ in 0..LONGEST_RESUME_WALK {
                let has_messages: bool = connection
                    .prepare_cached("SELECT EXISTS (SELECT 1 FROM messages WHERE session_id = ?1)")?
                    .query_row([current.as_str()], |row| row.get(0))?;
                if has_messages {
                    return Ok(current);
                }
                let child: Option<String> = connection
                    .prepare_cached(
                        "SELECT id FROM sessions WHERE parent_session_id = ?1 \
                         ORDER BY started_at DESC LIMIT 1",
                    )?
                    .query_row([current.as_str()], |row| row.get(0))
                    .optional()?;
                match child {
                    Some(child) => current = SessionId::new(child),
                    None => break,
                }
            }
            Ok(tip)
        })
    }
}

pub(super) fn ancestors(
    connection: &Connection,
    id: &SessionId,
) -> Result<Vec<SessionId>, StoreError> {
    let mut chain: Vec<SessionId> = Vec::new();
    let mut current = id.clone();
    while chain.len() < LONGEST_CHAIN {
        let parent: Option<String> = connection
            .prepare_cached("SELECT parent_session_id FROM sessions WHERE id = ?1")?
            .query_row([current.as_str()], |row| row.get(0))
            .optional()?
            .flatten();
        let Some(parent) = parent.map(SessionId::new) else {
            break;
        };
        if parent == *id || chain.contains(&parent) {
            break;
        }
        chain.push(parent.clone());
        current = parent;
    }
    Ok(chain)
}

pub(super) fn compression_tip(
    connection: &Connection,
    id: &SessionId,
) -> Result<SessionId, StoreError> {
    follow(
        connection,
        id,
        "SELECT child.id FROM sessions parent JOIN sessions child \
         ON child.parent_session_id = parent.id \
         WHERE parent.id = ?1 AND parent.end_reason = 'compression' \
         AND child.started_at >= parent.ended_at \
         ORDER BY child.started_at DESC LIMIT 1",
    )
}

/// From session to session as long as `next` names one; a ring ends where it began.
fn follow(
    connection: &Connection,
    id: &SessionId,
    next: &'static str,
) -> Result<SessionId, StoreError> {
    let mut current = id.clone();
    for _ in 0..LONGEST_CHAIN {
        let found: Option<String> = connection
            .prepare_cached(next)?
            .query_row([current.as_str()], |row| row.get(0))
            .optional()?;
        match found {
            Some(found) if found != id.as_str() => current = SessionId::new(found),
            _ => break,
        }
    }
    Ok(current)
}

/// A title: its newest numbered variant, else the session that has exactly it.
pub(super) fn title_reference(
    connection: &Connection,
    title: &str,
) -> Result<Option<SessionId>, StoreError> {
    let titled = lineage_titles(connection, title)?;
    let numbered = titled.iter().find(|(_, existing)| existing != title);
    Ok(numbered
        .or_else(|| titled.first())
        .map(|(id, _)| SessionId::new(id.as_str())))
}
