//! Names of the environment variables of boards and workers, each once.

/// Root of all boards instead of the Hermes root.
pub const HOME: &str = "HERMES_KANBAN_HOME";
/// One database for every board name.
pub const DB: &str = "HERMES_KANBAN_DB";
/// The board a process works on.
pub const BOARD: &str = "HERMES_KANBAN_BOARD";
pub const WORKSPACES_ROOT: &str = "HERMES_KANBAN_WORKSPACES_ROOT";
pub const ATTACHMENTS_ROOT: &str = "HERMES_KANBAN_ATTACHMENTS_ROOT";
pub const CLAIM_TTL: &str = "HERMES_KANBAN_CLAIM_TTL_SECONDS";
pub const CRASH_GRACE: &str = "HERMES_KANBAN_CRASH_GRACE_SECONDS";
pub const RATE_LIMIT_COOLDOWN: &str = "HERMES_KANBAN_RATE_LIMIT_COOLDOWN_SECONDS";
pub const BUSY_TIMEOUT: &str = "HERMES_KANBAN_BUSY_TIMEOUT_MS";
pub const SPECIFY_MAX_TOKENS: &str = "HERMES_KANBAN_SPECIFY_MAX_TOKENS";
pub const DISPATCH_IN_GATEWAY: &str = "HERMES_KANBAN_DISPATCH_IN_GATEWAY";
/// The executable that workers run.
pub const BIN: &str = "HERMES_BIN";

/// Set on workers: the task they work on.
pub const TASK: &str = "HERMES_KANBAN_TASK";
pub const WORKSPACE: &str = "HERMES_KANBAN_WORKSPACE";
pub const BRANCH: &str = "HERMES_KANBAN_BRANCH";
pub const RUN_ID: &str = "HERMES_KANBAN_RUN_ID";
pub const CLAIM_LOCK: &str = "HERMES_KANBAN_CLAIM_LOCK";
pub const GOAL_MODE: &str = "HERMES_KANBAN_GOAL_MODE";
pub const GOAL_MAX_TURNS: &str = "HERMES_KANBAN_GOAL_MAX_TURNS";
pub const TENANT: &str = "HERMES_TENANT";
pub const PROFILE: &str = "HERMES_PROFILE";
pub const PROFILE_NAME: &str = "HERMES_PROFILE_NAME";
pub const SESSION_ID: &str = "HERMES_SESSION_ID";
/// Removed from a worker's environment: it has no terminal.
pub const TUI: &str = "HERMES_TUI";
pub const TERMINAL_TIMEOUT: &str = "TERMINAL_TIMEOUT";
pub const TERMINAL_MAX_FOREGROUND_TIMEOUT: &str = "TERMINAL_MAX_FOREGROUND_TIMEOUT";
