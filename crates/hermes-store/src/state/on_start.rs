//! What a chat does with old sessions when it starts: at most once per interval
//! across all processes of a home, and some things once ever.

use super::{Deleted, Prune, StateDb};
use crate::StoreError;
use crate::tables::{META_GHOSTS_PRUNED, META_LAST_AUTO_PRUNE, META_ORPHANS_FINISHED};

/// The `sessions.*` settings that concern it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retention {
    pub auto_prune: bool,
    pub retention_days: f64,
    pub min_interval_hours: f64,
    pub vacuum_after_prune: bool,
}

impl StateDb {
    /// Returns what was removed, so that its files can go too.
    pub fn upkeep_on_start(&self, retention: &Retention) -> Result<Deleted, StoreError> {
        let mut deleted = Deleted::default();
        if self.first_time(META_GHOSTS_PRUNED)? {
            deleted.sessions.extend(self.prune_ghosts()?.sessions);
        }
        if self.first_time(META_ORPHANS_FINISHED)? {
            self.finish_orphaned_compressions()?;
        }
        if !retention.auto_prune || !self.prune_is_due(retention.min_interval_hours)? {
            return Ok(deleted);
        }
        let pruned = self.prune(&Prune {
            older_than_days: retention.retention_days,
            source: None,
        })?;
        if retention.vacuum_after_prune && !pruned.sessions.is_empty() {
            self.optimize()?;
        }
        deleted.sessions.extend(pruned.sessions);
        deleted.messages += pruned.messages;
        Ok(deleted)
    }

    /// True for exactly one process, ever.
    fn first_time(&self, key: &str) -> Result<bool, StoreError> {
        // Read first: a start that finds it done takes no write lock.
        if self.meta(key)?.is_some() {
            return Ok(false);
        }
        let mut first = false;
        self.update_meta(key, |value| {
            first = value.is_none();
            Ok(Some("1".to_owned()))
        })?;
        Ok(first)
    }

    /// True for one process per interval; it has noted the time when it returns.
    fn prune_is_due(&self, hours: f64) -> Result<bool, StoreError> {
        let now = self.now();
        let is_due = |value: Option<&str>| {
            value
                .and_then(|text| text.trim().parse::<f64>().ok())
                .is_none_or(|last| now - last >= hours * 3600.0)
        };
        if !is_due(self.meta(META_LAST_AUTO_PRUNE)?.as_deref()) {
            return Ok(false);
        }
        let mut due = false;
        self.update_meta(META_LAST_AUTO_PRUNE, |value| {
            due = is_due(value);
            Ok(if due {
                Some(now.to_string())
            } else {
                value.map(str::to_owned)
            })
        })?;
        Ok(due)
    }
}
