//! `config edit`: the user's own editor on the user's own file.

use std::io::Write;

use hermes_config::Config;
use hermes_home::write_atomic;

use crate::{CommandError, Context, Exit, Out, editor};

pub(super) fn run(context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let file = context.home.config_file();
    if !file.exists() {
        context.policy().refuse_if_managed()?;
        context.ensure_home(out)?;
        write_atomic(&file, b"", context.policy().secret_file()).map_err(|error| {
            CommandError::internal(error).context(format!("cannot create {}", file.display()))
        })?;
    }
    let Some(program) = editor::find(&context.environment) else {
        out.warning("no editor found: set EDITOR, or open the file yourself");
        writeln!(out, "{}", file.display())?;
        return Ok(Exit::SUCCESS);
    };
    if out.is_captured() {
        return Err(CommandError::user("an editor needs a terminal of its own")
            .hint("`hermes config set KEY VALUE` changes one setting"));
    }
    out.finish()?;
    let code = editor::open(&program, &file)?;
    if code != 0 {
        return Err(
            CommandError::user(format!("`{program}` ended with code {code}"))
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
