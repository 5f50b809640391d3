//! Names of the environment variables that Hermes itself reads, each once.

/// The effective home directory.
pub const HOME: &str = "HERMES_HOME";
/// Octal mode for directories that we create in the home.
pub const HOME_MODE: &str = "HERMES_HOME_MODE";
/// Owner for what we create in the home.
pub const UID: &str = "HERMES_UID";
/// Group for what we create in the home.
pub const GID: &str = "HERMES_GID";
/// Set inside our own container image: file modes are left alone.
pub const CONTAINER: &str = "HERMES_CONTAINER";
/// Leave file modes alone.
pub const SKIP_CHMOD: &str = "HERMES_SKIP_CHMOD";
/// A package manager owns the installation; its name, or a truthy value.
pub const MANAGED: &str = "HERMES_MANAGED";
/// Behave as if `config.yaml` were absent.
pub const IGNORE_USER_CONFIG: &str = "HERMES_IGNORE_USER_CONFIG";
/// Any value: no colour.
pub const NO_COLOR: &str = "NO_COLOR";
/// Width of the output when it is no terminal.
pub const COLUMNS: &str = "COLUMNS";
/// What the terminal can do; `dumb` means no colour.
pub const TERM: &str = "TERM";
