//! `config edit`: the user's own editor on the user's own file.

use std::io::Write;
use std::path::Path;

use hermes_config::Config;
use hermes_home::{Environment, write_atomic};
use hermes_process::{Command, Grouping, Input, Output, OwnerDeath, spawn};

use crate::{CommandError, Context, Exit, Out};

const EDITORS: &[&str] = &["nano", "vim", "vi", "code"];

pub(super) fn run(context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let file = context.home.config_file();
    if !file.exists() {
        context.policy().refuse_if_managed()?;
        context.ensure_home(out)?;
        write_atomic(&file, b"", context.policy().secret_file()).map_err(|error| {
            CommandError::internal(error).context(format!("cannot create {}", file.display()))
        })?;
    }
    let Some(editor) = editor(&context.environment) else {
        out.warning("no editor found: set EDITOR, or open the file yourself");
        writeln!(out, "{}", file.display())?;
        return Ok(Exit::SUCCESS);
    };
    out.finish()?;
    let code = open(&editor, &file)?;
    if code != 0 {
        return Err(
            CommandError::user(format!("`{editor}` ended with code {code}"))
                .hint("`EDITOR` names the editor to use"),
        );
    }
    match Config::load(&context.home, &context.environment, &context.overrides) {
        Ok(config) => {
            for misfit in config.misfits() {
                out.warning(&misfit.to_string());
            }
            for (path, suggestion) in config.unknown_keys() {
                let meant = suggestion
                    .map(|name| format!("; did you mean `{name}`?"))
                    .unwrap_or_default();
                out.warning(&format!("nothing reads `{path}`{meant}"));
            }
        }
        // The file is the user's, also half done.
        Err(error) => out.warning(&format!(
            "{error}; commands will refuse to run until this is mended"
        )),
    }
    Ok(Exit::SUCCESS)
}

/// `$EDITOR`, else `$VISUAL`, else the first one that is installed.
fn editor(environment: &Environment) -> Option<String> {
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

/// The shell splits `code --wait` and the like into words, as git does.
fn open(editor: &str, file: &Path) -> Result<i32, CommandError> {
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
