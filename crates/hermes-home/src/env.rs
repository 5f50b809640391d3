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
}
