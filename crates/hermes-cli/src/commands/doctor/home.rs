//! The home directory: there, complete, private, writable; its database and the
//! profiles beside it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use hermes_home::ProfileError;
use hermes_home::profile::{Profiles, Wrappers, select};
use hermes_store::{Access, Database, PRAGMAS, StateDb};
use hermes_types::ProfileName;
use nix::unistd::{AccessFlags, access};

use super::findings::{Findings, State};
use crate::Context;
use crate::output::human;

/// A write-ahead log that grew beyond this slows every reader down.
const LARGE_LOG: u64 = 64 * 1024 * 1024;

pub(super) fn check(context: &Context, findings: &mut Findings) {
    findings.group("Home");
    let home = &context.home;
    let shown = home.display(home.path());
    if let Some(managed) = context.policy().managed() {
        findings.good(format!("managed by {}", managed.manager));
    }
    if !home.path().exists() {
        findings.fixable(
            State::Warning,
            format!("{shown} does not exist yet"),
            "`hermes doctor --fix` makes it, and so does the first chat",
            || home.ensure(context.policy()),
        );
        return;
    }
    if !home.path().is_dir() {
        findings.bad(
            format!("{shown} is not a directory"),
            format!("move {shown} away, or set HERMES_HOME to another place"),
        );
        return;
    }
    findings.good(format!("{shown} exists"));
    match access(home.path(), AccessFlags::W_OK | AccessFlags::X_OK) {
        Ok(()) => {}
        Err(error) => findings.bad(
            format!("{shown} cannot be written: {}", error.desc()),
            format!("make {shown} writable for this user"),
        ),
    }
    let missing = home.missing_directories();
    if missing.is_empty() {
        findings.good("all directories are there");
    } else {
        findings.fixable(
            State::Warning,
            format!("missing directories: {}", missing.join(", ")),
            "`hermes doctor --fix` makes them",
            || home.ensure(context.policy()),
        );
    }
    check_modes(context, findings);
    if home.join("SOUL.md").is_file() {
        findings.good("SOUL.md exists");
    } else {
        findings.fixable(
            State::Warning,
            "SOUL.md is missing",
            "`hermes doctor --fix` makes it, and so does the first chat",
            || home.ensure(context.policy()),
        );
    }
}

fn check_modes(context: &Context, findings: &mut Findings) {
    let home = &context.home;
    if context.policy().in_container() || context.policy().managed().is_some() {
        return;
    }
    let open: Vec<String> = [
        home.path().to_owned(),
        home.config_file(),
        home.env_file(),
        home.join("auth.json"),
    ]
    .into_iter()
    .filter(|path| {
        fs::metadata(path).is_ok_and(|metadata| {
            let allowed = if metadata.is_dir() {
                context.policy().directory_mode()
            } else {
                0o600
            };
            metadata.permissions().mode() & 0o777 & !allowed != 0
        })
    })
    .map(|path| home.display(&path))
    .collect();
    if open.is_empty() {
        findings.good("secrets are private");
        return;
    }
    findings.fixable(
        State::Warning,
        format!("other users may read {}", open.join(", ")),
        format!("take the access away: `chmod go= {}`", open.join(" ")),
        || home.tighten(context.policy()).map(|_| ()),
    );
}

pub(super) fn check_database(context: &Context, findings: &mut Findings) {
    findings.group("Sessions");
    let path = context.home.state_db();
    let pragmas = PRAGMAS.with_patience(Duration::from_secs(2));
    let database = match Database::open_if_there(&path, &pragmas, Access::ReadOnly) {
        Ok(Some(database)) => database,
        Ok(None) => {
            findings.good("no sessions stored yet");
            return;
        }
        Err(error) => {
            let remedy = error
                .hint()
                .unwrap_or_else(|| format!("look at {}", path.display()));
            findings.bad(error.to_string(), remedy);
            return;
        }
    };
    match database.quick_check() {
        Ok(()) => findings.good("state.db is sound"),
        Err(error) if error.is_busy() => findings.warning(error.to_string(), "try again later"),
        Err(error) => {
            let remedy = error
                .hint()
                .unwrap_or_else(|| "restore it from a backup".to_owned());
            findings.bad(error.to_string(), remedy);
        }
    }
    let log = path.with_file_name("state.db-wal");
    let size = fs::metadata(&log).map_or(0, |metadata| metadata.len());
    if size > LARGE_LOG {
        findings.fixable(
            State::Warning,
            format!(
                "the write-ahead log of state.db has grown to {}",
                human::bytes(size)
            ),
            "`hermes sessions optimize` empties it",
            || StateDb::open(&path, context.clock.clone())?.checkpoint(),
        );
    }
}

pub(super) fn check_profiles(context: &Context, findings: &mut Findings) {
    findings.group("Profiles");
    let profiles = Profiles::new(&context.home, context.policy());
    match profiles.list() {
        Ok(names) if names.len() == 1 => findings.good("1 profile"),
        Ok(names) => findings.good(format!("{} profiles", names.len())),
        Err(error) => {
            let remedy = format!("look at {}", context.home.profiles_dir().display());
            findings.bad(error.to_string(), remedy);
            return;
        }
    }
    let mut root = context.environment.clone();
    root.set(
        hermes_home::env::HOME,
        context.home.root().to_string_lossy(),
    );
    if let Err(error @ ProfileError::Dangling { .. }) = select(&root, None) {
        findings.fixable(
            State::Bad,
            error.to_string(),
            "`hermes profile use default`",
            || profiles.set_active(&ProfileName::default_profile()),
        );
    }
    let wrappers = Wrappers::new(&context.home, &context.environment);
    let has_alias = profiles
        .list()
        .unwrap_or_default()
        .iter()
        .any(|name| wrappers.alias_of(name).is_some());
    if has_alias && !wrappers.on_search_path() {
        let directory = context.home.display(wrappers.directory());
        findings.warning(
            format!("{directory} is not on your PATH, so profile commands are not found"),
            format!("add {directory} to PATH in your shell's start-up file"),
        );
    }
}
