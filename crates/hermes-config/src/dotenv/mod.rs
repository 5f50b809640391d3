//! The home's `.env`: read by python-dotenv's rules, repaired where two assignments
//! ran together, written one line at a time.

mod interpolate;
mod parse;
mod read;
mod repair;
mod write;

pub use parse::{Binding, parse};
pub use read::{DotEnv, read, read_text};
pub use repair::repair;
pub use write::{check_name, remove, set};
