//! Measures Hermes, and a second implementation beside it in the same run.
//!
//! A program, not a timed test: figures depend on the machine, so they are
//! medians over alternating runs, and what counts across machines is the ratio.
//! Every area makes its own data and states how much.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a program that prints a report and times whole processes from outside"
)]

mod areas;
mod data;
mod measure;
mod probe;
mod report;
mod stats;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{Parser, ValueEnum};

#[derive(Parser)]
#[command(
    name = "hermes-bench",
    about = "Measure Hermes against its bars and against another implementation"
)]
struct Options {
    /// What to measure.
    #[arg(value_enum, default_value = "all")]
    area: areas::Area,
    /// The binary to measure [default: `hermes` beside this program].
    #[arg(long, value_name = "BIN")]
    candidate: Option<PathBuf>,
    /// Another implementation, measured in turn with the candidate.
    #[arg(long, value_name = "BIN")]
    reference: Option<PathBuf>,
    /// The Python of the other implementation, for measures inside its process.
    #[arg(long, value_name = "PYTHON")]
    reference_python: Option<PathBuf>,
    /// Rounds per measure.
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// How to print the figures.
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// The same as `--format markdown`.
    #[arg(long)]
    markdown: bool,
    /// The same as `--format json`.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Json,
    Markdown,
}

fn main() -> Result<ExitCode> {
    let words: Vec<std::ffi::OsString> = std::env::args_os().collect();
    if words.get(1).is_some_and(|word| word == probe::VERB) {
        return probe::run(&words[2..]);
    }
    if words
        .get(1)
        .is_some_and(|word| word.to_string_lossy().starts_with("__"))
    {
        return areas::run_helper(&words[1..]);
    }
    let options = Options::parse();
    let own = std::env::current_exe().context("cannot find this program's own path")?;
    let candidate = match options.candidate {
        Some(path) => path,
        None => own.with_file_name("hermes"),
    };
    anyhow::ensure!(
        candidate.is_file(),
        "no binary at {}: build it with `cargo build --release`, or name one with --candidate",
        candidate.display()
    );
    let bench = measure::Bench {
        own,
        candidate,
        reference: options.reference,
        reference_python: options.reference_python,
        rounds: options.rounds.max(3),
    };
    let figures = areas::run(options.area, &bench)?;
    let format = match (options.json, options.markdown) {
        (true, _) => Format::Json,
        (_, true) => Format::Markdown,
        _ => options.format,
    };
    println!("{}", report::render(&bench, &figures, format));
    let missed =
        !figures.failed.is_empty() || figures.rows.iter().any(|row| row.met() == Some(false));
    Ok(if missed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}
