//! Where a value comes from.

use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The table.
    Default,
    /// A variable of the process.
    Environment(String),
    /// A variable of the home's `.env`.
    DotEnv(String),
    /// A line of `config.yaml`.
    File { line: usize },
    /// `-c key=value`.
    Flag,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Default => f.write_str("default"),
            Source::Environment(name) => write!(f, "environment variable {name}"),
            Source::DotEnv(name) => write!(f, ".env variable {name}"),
            Source::File { line } => write!(f, "config.yaml line {line}"),
            Source::Flag => f.write_str("command line"),
        }
    }
}
