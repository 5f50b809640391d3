//! `hermes import`: a backup back into the root home.
//!
//! Promise: everything is unpacked and checked before the first file of the home
//! changes. A database that exists is overwritten through SQLite, so that a process
//! that has it open goes on with the restored rows and no stale log is replayed.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use hermes_home::profile::{Profiles, Wrappers};
use hermes_home::{FilePolicy, HomeError};
use hermes_store::{Access, Database, PRAGMAS};

use crate::archive::{ZipReader, is_database, is_sidecar};
use crate::commands::confirm::{confirm, refused};
use crate::commands::profile::make_command;
use crate::{CommandError, Context, Exit, Out};

/// One of these at the top says that it is a home.
const SIGNS: &[&str] = &["config.yaml", ".env", "state.db"];

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// A file made by `hermes backup`
    #[arg(value_name = "ZIP")]
    archive: PathBuf,

    /// Write over what is there without asking
    #[arg(short, long, visible_alias = "yes")]
    force: bool,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    context.policy().refuse_if_managed()?;
    let about = || format!("cannot import {}", args.archive.display());
    if !args.archive.is_file() {
        return Err(CommandError::user("there is no such file").context(about()));
    }
    let archive = ZipReader::open(&args.archive)
        .map_err(|error| CommandError::user(error).context(about()))?;
    let files = plan(&archive).ok_or_else(|| {
        CommandError::user("it holds no config.yaml, .env or state.db, so it is no backup of ours")
            .context(about())
    })?;
    let root = context.home.root();
    let has_data = SIGNS.iter().any(|name| root.join(name).exists());
    if has_data {
        let question = format!(
            "{} has data. Write {} files over it?",
            root.display(),
            files.len()
        );
        if !confirm(&question, args.force, out)? {
            let CommandError { kind, error, .. } = refused();
            return Err(
                CommandError::new(kind, error).hint("`--force` answers the question in advance")
            );
        }
    }
    context.policy().create_dir(root)?;
    let staging = tempfile::Builder::new()
        .prefix(".importing-")
        .tempdir_in(root)
        .map_err(HomeError::io("create a directory in", root))?;
    for (entry, path) in &files {
        archive
            .extract(entry, &staging.path().join(path))
            .map_err(|error| CommandError::user(error).context(about()))?;
    }
    for (_, path) in &files {
        place(
            &staging.path().join(path),
            &root.join(path),
            context.policy(),
        )
        .map_err(|error| error.context(format!("cannot restore {}", path.display())))?;
    }
    writeln!(out, "{} files restored to {}", files.len(), root.display())?;
    make_commands(context, out)?;
    Ok(Exit::SUCCESS)
}

/// What goes where, with one common directory at the top taken off. `None` when it
/// does not look like a home.
fn plan(archive: &ZipReader) -> Option<Vec<(&crate::archive::ZipEntry, PathBuf)>> {
    let files: Vec<_> = archive
        .entries
        .iter()
        .filter(|entry| !entry.is_directory)
        .collect();
    let looks_right = |base: &Path| {
        files
            .iter()
            .any(|entry| SIGNS.iter().any(|sign| entry.path == base.join(sign)))
    };
    let first = files.first()?.path.iter().next()?;
    let common = Path::new(first);
    let base = if looks_right(Path::new("")) {
        Path::new("")
    } else if files.iter().all(|entry| entry.path.starts_with(common)) && looks_right(common) {
        common
    } else {
        return None;
    };
    Some(
        files
            .into_iter()
            .filter_map(|entry| {
                let path = entry.path.strip_prefix(base).ok()?.to_owned();
                let name = path.to_string_lossy().into_owned();
                // A log without its database would be replayed into another one.
                (!is_sidecar(&name)).then_some((entry, path))
            })
            .collect(),
    )
}

/// Moves a file to its place in the home; a database gets the rows instead.
pub(super) fn place(from: &Path, to: &Path, policy: &FilePolicy) -> Result<(), CommandError> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
        policy.adopt(parent);
    }
    let name = to.to_string_lossy();
    if is_database(&name) && to.exists() {
        if let Some(mut live) = Database::open_if_there(to, &PRAGMAS, Access::Existing)? {
            live.restore_from(from)?;
        }
        return Ok(());
    }
    if is_secret_file(to) {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(from, fs::Permissions::from_mode(0o600))?;
    }
    // A link of the home is the user's: what it points to gets the content.
    let target = match fs::canonicalize(to) {
        Ok(real) => real,
        Err(_) => to.to_owned(),
    };
    match fs::rename(from, &target) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            fs::copy(from, &target)?;
        }
        other => other?,
    }
    policy.adopt(&target);
    Ok(())
}

fn is_secret_file(path: &Path) -> bool {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy())
        .unwrap_or_default();
    matches!(&*name, ".env" | "auth.json" | "config.yaml" | "state.db")
}

/// Commands of profiles live outside the home, so the backup has none.
fn make_commands(context: &Context, out: &mut Out) -> Result<(), CommandError> {
    let profiles = Profiles::new(&context.home, context.policy());
    let wrappers = Wrappers::new(&context.home, &context.environment);
    for name in profiles.list()? {
        if name.is_default() || wrappers.alias_of(&name).is_some() {
            continue;
        }
        match make_command(&name, context) {
            Ok(()) => writeln!(out, "Command {name} made.")?,
            Err(error) => out.warning(&format!("no command {name} was made: {}", error.error)),
        }
    }
    Ok(())
}
