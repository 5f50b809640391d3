//! The claim protocol, shared with every program that works on the file: whoever
//! changes a row from `ready` without a lock to `running` with one has the task.

use hermes_types::TaskId;
use rusqlite::{Connection, Transaction, params};

use super::apply::{Applied, act, find};
use super::links;
use super::open::SqliteBoard;
use super::seam::Claiming;
use crate::error::KanbanError;
use crate::machine::{Action, Claim, Fence, Refusal};
use crate::model::{Status, Task};

/// Who wants a task and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRequest {
    /// `<hostname>:<pid>`.
    pub lock: String,
    pub ttl: i64,
    /// A dispatcher will start a worker: its absence is noticed soon. A claim made
    /// by hand ends by its TTL alone.
    pub host: Option<String>,
}

impl Claiming for SqliteBoard {
    fn claim(&self, id: &TaskId, request: &ClaimRequest) -> Result<Task, KanbanError> {
        let now = self.now();
        // A refused claim may still have changed something, so it is a value here.
        self.database
            .write(|tx| Ok::<_, KanbanError>(claim_in(tx, id, request, now)))?
    }

    fn claim_many(
        &self,
        ids: &[TaskId],
        request: &ClaimRequest,
        place: &dyn Fn(&Task) -> Option<String>,
    ) -> Result<Vec<Task>, KanbanError> {
        let now = self.now();
        self.database.write(|tx| {
            let mut claimed = Vec::with_capacity(ids.len());
            for id in ids {
                match claim_in(tx, id, request, now) {
                    Ok(mut task) => {
                        let place = place(&task)
                            .filter(|path| Some(path.as_str()) != task.workspace_path.as_deref());
                        if let Some(path) = place {
                            super::lifecycle::set_workspace(tx, id, &path, None)?;
                            task.workspace_path = Some(path);
                        }
                        claimed.push(task);
                    }
                    Err(error) if error.is_refusal() => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(claimed)
        })
    }

    fn extend_claim(&self, id: &TaskId, lock: &str, ttl: i64) -> Result<bool, KanbanError> {
        let expires = self.now() + ttl;
        self.database.write(|tx| {
            let changed = tx.execute(
                "UPDATE tasks SET claim_expires = ?3
                 WHERE id = ?1 AND status = 'running' AND claim_lock = ?2",
                params![id.as_str(), lock, expires],
            )?;
            if changed == 1 {
                tx.execute(
                    "UPDATE task_runs SET claim_expires = ?2
                     WHERE id = (SELECT current_run_id FROM tasks WHERE id = ?1)
                       AND ended_at IS NULL",
                    params![id.as_str(), expires],
                )?;
            }
            Ok(changed == 1)
        })
    }

    fn heartbeat(
        &self,
        id: &TaskId,
        note: Option<&str>,
        fence: Fence,
        lock: Option<(&str, i64)>,
    ) -> Result<Task, KanbanError> {
        let now = self.now();
        self.database.write(|tx| {
            let task = super::apply::load(tx, id)?;
            let extend_to = lock
                .filter(|(lock, _)| task.claim_lock.as_deref() == Some(*lock))
                .map(|(_, ttl)| now + ttl);
            let action = Action::Heartbeat {
                note: note.map(str::to_owned),
                extend_to,
                fence,
            };
            Ok(act(tx, &task, &action, now)?.task)
        })
    }
}

fn claim_in(
    tx: &Transaction<'_>,
    id: &TaskId,
    request: &ClaimRequest,
    now: i64,
) -> Result<Task, KanbanError> {
    let task = find(tx, id)?.ok_or_else(|| KanbanError::UnknownTask(id.clone()))?;
    let parents_open = task.status == Status::Ready && !links::open_parents(tx, id)?.is_empty();
    let claim = Claim {
        lock: request.lock.clone(),
        expires: now + request.ttl,
        parents_open,
        waived: parents_open && is_waived(tx, id)?,
    };
    match act(tx, &task, &Action::Claim(claim), now) {
        Ok(Applied { task, .. }) => {
            if let (Some(host), Some(run)) = (&request.host, task.current_run_id) {
                super::identity::announce(tx, run, host)?;
            }
            Ok(task)
        }
        Err(KanbanError::Refused(Refusal::ParentsOpen)) => {
            let back = act(tx, &task, &Action::RejectClaim, now)?.task;
            Err(Refusal::NotClaimable {
                status: back.status,
                lock: None,
            }
            .into())
        }
        Err(error) => Err(error),
    }
}

/// A forced promotion holds until the task is claimed or gets another parent.
/// (The reference forgets it at the next claim and demotes the task.)
fn is_waived(connection: &Connection, id: &TaskId) -> Result<bool, KanbanError> {
    let mut statement = connection.prepare_cached(
        "SELECT kind, payload FROM task_events
         WHERE task_id = ?1
           AND kind IN ('promoted_manual', 'claimed', 'linked', 'claim_rejected', 'promoted')
         ORDER BY id DESC LIMIT 1",
    )?;
    let mut rows = statement.query([id.as_str()])?;
    let Some(row) = rows.next()? else {
        return Ok(false);
    };
    let kind = super::rows::text(row, 0)?;
    let payload = crate::model::from_stored(super::rows::optional_text(row, 1)?);
    Ok(kind == "promoted_manual" && payload.and_then(|p| p.get("forced")?.as_bool()) == Some(true))
}
