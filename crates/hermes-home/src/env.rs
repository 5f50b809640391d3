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
    /// Seconds between a signal and the end of a run; default 1.5.
    SIGTERM_GRACE = "HERMES_SIGTERM_GRACE";
    /// File tools write nothing outside of this directory.
    WRITE_SAFE_ROOT = "HERMES_WRITE_SAFE_ROOT";
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
}
