//! Names of the environment variables that Hermes itself reads, each once, with
//! one sentence that also becomes its line in the reference page. Variables that
//! stand for a config key are named in the table of keys instead.

/// One variable, as the reference page shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: &'static str,
    pub description: &'static str,
}

macro_rules! variables {
    ($($(#[doc = $doc:literal])+ $constant:ident = $name:literal;)+) => {
        $($(#[doc = $doc])+ pub const $constant: &str = $name;)+

        /// Every variable of this page.
        pub const ALL: &[Variable] =
            &[$(Variable { name: $name, description: concat!($($doc),+) }),+];
    };
}

variables! {
    /// Truthy: dangerous commands run without a question.
    YOLO = "HERMES_YOLO_MODE";
    /// The effective home directory; default `~/.hermes`.
    HOME = "HERMES_HOME";
    /// Octal mode for directories that we create in the home; default `0700`.
    HOME_MODE = "HERMES_HOME_MODE";
    /// Numeric owner for what we create in the home.
    UID = "HERMES_UID";
    /// Numeric group for what we create in the home.
    GID = "HERMES_GID";
    /// Set inside our own container image: modes of existing files are left alone.
    CONTAINER = "HERMES_CONTAINER";
    /// Leave modes of existing files alone.
    SKIP_CHMOD = "HERMES_SKIP_CHMOD";
    /// A package manager owns the installation and its config; its name, or a truthy value.
    MANAGED = "HERMES_MANAGED";
    /// Behave as if `config.yaml` were absent.
    IGNORE_USER_CONFIG = "HERMES_IGNORE_USER_CONFIG";
    /// The user's home directory, for `~` and the default home.
    USER_HOME = "HOME";
    /// Where commands are looked up; decides which wrapper names are taken.
    PATH = "PATH";
    /// Your shell, for `completion` without an argument.
    SHELL = "SHELL";
    /// Any value: no colour.
    NO_COLOR = "NO_COLOR";
    /// Width of the output when it does not go to a terminal.
    COLUMNS = "COLUMNS";
    /// What the terminal can do; `dumb` means no colour.
    TERM = "TERM";
    /// Provider when neither a flag nor `model.provider` names one.
    INFERENCE_PROVIDER = "HERMES_INFERENCE_PROVIDER";
    /// Model when neither a flag nor `model.default` names one.
    INFERENCE_MODEL = "HERMES_INFERENCE_MODEL";
    /// Where Ollama listens; asked for models by `hermes setup` and a first start when it is this machine.
    OLLAMA_HOST = "OLLAMA_HOST";
    /// Text put after the system prompt in this run only.
    EPHEMERAL_SYSTEM_PROMPT = "HERMES_EPHEMERAL_SYSTEM_PROMPT";
    /// Seconds between a signal and the end of a run; default 1.5.
    SIGTERM_GRACE = "HERMES_SIGTERM_GRACE";
    /// File tools write nothing outside of this directory.
    WRITE_SAFE_ROOT = "HERMES_WRITE_SAFE_ROOT";
    /// 1: a file tool does not warn that another agent wrote the file.
    DISABLE_FILE_STATE_GUARD = "HERMES_DISABLE_FILE_STATE_GUARD";
    /// Seconds that git may take for a step of a checkpoint.
    CHECKPOINT_TIMEOUT = "HERMES_CHECKPOINT_TIMEOUT";
    /// Longest answer in tokens when `model.max_tokens` is not set.
    MAX_TOKENS = "HERMES_MAX_TOKENS";
    /// Seconds that a whole answer of a model may take; default 1800.
    API_TIMEOUT = "HERMES_API_TIMEOUT";
    /// Seconds between two reads of an answer; default 120.
    STREAM_READ_TIMEOUT = "HERMES_STREAM_READ_TIMEOUT";
    /// Seconds without news in a streamed answer; default 180 and more for long requests.
    STREAM_STALE_TIMEOUT = "HERMES_STREAM_STALE_TIMEOUT";
    /// The same for an answer in one piece; default 90 and more for long requests.
    API_CALL_STALE_TIMEOUT = "HERMES_API_CALL_STALE_TIMEOUT";
    /// Seconds until the first event of a Responses stream; default 120.
    CODEX_TTFB_TIMEOUT = "HERMES_CODEX_TTFB_TIMEOUT_SECONDS";
    /// The most that this limit may be.
    CODEX_TTFB_MAX = "HERMES_CODEX_TTFB_MAX_SECONDS";
    /// Requests of more tokens than this have no such limit; default 25000.
    CODEX_TTFB_DISABLE_ABOVE = "HERMES_CODEX_TTFB_DISABLE_ABOVE_TOKENS";
    /// 1: the limit holds for requests of any size.
    CODEX_TTFB_STRICT = "HERMES_CODEX_TTFB_STRICT";
    /// Seconds between two events of a Responses stream; default 60 and more for long requests.
    CODEX_EVENT_STALE_TIMEOUT = "HERMES_CODEX_EVENT_STALE_TIMEOUT_SECONDS";
    /// 1: write every request to a model into `sessions/`, not only those that failed.
    DUMP_REQUESTS = "HERMES_DUMP_REQUESTS";
    /// 1: print what is written there, too.
    DUMP_REQUEST_STDOUT = "HERMES_DUMP_REQUEST_STDOUT";
    /// How often a broken connection to a model is made again at once; default 2.
    STREAM_RETRIES = "HERMES_STREAM_RETRIES";
    /// A PEM file with certificates to trust in addition to the system's.
    CA_BUNDLE = "HERMES_CA_BUNDLE";
    /// The container engine's program: a path, or a name on `PATH`.
    DOCKER_BINARY = "HERMES_DOCKER_BINARY";
    /// Most seconds that a command may be waited for; default 600.
    TERMINAL_MAX_FOREGROUND_TIMEOUT = "TERMINAL_MAX_FOREGROUND_TIMEOUT";
    /// The session that a command belongs to; set for commands of an agent.
    SESSION_ID = "HERMES_SESSION_ID";
    /// The program that workers run: a path, or a name on `PATH`; default: this one.
    BIN = "HERMES_BIN";
    /// Where all boards live, instead of the root home.
    KANBAN_HOME = "HERMES_KANBAN_HOME";
    /// One database for every board name; set for workers.
    KANBAN_DB = "HERMES_KANBAN_DB";
    /// The board to work on, instead of the current one; set for workers.
    KANBAN_BOARD = "HERMES_KANBAN_BOARD";
    /// Where scratch directories of tasks are made; set for workers.
    KANBAN_WORKSPACES_ROOT = "HERMES_KANBAN_WORKSPACES_ROOT";
    /// Where attachments of tasks are kept.
    KANBAN_ATTACHMENTS_ROOT = "HERMES_KANBAN_ATTACHMENTS_ROOT";
    /// Seconds that a claim holds without a heartbeat; default 900.
    KANBAN_CLAIM_TTL = "HERMES_KANBAN_CLAIM_TTL_SECONDS";
    /// Seconds from its start in which a worker that is not seen does not count as dead; default 30.
    KANBAN_CRASH_GRACE = "HERMES_KANBAN_CRASH_GRACE_SECONDS";
    /// Seconds that a task rests after a rate limit; default 300, 0 for none.
    KANBAN_RATE_LIMIT_COOLDOWN = "HERMES_KANBAN_RATE_LIMIT_COOLDOWN_SECONDS";
    /// Milliseconds to wait for other writers of a board; default 120000.
    KANBAN_BUSY_TIMEOUT = "HERMES_KANBAN_BUSY_TIMEOUT_MS";
    /// Longest answer of the model that specifies tasks, in tokens.
    KANBAN_SPECIFY_MAX_TOKENS = "HERMES_KANBAN_SPECIFY_MAX_TOKENS";
    /// Set for workers: the task to work on.
    KANBAN_TASK = "HERMES_KANBAN_TASK";
    /// Set for workers: the directory to work in.
    KANBAN_WORKSPACE = "HERMES_KANBAN_WORKSPACE";
    /// Set for workers in a worktree: its branch.
    KANBAN_BRANCH = "HERMES_KANBAN_BRANCH";
    /// Set for workers: the attempt that they are.
    KANBAN_RUN_ID = "HERMES_KANBAN_RUN_ID";
    /// Set for workers: the lock that their claim carries.
    KANBAN_CLAIM_LOCK = "HERMES_KANBAN_CLAIM_LOCK";
    /// Set for workers of tasks with a goal: work on until a judge is satisfied.
    KANBAN_GOAL_MODE = "HERMES_KANBAN_GOAL_MODE";
    /// Set for workers of tasks with a goal: turns at most; default 20.
    KANBAN_GOAL_MAX_TURNS = "HERMES_KANBAN_GOAL_MAX_TURNS";
    /// Set for workers: the tenant of their task, and of tasks that they create.
    TENANT = "HERMES_TENANT";
    /// Who acts on a board; set for workers: their profile.
    PROFILE = "HERMES_PROFILE";
    /// Who comments on a board from the command line, before `HERMES_PROFILE`.
    PROFILE_NAME = "HERMES_PROFILE_NAME";
    /// Taken away from workers, which have no screen.
    TUI = "HERMES_TUI";
}
