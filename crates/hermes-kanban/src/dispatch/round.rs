//! One round over one board: settle what runs, promote what waits, start what can
//! be started. A rehearsal reports the same and changes nothing at all.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::{Duration, Instant};

use hermes_process::{Command, Identity};
use hermes_types::TaskId;

use super::DispatchResult;
use super::guard::PULL_REQUEST_SECONDS;
use super::launch::{Purpose, Surroundings, worker_command};
use super::plan::{Caps, Planned, Planner};
use super::profiles;
use super::settle::{Mode, Settled, ours, settle};
use crate::boards::{BoardPaths, Boards, Slug};
use crate::error::KanbanError;
use crate::host::Host;
use crate::machine::{Failed, FailureKind, Fence};
use crate::model::{Status, Task, WorkerIdentity};
use crate::store::{Board, ClaimRequest, GuardFacts, ReadyTask};
use crate::worker::{Workspace, planned_path, resolve_workspace};

/// Starts processes and, where somebody stays to hear of it, watches their end.
pub trait Launcher {
    fn launch(
        &mut self,
        board: &Slug,
        task: &TaskId,
        run: i64,
        command: Command,
    ) -> Result<Identity, String>;
}

/// What a round works with.
#[derive(Clone, Copy)]
pub struct Round<'a> {
    pub board: &'a Board,
    pub boards: &'a Boards,
    pub paths: &'a BoardPaths,
    pub around: Surroundings<'a>,
    pub host: &'a Host,
    pub caps: Caps,
    /// Where the dispatcher was started.
    pub start: &'a Path,
    /// The wall clock went another way than time did.
    pub clock_was_set: bool,
    /// Runs of this process's own children that have ended.
    pub own_runs: &'a HashSet<i64>,
}

/// Candidates looked at in one go when places are scarce.
const PAGE: usize = 64;
/// Workers that were started are written down at least this often.
const RECORD_EVERY: Duration = Duration::from_millis(500);

impl Round<'_> {
    pub fn run(&self, launcher: &mut dyn Launcher) -> Result<DispatchResult, KanbanError> {
        let mut result = DispatchResult::default();
        let facts = self.board.tick_facts()?;
        let settled = settle(self, facts.running, Mode::Act, &mut result)?;
        result.promoted = self.board.recompute_ready()?;
        let exists = |name: &str| profiles::exists(self.around.home, name);
        let mut planner = self.planner(&settled, &exists);
        result.running = settled.running.len();

        let seen = self.plan_ready(&mut planner, None)?;
        self.board.assign_default(
            &planner.auto_assigned,
            planner.default_assignee.as_deref().unwrap_or_default(),
        )?;
        self.board.record_deferrals(&planner.deferrals)?;
        for (task, error) in &planner.give_up {
            if ours(self.board.give_up(task, error, "blocker_auth"))?.is_some() {
                result.auto_blocked.push(task.clone());
            }
        }
        let work = std::mem::take(&mut planner.launch);
        let ready_left = self.board.tick_counts()?.0.saturating_sub(seen);
        self.start(&work, Purpose::Work, launcher, &mut result)?;

        if !planner.is_full() {
            let reviews = self
                .board
                .waiting(Status::Review, 0, planner.free_slots())?;
            planner.offer_review(&reviews);
            let reviews = std::mem::take(&mut planner.launch);
            self.start(&reviews, Purpose::Review, launcher, &mut result)?;
        }
        fill(&mut result, planner, ready_left);
        Ok(result)
    }

    /// What [`Round::run`] would do.
    pub fn rehearse(&self) -> Result<DispatchResult, KanbanError> {
        let mut result = DispatchResult::default();
        let facts = self.board.tick_facts()?;
        let mut settled = settle(self, facts.running, Mode::Rehearse, &mut result)?;
        let promotable = self.board.promotable()?;
        result.promoted = promotable.len();
        result.running = settled.running.len();
        let exists = |name: &str| profiles::exists(self.around.home, name);
        let ready_again = std::mem::take(&mut settled.ready_again);
        let mut planner = self.planner(&settled, &exists);
        let supposed: Vec<ReadyTask> = ready_again
            .into_iter()
            .chain(promotable.iter().map(ReadyTask::from))
            .collect();
        let seen = self.plan_ready(&mut planner, Some(supposed))?;
        let ready_left = facts.ready_count.saturating_sub(seen);
        if !planner.is_full() {
            let reviews = self
                .board
                .waiting(Status::Review, 0, planner.free_slots())?;
            planner.offer_review(&reviews);
        }
        for (task, _) in &planner.give_up {
            result.auto_blocked.push(task.clone());
        }
        for planned in std::mem::take(&mut planner.launch) {
            result
                .spawned
                .push((planned.task, planned.assignee, String::new()));
        }
        fill(&mut result, planner, ready_left);
        Ok(result)
    }

    fn planner<'p>(&self, settled: &'p Settled, exists: &'p dyn Fn(&str) -> bool) -> Planner<'p> {
        Planner::new(
            self.caps,
            self.around.settings,
            settled.running.iter().map(|task| task.assignee.as_deref()),
            exists,
            self.board.now(),
        )
    }

    /// Offers waiting tasks until the places are taken; gives back how many were
    /// looked at. `supposed`: tasks that a rehearsal takes to be ready as well.
    fn plan_ready(
        &self,
        planner: &mut Planner<'_>,
        supposed: Option<Vec<ReadyTask>>,
    ) -> Result<usize, KanbanError> {
        let comments_since = self.board.now() - PULL_REQUEST_SECONDS;
        if let Some(supposed) = supposed.filter(|tasks| !tasks.is_empty()) {
            let mut tasks = self.board.waiting(Status::Ready, 0, None)?;
            let stored = tasks.len();
            tasks.extend(supposed);
            // Stable: equals stay in the order in which the board has them.
            tasks.sort_by_key(|task| (std::cmp::Reverse(task.priority), task.created_at));
            let facts = self.board.guard_facts(&tasks, comments_since)?;
            planner.offer_ready(&tasks, &facts);
            return Ok(stored);
        }
        let mut offset = 0;
        loop {
            if planner.is_full() {
                return Ok(offset);
            }
            let page = planner.free_slots().map(|slots| (slots * 2).max(PAGE));
            let tasks = self.board.waiting(Status::Ready, offset, page)?;
            let facts: HashMap<TaskId, GuardFacts> =
                self.board.guard_facts(&tasks, comments_since)?;
            let before = accounted(planner);
            planner.offer_ready(&tasks, &facts);
            let looked_at = accounted(planner) - before;
            offset += looked_at;
            if looked_at < tasks.len() || page.is_none_or(|page| tasks.len() < page) {
                return Ok(offset);
            }
        }
    }

    fn start(
        &self,
        planned: &[Planned],
        purpose: Purpose,
        launcher: &mut dyn Launcher,
        result: &mut DispatchResult,
    ) -> Result<(), KanbanError> {
        if planned.is_empty() {
            return Ok(());
        }
        let request = ClaimRequest {
            lock: self.host.claim_lock(),
            ttl: self.around.settings.claim_ttl,
            host: Some(self.host.name().to_owned()),
        };
        let ids: Vec<TaskId> = planned.iter().map(|one| one.task.clone()).collect();
        let assignees: HashMap<&TaskId, &str> = planned
            .iter()
            .map(|one| (&one.task, one.assignee.as_str()))
            .collect();
        let mut prepared: Vec<(Task, Workspace)> = Vec::new();
        let user_home = self.around.home.user_home();
        let place = |task: &Task| planned_path(task, self.paths, user_home);
        for task in self.board.claim_many(&ids, &request, &place)? {
            match resolve_workspace(&task, self.paths, user_home, self.start) {
                Ok(workspace) => prepared.push((task, workspace)),
                Err(error) => self.spawn_failed(&task, error.to_string(), result)?,
            }
        }
        let places: Vec<_> = prepared
            .iter()
            .map(|(task, workspace)| {
                let path = workspace.path.to_string_lossy().into_owned();
                (task, path, workspace.branch.clone())
            })
            // Most were written down with the claim.
            .filter(|(task, path, branch)| {
                task.workspace_path.as_ref() != Some(path) || task.branch_name != *branch
            })
            .map(|(task, path, branch)| (task.id.clone(), path, branch))
            .collect();
        self.board.set_workspaces(&places)?;
        self.tip(&prepared)?;

        let mut started: Vec<(TaskId, WorkerIdentity)> = Vec::new();
        let mut recorded = Instant::now();
        for (task, workspace) in prepared {
            let assignee = assignees.get(&task.id).copied().unwrap_or_default();
            let run = task.current_run_id.unwrap_or_default();
            let launched = worker_command(&task, assignee, &workspace, purpose, self.around)
                .map_err(|error| error.to_string())
                .and_then(|command| launcher.launch(&self.paths.slug, &task.id, run, command));
            match launched {
                Ok(process) => {
                    let path = workspace.path.to_string_lossy().into_owned();
                    tracing::info!(
                        board = %self.paths.slug,
                        task = %task.id,
                        assignee,
                        run,
                        pid = process.pid,
                        "worker started"
                    );
                    result
                        .spawned
                        .push((task.id.clone(), assignee.to_owned(), path));
                    started.push((task.id, self.host.describe(run, &process)));
                }
                Err(error) => self.spawn_failed(&task, error, result)?,
            }
            if recorded.elapsed() > RECORD_EVERY {
                self.board.launched(&std::mem::take(&mut started))?;
                recorded = Instant::now();
            }
        }
        if !started.is_empty() {
            self.board.launched(&started)?;
        }
        Ok(())
    }

    fn spawn_failed(
        &self,
        task: &Task,
        error: String,
        result: &mut DispatchResult,
    ) -> Result<(), KanbanError> {
        tracing::warn!(task = %task.id, %error, "no worker was started");
        let report = Failed {
            kind: FailureKind::SpawnFailed,
            error,
            at_once: false,
            fence: Fence::Open,
        };
        let failed = self.board.fail(&task.id, task.current_run_id, report);
        if ours(failed)?.is_some_and(|task| task.status == Status::Blocked) {
            result.auto_blocked.push(task.id.clone());
        }
        Ok(())
    }

    /// The first scratch directory ever comes with a warning that it will go.
    fn tip(&self, prepared: &[(Task, Workspace)]) -> Result<(), KanbanError> {
        let marker = self.boards.scratch_tip_marker();
        let first = prepared
            .iter()
            .find(|(_, workspace)| workspace.fresh_scratch);
        if let Some((task, _)) = first.filter(|_| !marker.exists()) {
            std::fs::write(&marker, b"").map_err(KanbanError::io(&marker))?;
            self.board.tip_scratch_workspace(&task.id)?;
        }
        Ok(())
    }
}

/// Every candidate that was looked at is in exactly one of these.
fn accounted(planner: &Planner<'_>) -> usize {
    planner.launch.len()
        + planner.skipped_unassigned.len()
        + planner.skipped_nonspawnable.len()
        + planner.capped.len()
        + planner.guarded.len()
        + planner.give_up.len()
}

fn fill(result: &mut DispatchResult, planner: Planner<'_>, ready_left: usize) {
    result.skipped_unassigned = planner.skipped_unassigned;
    result.skipped_nonspawnable = planner.skipped_nonspawnable;
    result.skipped_per_profile_capped = planner.capped;
    result.auto_assigned_default = planner.auto_assigned;
    result.respawn_guarded = planner.guarded;
    result.waiting_for_slots = ready_left;
}
