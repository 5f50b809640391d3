//! `hermes profile export`: a profile in one file that may be given away.
//!
//! Promise: no key travels. Files that hold credentials stay, and values of secret
//! settings are taken out of the copy of `config.yaml`.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use hermes_config::{edit, is_secret, yaml};
use hermes_types::ProfileName;
use serde_json::Value;

use super::profiles;
use crate::archive::{Item, TarWriter, gather, is_database, is_sidecar};
use crate::{CommandError, Context, Exit, Out};

/// Credentials, by the name of the file or directory, at any depth.
const SECRET: &[&str] = &[
    ".env",
    "auth.json",
    "auth.json.corrupt",
    "auth.lock",
    ".anthropic_oauth.json",
    "auth",
    "mcp-tokens",
    "shared",
];

/// What belongs to running processes or can be made again, at any depth.
const NEVER: &[&str] = &[
    "__pycache__",
    "package.json",
    "package-lock.json",
    "gateway.pid",
    "gateway.lock",
    "gateway_state.json",
    "processes.json",
    "state-snapshots",
];

/// What only the default profile leaves out, at its top.
const DEFAULT_ONLY: &[&str] = &[
    "hermes-agent",
    ".worktrees",
    "profiles",
    "bin",
    "node_modules",
    "active_profile",
    ".update_check",
    "errors.log",
    ".hermes_history",
    "cache",
    "image_cache",
    "audio_cache",
    "video_cache",
    "document_cache",
    "browser_screenshots",
    "checkpoints",
    "sandboxes",
    "logs",
    "backups",
    "kanban",
];

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The profile
    #[arg(value_name = "PROFILE")]
    name: String,

    /// The file to write; default: PROFILE.tar.gz here
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let name = ProfileName::parse(&args.name)?;
    let home = profiles(context).require(&name)?;
    let output = args
        .output
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{name}.tar.gz")));
    let is_default = name.is_default();
    let gathered = gather(home.path(), &|relative| travels(relative, is_default))?;
    for (path, reason) in &gathered.unreadable {
        out.warning(&format!("left out {}: {reason}", path.display()));
    }
    let directory = match output.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let cannot_write = |error: io::Error| {
        CommandError::from(error).context(format!("cannot write {}", output.display()))
    };
    // Private until it is whole: conversations are in it.
    let mut file = tempfile::Builder::new()
        .prefix(".exporting-")
        .tempfile_in(&directory)
        .map_err(cannot_write)?;
    let own = fs::canonicalize(file.path()).ok();
    let now = u64::try_from(context.clock.now().timestamp()).unwrap_or(0);
    let mut archive = TarWriter::new(file.as_file_mut());
    archive.directory(name.as_str(), now)?;
    let mut count = 0usize;
    let mut taken_out = Vec::new();
    for item in &gathered.items {
        if fs::canonicalize(&item.path).ok() == own {
            continue;
        }
        let inside = format!("{name}/{}", item.name);
        let added = if item.name == "config.yaml" {
            let (text, secrets) = without_secrets(item)?;
            taken_out = secrets;
            archive.bytes(&inside, item.modified, text.as_bytes())?;
            true
        } else {
            archive.item(&inside, item).map_err(|error| {
                CommandError::from(error).context(format!("cannot read {}", item.path.display()))
            })?
        };
        count += usize::from(added);
    }
    archive.finish().map_err(cannot_write)?;
    file.as_file().sync_all().map_err(cannot_write)?;
    file.persist(&output)
        .map_err(|error| cannot_write(error.error))?;
    writeln!(
        out,
        "Profile {name} written to {}: {count} files, no keys.",
        output.display()
    )?;
    if !taken_out.is_empty() {
        writeln!(
            out,
            "Taken out of its config.yaml: {}",
            taken_out.join(", ")
        )?;
    }
    Ok(Exit::SUCCESS)
}

fn travels(relative: &str, is_default: bool) -> bool {
    let (top, name) = match relative.rsplit_once('/') {
        Some((directory, name)) => (directory.split('/').next().unwrap_or(""), name),
        None => (relative, relative),
    };
    let is_top = top == relative;
    if SECRET.contains(&name) || NEVER.contains(&name) || is_sidecar(name) {
        return false;
    }
    // Copies that editors and repairs leave of the files above.
    if (name.starts_with(".env.") && name != ".env.EXAMPLE" && name != ".env.template")
        || name.starts_with("config.yaml.")
        || name.starts_with("request_dump_")
    {
        return false;
    }
    if [".sock", ".tmp", ".pyc", ".pid"]
        .iter()
        .any(|end| name.ends_with(end))
        || (name.starts_with('.') && name.contains("ing-") && is_top)
    {
        return false;
    }
    !is_default || !((is_top && DEFAULT_ONLY.contains(&name)) || is_database(name))
}

/// The text of a config file without literal secrets, and where they stood. One that
/// cannot be parsed does not travel: nobody can say what is in it.
fn without_secrets(item: &Item) -> Result<(String, Vec<String>), CommandError> {
    let text = fs::read_to_string(&item.path)?;
    let parse = |text: &str| {
        yaml::parse(text)
            .and_then(|document| document.value())
            .map_err(|_| {
                CommandError::user(format!(
                    "{} cannot be parsed, so nobody can tell whether it holds keys",
                    item.path.display()
                ))
                .hint("`hermes config check` shows the place")
            })
    };
    let mut secrets = Vec::new();
    literal_secrets("", &parse(&text)?, &mut secrets);
    let mut clean = text;
    for (path, secret) in &secrets {
        match edit::unset(&clean, path) {
            Ok(Some(shorter)) => clean = shorter,
            // Inside a list or a flow map: the value goes, its key stays.
            Ok(None) | Err(_) => clean = clean.replace(secret.as_str(), ""),
        }
    }
    let mut left = Vec::new();
    literal_secrets("", &parse(&clean)?, &mut left);
    if let Some((path, _)) = left.first() {
        return Err(CommandError::user(format!(
            "{path} in {} holds a key that cannot be taken out of a copy",
            item.path.display()
        ))
        .hint("move it to `.env` and write `${NAME}` in its place"));
    }
    Ok((clean, secrets.into_iter().map(|(path, _)| path).collect()))
}

/// A template names a variable and is no secret itself.
fn literal_secrets(path: &str, value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                let below = match path {
                    "" => name.clone(),
                    path => format!("{path}.{name}"),
                };
                literal_secrets(&below, value, found);
            }
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                literal_secrets(&format!("{path}.{number}"), item, found);
            }
        }
        Value::String(text)
            if is_secret(path) && !text.trim().is_empty() && !text.contains("${") =>
        {
            found.push((path.to_owned(), text.clone()));
        }
        _ => {}
    }
}
