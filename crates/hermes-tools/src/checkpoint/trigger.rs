//! Which directories a call is about to change.

use std::path::{Path, PathBuf};

use hermes_sandbox::{Sandbox, SandboxPath};
use serde_json::Value;

use crate::approval::touches;
use crate::patch;

/// Projects that one call may have looked after; further ones are left out.
const MOST: usize = 4;

/// What is about to happen, for the snapshot's message.
pub(super) struct Change {
    pub(super) directories: Vec<PathBuf>,
    pub(super) reason: String,
}

/// `None` when the call changes nothing that is known beforehand.
pub(super) fn change(
    tool: &str,
    arguments: &Value,
    task: &str,
    sandbox: &Sandbox,
    user_home: &Path,
) -> Option<Change> {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    let home = user_home.to_str();
    let path = |path: &str| sandbox.resolve(task, path, home);
    let (files, reason): (Vec<SandboxPath>, String) = match tool {
        "write_file" => (
            text("path").and_then(path).into_iter().collect(),
            before(tool),
        ),
        "patch" => {
            let mut files: Vec<SandboxPath> = text("path").and_then(path).into_iter().collect();
            if let Some(Ok(operations)) = text("patch").map(patch::parse) {
                let named = operations.iter().flat_map(|operation| operation.paths());
                files.extend(named.filter_map(path));
            }
            (files, before(tool))
        }
        "terminal" => return terminal(text("command")?, text("workdir"), task, sandbox, home),
        _ => return None,
    };
    let directories = files
        .iter()
        .filter_map(|file| file.parent())
        .map(|parent| PathBuf::from(parent.as_str()));
    some(directories.collect(), reason)
}

fn terminal(
    command: &str,
    workdir: Option<&str>,
    task: &str,
    sandbox: &Sandbox,
    home: Option<&str>,
) -> Option<Change> {
    let touched = touches(command)?;
    let mut cwd = sandbox.resolve(task, workdir.unwrap_or("."), home)?;
    let mut directories = vec![PathBuf::from(cwd.as_str())];
    for step in &touched.directories {
        let next = match step.starts_with('~') {
            true => sandbox.resolve(task, step, home)?,
            false => cwd.join(step),
        };
        directories.push(PathBuf::from(next.as_str()));
        cwd = next;
    }
    for named in touched.paths.iter().filter(|path| path.contains('/')) {
        let path = match named.starts_with('~') {
            true => sandbox.resolve(task, named, home),
            false => Some(cwd.join(named)),
        };
        let parent = path.and_then(|path| path.parent());
        directories.extend(parent.map(|parent| PathBuf::from(parent.as_str())));
    }
    let shown: String = command
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(60)
        .collect();
    some(directories, format!("before terminal: {shown}"))
}

fn before(tool: &str) -> String {
    format!("before {tool}")
}

fn some(mut directories: Vec<PathBuf>, reason: String) -> Option<Change> {
    directories.dedup();
    directories.truncate(MOST);
    (!directories.is_empty()).then_some(Change {
        directories,
        reason,
    })
}
