//! `backup --quick`: the files that matter most, copied beside the others.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use hermes_home::{FileMode, HomeError, write_atomic};
use serde::Serialize;

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
const KEPT: usize = 20;

#[derive(Serialize)]
struct Manifest {
    id: String,
    timestamp: String,
    label: Option<String>,
    file_count: usize,
    total_size: u64,
    files: BTreeMap<String, u64>,
}

pub(super) fn run(
    label: Option<&str>,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let home = &context.home;
    let now = context.clock.now();
    let label = label.map(sanitised).filter(|label| !label.is_empty());
    let mut id = now.format("%Y%m%d-%H%M%S").to_string();
    if let Some(label) = &label {
        id = format!("{id}-{label}");
    }
    let parent = home.join("state-snapshots");
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
    writeln!(
        out,
        "{} files, {}: {}",
        manifest.file_count,
        human::bytes(manifest.total_size),
        home.display(&target)
    )?;
    forget_old(&parent)?;
    Ok(Exit::SUCCESS)
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
fn forget_old(parent: &Path) -> io::Result<()> {
    let mut names: Vec<_> = fs::read_dir(parent)?
        .filter_map(Result::ok)
        .filter(|entry| entry.path().join("manifest.json").is_file())
        .map(|entry| entry.path())
        .collect();
    names.sort();
    let old = names.len().saturating_sub(KEPT);
    for path in &names[..old] {
        fs::remove_dir_all(path)?;
    }
    Ok(())
}
