//! What a round did, in the buckets whose names are wire.

use hermes_types::TaskId;
use serde_json::{Value, json};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DispatchResult {
    pub reclaimed: usize,
    pub crashed: Vec<TaskId>,
    pub timed_out: Vec<TaskId>,
    pub stale: Vec<TaskId>,
    pub auto_blocked: Vec<TaskId>,
    pub promoted: usize,
    /// Task, assignee, workspace (empty in a dry run).
    pub spawned: Vec<(TaskId, String, String)>,
    pub skipped_unassigned: Vec<TaskId>,
    pub skipped_nonspawnable: Vec<TaskId>,
    pub skipped_per_profile_capped: Vec<(TaskId, String, usize)>,
    pub auto_assigned_default: Vec<TaskId>,
    pub respawn_guarded: Vec<(TaskId, &'static str)>,
    pub rate_limited: Vec<TaskId>,
    /// Tasks that could run but found no free place.
    pub waiting_for_slots: usize,
    /// How many could run at most, and did when the round began.
    pub running: usize,
}

impl DispatchResult {
    pub fn to_json(&self) -> Value {
        let spawned: Vec<Value> = self
            .spawned
            .iter()
            .map(|(task, assignee, workspace)| {
                json!({"task_id": task, "assignee": assignee, "workspace": workspace})
            })
            .collect();
        let capped: Vec<Value> = self
            .skipped_per_profile_capped
            .iter()
            .map(|(task, assignee, current)| {
                json!({"task_id": task, "assignee": assignee, "current": current})
            })
            .collect();
        let guarded: Vec<Value> = self
            .respawn_guarded
            .iter()
            .map(|(task, reason)| json!({"task_id": task, "reason": reason}))
            .collect();
        json!({
            "reclaimed": self.reclaimed,
            "crashed": self.crashed,
            "timed_out": self.timed_out,
            "stale": self.stale,
            "auto_blocked": self.auto_blocked,
            "promoted": self.promoted,
            "spawned": spawned,
            "skipped_unassigned": self.skipped_unassigned,
            "skipped_nonspawnable": self.skipped_nonspawnable,
            "skipped_per_profile_capped": capped,
            "auto_assigned_default": self.auto_assigned_default,
            "respawn_guarded": guarded,
            "rate_limited": self.rate_limited,
        })
    }

    /// The lines that `dispatch` prints. `default`: the configured assignee.
    pub fn to_lines(&self, dry_run: bool, default: Option<&str>) -> Vec<String> {
        let mut lines = vec![format!("{:<13} {}", "Reclaimed:", self.reclaimed)];
        for (label, tasks) in [
            ("Crashed:", &self.crashed),
            ("Timed out:", &self.timed_out),
            ("Stale:", &self.stale),
            ("Auto-blocked:", &self.auto_blocked),
        ] {
            lines.push(format!("{label:<13} {}", tasks.len()));
            lines.extend(tasks.iter().map(|task| format!("  {task}")));
        }
        lines.push(format!("{:<13} {}", "Promoted:", self.promoted));
        lines.push(format!("{:<13} {}", "Spawned:", self.spawned.len()));
        for (task, assignee, workspace) in &self.spawned {
            let shown = if workspace.is_empty() { "-" } else { workspace };
            let dry = if dry_run { " (dry)" } else { "" };
            lines.push(format!("  - {task}  ->  {assignee}  @ {shown}{dry}"));
        }
        let named = |tasks: &[TaskId]| crate::error::join(tasks);
        if !self.auto_assigned_default.is_empty() {
            lines.push(format!(
                "Auto-assigned to kanban.default_assignee='{}': {}",
                default.unwrap_or_default(),
                named(&self.auto_assigned_default)
            ));
        }
        if !self.skipped_unassigned.is_empty() {
            lines.push(format!(
                "Skipped (unassigned): {}",
                named(&self.skipped_unassigned)
            ));
        }
        if !self.skipped_nonspawnable.is_empty() {
            lines.push(format!(
                "Skipped (no such profile): {}",
                named(&self.skipped_nonspawnable)
            ));
        }
        for (task, assignee, current) in &self.skipped_per_profile_capped {
            lines.push(format!(
                "Deferred ({assignee} at per-profile cap, {current} running): {task}"
            ));
        }
        for (task, reason) in &self.respawn_guarded {
            lines.push(format!("Deferred ({reason}): {task}"));
        }
        if !self.rate_limited.is_empty() {
            lines.push(format!("Rate limited: {}", named(&self.rate_limited)));
        }
        if self.waiting_for_slots > 0 {
            lines.push(format!(
                "Waiting for a free place: {} ({} running)",
                self.waiting_for_slots, self.running
            ));
        }
        lines
    }

    /// Whether anything happened that is worth a line in a log.
    pub fn is_idle(&self) -> bool {
        self.reclaimed == 0
            && self.promoted == 0
            && self.crashed.is_empty()
            && self.timed_out.is_empty()
            && self.stale.is_empty()
            && self.auto_blocked.is_empty()
            && self.spawned.is_empty()
            && self.rate_limited.is_empty()
            && self.auto_assigned_default.is_empty()
    }
}
