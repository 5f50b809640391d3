//! Where a value comes from.

use std::fmt;

use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "from", rename_all = "lowercase")]
pub enum Source {
    /// The table.
    Default,
    /// A variable of the process.
    Environment { name: String },
    /// A variable of the home's `.env`.
    DotEnv { name: String },
    /// A line of `config.yaml`.
    File { line: usize },
    /// `-c key=value`.
    Flag,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Default => f.write_str("default"),
            Source::Environment { name } => write!(f, "environment variable {name}"),
            Source::DotEnv { name } => write!(f, ".env variable {name}"),
            Source::File { line } => write!(f, "config.yaml line {line}"),
            Source::Flag => f.write_str("command line"),
        }
    }
}
