//! A small process that runs one command and says how long it took and how much
//! memory it needed. Peak memory of a child counts what its parent held before
//! `exec`, so the parent must be small: that is why this is a process of its own.

use std::ffi::OsString;
use std::fs::File;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result};
use nix::sys::resource::{UsageWho, getrusage};
use serde::{Deserialize, Serialize};

pub(crate) const VERB: &str = "__probe";

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sample {
    pub(crate) wall_ms: f64,
    pub(crate) peak_mib: f64,
    pub(crate) exit_code: Option<i32>,
}

/// `__probe STDERR-FILE COMMAND…`: the command's output is thrown away.
pub(crate) fn run(words: &[OsString]) -> Result<ExitCode> {
    let [stderr, program, arguments @ ..] = words else {
        anyhow::bail!("usage: {VERB} STDERR-FILE COMMAND…");
    };
    let started = Instant::now();
    let status = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(stderr).context("cannot write the command's errors")?)
        .status()
        .with_context(|| format!("cannot run {}", program.display()))?;
    let wall_ms = started.elapsed().as_secs_f64() * 1e3;
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let sample = Sample {
        wall_ms,
        peak_mib: usage.max_rss() as f64 / 1024.0,
        exit_code: status.code(),
    };
    println!("{}", serde_json::to_string(&sample)?);
    Ok(ExitCode::SUCCESS)
}
