//! `hermes version` and `--version`.

use std::io::Write;

use crate::{CommandError, Exit, Out};

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The day this version was made, in the reference's notation.
const RELEASED: &str = "2026.11.15";

#[derive(clap::Args, Debug)]
pub(crate) struct Args {}

pub(crate) fn run(_args: Args, out: &mut Out) -> Result<Exit, CommandError> {
    print(out)
}

pub(crate) fn print(out: &mut Out) -> Result<Exit, CommandError> {
    writeln!(out, "Hermes Agent v{VERSION} ({RELEASED})")?;
    if let Ok(program) = std::env::current_exe() {
        writeln!(out, "Project: {}", program.display())?;
    }
    Ok(Exit::SUCCESS)
}
