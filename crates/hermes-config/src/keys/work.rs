//! The board, schedules and stored sessions.

use super::key::{Default, Key, Type, flag, float, int, text, unset, with};

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    flag("kanban.dispatch_in_gateway", true, "the gateway hands out tasks").env("HERMES_KANBAN_DISPATCH_IN_GATEWAY").live(),
    float("kanban.dispatch_interval_seconds", 60.0, "seconds between two rounds; at least 1").live(),
    int("kanban.failure_limit", 2, "failures in a row after which a task is blocked").live(),
    int("kanban.worker_log_rotate_bytes", 2_097_152, "size from which a worker's log starts anew").live(),
    int("kanban.worker_log_backup_count", 1, "older logs kept; 0 none").live(),
    text("kanban.orchestrator_profile", "", "profile that gets the root of a split task; empty means the active one").live(),
    text("kanban.default_assignee", "", "profile for tasks without one; empty leaves them alone").live(),
    with("kanban.max_in_progress_per_profile", Type::Integer, Default::Null, "running tasks per profile; null no limit").live(),
    unset("kanban.max_in_progress", Type::Integer, "running tasks per board").live(),
    unset("kanban.max_spawn", Type::Integer, "running workers per board").live(),
    flag("kanban.auto_decompose", true, "split triage tasks by themselves"),
    int("kanban.auto_decompose_per_tick", 3, "tasks split per round"),
    flag("kanban.auto_promote_children", true, "the parts of a split task become ready at once").live(),
    int("kanban.dispatch_stale_timeout_seconds", 14_400, "seconds without a heartbeat after which a task counts as stale; 0 never").live(),
    unset("kanban.diagnostics", Type::Map, "thresholds of `kanban diagnostics`: failure_threshold, failure_limit, crash_threshold, blocked_stale_hours, block_cycle_threshold, block_cycle_window_seconds, stranded_threshold_seconds").live(),
    unset("kanban.notification_sources", Type::List, "platforms that hear of finished tasks"),
    flag("cron.wrap_response", true, "put a frame round what a job delivers"),
    with("cron.max_parallel_jobs", Type::Integer, Default::Null, "jobs at the same time; null no limit").env("HERMES_CRON_MAX_PARALLEL"),
    int("cron.script_timeout_seconds", 120, "seconds for a job's script").env("HERMES_CRON_SCRIPT_TIMEOUT"),
    flag("sessions.auto_prune", false, "remove old sessions at start").live(),
    int("sessions.retention_days", 90, "days a session is kept then").live(),
    flag("sessions.vacuum_after_prune", true, "give the space back").live(),
    int("sessions.min_interval_hours", 24, "hours between two clean-ups").live(),
    flag("sessions.write_json_snapshots", false, "also write each session as a JSON file").live(),
];
