//! Which process works on which run. The reference ignores this table.

use hermes_types::TaskId;
use rusqlite::{Transaction, params};

use super::apply::{act, load};
use super::open::SqliteBoard;
use super::rows;
use super::seam::Identifying;
use crate::error::KanbanError;
use crate::machine::{Action, Fence};
use crate::model::WorkerIdentity;

/// A dispatcher has claimed the run and is about to start its worker.
pub(super) fn announce(tx: &Transaction<'_>, run: i64, host: &str) -> Result<(), KanbanError> {
    tx.prepare_cached("INSERT OR REPLACE INTO worker_identity (run_id, host) VALUES (?1, ?2)")?
        .execute(params![run, host])?;
    Ok(())
}

fn identify(tx: &Transaction<'_>, identity: &WorkerIdentity) -> Result<(), KanbanError> {
    tx.prepare_cached(
        "INSERT INTO worker_identity (run_id, pid, start_time, boot_id, host)
         VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (run_id) DO UPDATE SET pid = excluded.pid, start_time = excluded.start_time,
             boot_id = excluded.boot_id, host = excluded.host",
    )?
    .execute(params![
        identity.run_id,
        identity.pid,
        identity.start_time,
        identity.boot_id,
        identity.host,
    ])?;
    Ok(())
}

impl Identifying for SqliteBoard {
    fn launched(&self, workers: &[(TaskId, WorkerIdentity)]) -> Result<(), KanbanError> {
        let now = self.now();
        self.database.write(|tx| {
            for (id, identity) in workers {
                let Some(pid) = identity.pid else {
                    continue;
                };
                let task = load(tx, id)?;
                if task.current_run_id != Some(identity.run_id) || task.worker_pid.is_some() {
                    continue;
                }
                act(tx, &task, &Action::Spawned { pid }, now)?;
                identify(tx, identity)?;
            }
            Ok(())
        })
    }

    fn check_in(&self, id: &TaskId, identity: &WorkerIdentity) -> Result<(), KanbanError> {
        let Some(pid) = identity.pid else {
            return Ok(());
        };
        let now = self.now();
        self.database.write(|tx| {
            let action = Action::CheckIn {
                pid,
                fence: Fence::Run(identity.run_id),
            };
            act(tx, &load(tx, id)?, &action, now)?;
            identify(tx, identity)
        })
    }

    fn record_exit(
        &self,
        run: i64,
        exit_code: Option<i64>,
        signal: Option<i64>,
    ) -> Result<(), KanbanError> {
        let now = self.now();
        self.database.write(|tx| {
            tx.execute(
                "UPDATE worker_identity SET exit_code = ?2, signal = ?3, ended_at = ?4
                 WHERE run_id = ?1 AND ended_at IS NULL",
                params![run, exit_code, signal, now],
            )?;
            Ok(())
        })
    }

    fn identity(&self, run: i64) -> Result<Option<WorkerIdentity>, KanbanError> {
        Ok(self
            .database
            .connection()
            .prepare_cached(&format!(
                "SELECT {} FROM worker_identity WHERE run_id = ?1",
                rows::IDENTITY_COLUMNS
            ))?
            .query_map([run], rows::identity)?
            .next()
            .transpose()?)
    }
}
