//! The user's own editor on a file.

use std::path::Path;

use hermes_home::Environment;
use hermes_process::{Command, Grouping, Input, Output, OwnerDeath, spawn};

use crate::CommandError;

const EDITORS: &[&str] = &["nano", "vim", "vi", "code"];

/// `$EDITOR`, else `$VISUAL`, else the first one that is installed.
pub(crate) fn find(environment: &Environment) -> Option<String> {
    let named = ["EDITOR", "VISUAL"]
        .iter()
        .find_map(|name| environment.get_non_empty(name));
    if let Some(editor) = named {
        return Some(editor.to_owned());
    }
    let path = environment.get("PATH")?;
    EDITORS
        .iter()
        .find(|name| std::env::split_paths(path).any(|directory| directory.join(name).is_file()))
        .map(|name| (*name).to_owned())
}

/// Runs it to its end and returns its exit code. The shell splits `code --wait`
/// and the like into words, as git does.
pub(crate) fn open(editor: &str, file: &Path) -> Result<i32, CommandError> {
    let command = Command::new("/bin/sh")
        .arg("-c")
        .arg(format!("exec {editor} \"$1\""))
        .arg("sh")
        .arg(file)
        .stdin(Input::Inherit)
        .stdout(Output::Inherit)
        .stderr(Output::Inherit)
        .grouping(Grouping::Inherit)
        .owner_death(OwnerDeath::LeaveRunning);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let child = spawn(command).await.map_err(CommandError::internal)?;
        Ok(child.wait().await?.shell_code())
    })
}
