//! `backup --quick` and `/snapshot`: the files that matter most, copied beside the
//! others, listed, put back and thrown away.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use hermes_home::{FileMode, HomeError, write_atomic};
use serde::{Deserialize, Serialize};

use super::restore::place;
use crate::archive::{copy_database, gather, is_database};
use crate::output::human;
use crate::{CommandError, Context, Exit, Out};

const FILES: &[&str] = &[
    "state.db",
    "config.yaml",
    ".env",
    "auth.json",
    "cron/jobs.json",
    "gateway_state.json",
    "channel_directory.json",
    "processes.json",
    "feishu_comment_pairing.json",
];
const DIRECTORIES: &[&str] = &["pairing", "platforms/pairing"];

/// Older ones than these many go.
pub(crate) const KEPT: usize = 20;

#[derive(Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) id: String,
    pub(crate) timestamp: String,
    pub(crate) label: Option<String>,
    pub(crate) file_count: usize,
    pub(crate) total_size: u64,
    files: BTreeMap<String, u64>,
}

pub(super) fn run(
    label: Option<&str>,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let manifest = take(label, context)?;
    writeln!(
        out,
        "{} files, {}: {}",
        manifest.file_count,
        human::bytes(manifest.total_size),
        context.home.display(&directory(context).join(&manifest.id))
    )?;
    Ok(Exit::SUCCESS)
}

fn directory(context: &Context) -> PathBuf {
    context.home.join("state-snapshots")
}

/// Makes a copy; the oldest go when there are too many.
pub(crate) fn take(label: Option<&str>, context: &Context) -> Result<Manifest, CommandError> {
    let manifest = copied(label, context)?;
    forget_old(&directory(context), KEPT)?;
    Ok(manifest)
}

fn copied(label: Option<&str>, context: &Context) -> Result<Manifest, CommandError> {
    let home = &context.home;
    let now = context.clock.now();
    let label = label.map(sanitised).filter(|label| !label.is_empty());
    let mut id = now.format("%Y%m%d-%H%M%S").to_string();
    if let Some(label) = &label {
        id = format!("{id}-{label}");
    }
    let parent = directory(context);
    let target = parent.join(&id);
    if target.exists() {
        return Err(CommandError::user(format!(
            "{} exists already",
            target.display()
        )));
    }
    let sources = sources(home.path())?;
    if sources.is_empty() {
        return Err(CommandError::user(format!(
            "there is nothing to back up at {}",
            home.path().display()
        )));
    }
    context.policy().create_dir(&parent)?;
    let staging = tempfile::Builder::new()
        .prefix(".creating-")
        .tempdir_in(&parent)
        .map_err(HomeError::io("create a directory in", &parent))?;
    let mut files = BTreeMap::new();
    for name in sources {
        let to = staging.path().join(&name);
        if let Some(directory) = to.parent() {
            fs::create_dir_all(directory)?;
        }
        let from = home.join(&name);
        let copied = if is_database(&name) {
            copy_database(&from, &to)
        } else {
            fs::copy(&from, &to).map(|_| ())
        };
        match copied {
            Ok(()) => files.insert(name, fs::metadata(&to)?.len()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                let about = format!("cannot copy {}", from.display());
                return Err(CommandError::from(error).context(about));
            }
        };
    }
    let manifest = Manifest {
        id: id.clone(),
        timestamp: now.to_rfc3339(),
        label,
        file_count: files.len(),
        total_size: files.values().sum(),
        files,
    };
    let text = serde_json::to_string_pretty(&manifest).map_err(CommandError::internal)?;
    write_atomic(
        &staging.path().join("manifest.json"),
        text.as_bytes(),
        FileMode::Private,
    )?;
    fs::rename(staging.path(), &target).map_err(HomeError::io("create", &target))?;
    Ok(manifest)
}

/// All copies, newest first. One that cannot be read is none.
pub(crate) fn all(context: &Context) -> Vec<Manifest> {
    let entries = fs::read_dir(directory(context)).into_iter().flatten();
    let mut found: Vec<Manifest> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| fs::read(entry.path().join("manifest.json")).ok())
        .filter_map(|text| serde_json::from_slice(&text).ok())
        .collect();
    found.sort_by(|a, b| b.id.cmp(&a.id));
    found
}

/// A copy that was put back, and the one of what was there before.
pub(crate) struct PutBack {
    pub(crate) restored: Manifest,
    pub(crate) before: Manifest,
}

/// Puts the files of a copy back; a beginning of its id is enough. What is there is
/// copied first.
pub(crate) fn put_back(id: &str, context: &Context) -> Result<PutBack, CommandError> {
    context.policy().refuse_if_managed()?;
    let mut meant = all(context);
    meant.retain(|manifest| manifest.id.starts_with(id));
    if let Some(exact) = meant.iter().position(|manifest| manifest.id == id) {
        meant = vec![meant.swap_remove(exact)];
    }
    let (Some(manifest), true) = (meant.pop(), meant.is_empty()) else {
        let why = match meant.is_empty() {
            true => format!("there is no snapshot {id}"),
            false => format!("several snapshots begin with {id}"),
        };
        return Err(CommandError::user(why));
    };
    let from = directory(context).join(&manifest.id);
    // Looked at as a whole before the first file changes.
    let names: Vec<&String> = manifest.files.keys().collect();
    for name in &names {
        let outside = Path::new(name)
            .components()
            .any(|part| !matches!(part, std::path::Component::Normal(_)));
        if outside || !from.join(name).is_file() {
            return Err(CommandError::user(format!(
                "the snapshot {} is incomplete: {name}",
                manifest.id
            )));
        }
    }
    let before = copied(Some(&format!("before-{}", manifest.id)), context)?;
    let staging = tempfile::tempdir_in(directory(context))?;
    for name in names {
        // What is put in place is moved there; the copy stays.
        let staged = staging.path().join(name);
        if let Some(parent) = staged.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::copy(from.join(name), &staged)?;
        place(&staged, &context.home.join(name), context.policy())
            .map_err(|error| error.context(format!("cannot restore {name}")))?;
    }
    forget_old(&directory(context), KEPT)?;
    Ok(PutBack {
        restored: manifest,
        before,
    })
}

/// Throws all but the newest away; how many went.
pub(crate) fn prune(keep: usize, context: &Context) -> Result<usize, CommandError> {
    let parent = directory(context);
    match parent.is_dir() {
        true => Ok(forget_old(&parent, keep)?),
        false => Ok(0),
    }
}

fn sources(home: &Path) -> io::Result<Vec<String>> {
    let mut names: Vec<String> = FILES
        .iter()
        .filter(|name| home.join(name).is_file())
        .map(|name| (*name).to_owned())
        .collect();
    for directory in DIRECTORIES {
        if home.join(directory).is_dir() {
            let gathered = gather(&home.join(directory), &|_| true)?;
            let inside = gathered.items.into_iter().map(|item| item.name);
            names.extend(inside.map(|name| format!("{directory}/{name}")));
        }
    }
    Ok(names)
}

fn sanitised(label: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let text: String = label
        .chars()
        .map(|c| if safe(c) { c } else { '-' })
        .take(40)
        .collect();
    text.trim_matches('-').to_owned()
}

/// Names begin with the time, so the order of names is that of age.
fn forget_old(parent: &Path, keep: usize) -> io::Result<usize> {
    let mut names: Vec<_> = fs::read_dir(parent)?
        .filter_map(Result::ok)
        .filter(|entry| entry.path().join("manifest.json").is_file())
        .map(|entry| entry.path())
        .collect();
    names.sort();
    let old = names.len().saturating_sub(keep);
    for path in &names[..old] {
        fs::remove_dir_all(path)?;
    }
    Ok(old)
}
