//! Everything below the root home as a zip.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use crate::archive::{ZipWriter, gather, is_sidecar};
use crate::output::human;
use crate::{CommandError, Context, Exit, Out};

/// Left out wherever they are: programs, histories of files, older backups.
const DIRECTORIES: &[&str] = &[
    "hermes-agent",
    "__pycache__",
    ".git",
    "node_modules",
    "backups",
    "checkpoints",
];

pub(super) fn run(
    output: Option<&Path>,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let root = context.home.root();
    if !root.is_dir() {
        return Err(CommandError::user(format!(
            "there is nothing to back up at {}",
            root.display()
        )));
    }
    let stamp = context.clock.now_local().format("%Y-%m-%d-%H%M%S");
    let output = match output {
        Some(path) if path.is_dir() => path.join(format!("hermes-backup-{stamp}.zip")),
        Some(path) => path.to_owned(),
        None => context
            .home
            .user_home()
            .join(format!("hermes-backup-{stamp}.zip")),
    };
    let started = Instant::now();
    let gathered = gather(root, &goes_along)?;
    if gathered.items.is_empty() {
        return Err(CommandError::user(format!(
            "there is nothing to back up at {}",
            root.display()
        )));
    }
    let cannot_write = |error: io::Error| {
        CommandError::from(error).context(format!("cannot write {}", output.display()))
    };
    let directory = match output.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // Keys are in it: private from the first byte, and nothing half-written is left.
    let file = tempfile::Builder::new()
        .prefix(".backing-up-")
        .suffix(".zip")
        .tempfile_in(directory)
        .map_err(cannot_write)?;
    let mut archive = ZipWriter::new(file.reopen().map_err(cannot_write)?);
    let own = [
        fs::canonicalize(file.path()).ok(),
        fs::canonicalize(&output).ok(),
    ];
    let mut left_out = gathered.unreadable;
    let (mut count, mut bytes) = (0u64, 0u64);
    for item in &gathered.items {
        let real = fs::canonicalize(&item.path).ok();
        if real.is_some() && own.contains(&real) {
            continue;
        }
        // What the archive itself cannot take is an error of its own; see below.
        match item_into(&mut archive, item) {
            Ok(Some(size)) => {
                count += 1;
                bytes += size;
            }
            Ok(None) => {}
            Err(Failure::Reading(error)) => {
                left_out.push((item.path.clone(), error.to_string()));
            }
            Err(Failure::Writing(error)) => return Err(cannot_write(error)),
        }
    }
    let written = archive.finish().map_err(cannot_write)?;
    written.sync_all().map_err(cannot_write)?;
    let size = written.metadata().map_err(cannot_write)?.len();
    file.persist(&output)
        .map_err(|error| cannot_write(error.error))?;
    writeln!(
        out,
        "{count} files, {} in {} of zip, {:.1} s: {}",
        human::bytes(bytes),
        human::bytes(size),
        started.elapsed().as_secs_f64(),
        output.display()
    )?;
    writeln!(out, "It holds your keys; keep it as you keep them.")?;
    if left_out.is_empty() {
        return Ok(Exit::SUCCESS);
    }
    for (path, reason) in &left_out {
        out.warning(&format!("left out {}: {reason}", path.display()));
    }
    Err(CommandError::user(format!(
        "the backup is not complete: {} could not be read",
        left_out.len()
    )))
}

enum Failure {
    Reading(io::Error),
    Writing(io::Error),
}

fn item_into(archive: &mut ZipWriter, item: &crate::archive::Item) -> Result<Option<u64>, Failure> {
    match item.open() {
        Ok(Some(content)) => archive
            .add(item, content)
            .map(Some)
            .map_err(Failure::Writing),
        Ok(None) => Ok(None),
        Err(error) => Err(Failure::Reading(error)),
    }
}

fn goes_along(relative: &str) -> bool {
    let name = relative.rsplit('/').next().unwrap_or(relative);
    !(DIRECTORIES.contains(&name)
        || is_sidecar(name)
        || name == "gateway.pid"
        || name == "cron.pid"
        || name.ends_with(".pyc")
        || name.ends_with(".pyo")
        || name.starts_with(".importing-")
        || name.starts_with(".creating-"))
}
