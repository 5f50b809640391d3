//! `config set` and `config unset`.

use std::io::Write;

use hermes_config::assign::{Assignment, Remark, assign, variable_name};
use hermes_config::edit::{Applied, Change, change_config, change_dotenv};
use hermes_config::keys::key;
use hermes_config::{as_text, is_secret, mask};

use crate::{CommandError, Context, Exit, Out};

/// How much `set` says about what it does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    pub(super) quiet: bool,
    /// The key is meant, whether something reads it or not.
    pub(super) force: bool,
}

pub(super) fn set(
    name: &str,
    text: &str,
    manner: Manner,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    context.policy().refuse_if_managed()?;
    let config = context.config()?;
    match assign(config, name, text)? {
        Assignment::Variable {
            name,
            value,
            cleaned,
        } => {
            if cleaned {
                out.warning(&format!(
                    "`{name}` held characters outside ASCII, which were dropped; check the pasted key"
                ));
            }
            let variables = [(name.as_str(), Some(value.as_str()))];
            change_dotenv(&context.home, &context.environment, &variables)?;
            if !manner.quiet {
                writeln!(out, "✓ Set {name} in {}", context.home.env_file().display())?;
            }
        }
        Assignment::Key {
            path,
            value,
            mirror,
            remarks,
        } => {
            let change = Change::Set {
                path: path.clone(),
                value: value.clone(),
            };
            change_config(&context.home, config.environment(), &[change])?;
            if let Some((variable, text)) = &mirror {
                let variables = [(*variable, Some(text.as_str()))];
                change_dotenv(&context.home, &context.environment, &variables)?;
            }
            let shown = if is_secret(&path) {
                mask(text)
            } else {
                match &value {
                    serde_json::Value::Null => "null".to_owned(),
                    other => as_text(other),
                }
            };
            let file = context.home.config_file();
            if !manner.quiet {
                writeln!(out, "✓ Set {path} = {shown} in {}", file.display())?;
            }
            for remark in remarks {
                let silent = match remark {
                    Remark::ModelDefault => manner.quiet,
                    _ => manner.force,
                };
                if !silent {
                    say(remark, &path, out)?;
                }
            }
        }
    }
    Ok(Exit::SUCCESS)
}

fn say(remark: Remark, path: &str, out: &mut Out) -> Result<(), CommandError> {
    match remark {
        Remark::ModelDefault => {
            writeln!(
                out,
                "  `model` is a map in the file, so its `default` was set and the rest kept"
            )?;
        }
        Remark::Unknown { suggestion } => {
            let meant = suggestion
                .map(|name| format!("; did you mean `{name}`?"))
                .unwrap_or_default();
            out.warning(&format!("nothing reads `{path}`{meant}"));
        }
        Remark::Planned => out.warning(&format!(
            "`{path}` is a known key, but nothing in this version reads it yet"
        )),
        Remark::Inert => {
            let about = key(path).map_or("it has no effect", |key| key.about);
            out.warning(&format!("`{path}`: {about}"));
        }
    }
    Ok(())
}

pub(super) fn unset(name: &str, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    context.policy().refuse_if_managed()?;
    let config = context.config()?;
    if let Some(variable) = variable_name(name) {
        let changes = [(variable.as_str(), None)];
        let applied = change_dotenv(&context.home, &context.environment, &changes)?;
        return removed(applied, &variable, &context.home.env_file(), out);
    }
    let change = Change::Unset {
        path: name.to_owned(),
    };
    let applied = change_config(&context.home, config.environment(), &[change])?;
    // The variable that `set` wrote beside it would otherwise go on holding the value.
    let mirrored = key(name)
        .filter(|key| key.mirrored)
        .and_then(|key| key.env)
        .filter(|variable| config.dotenv().variables.get(variable).is_some());
    if let Some(variable) = mirrored {
        change_dotenv(&context.home, &context.environment, &[(variable, None)])?;
        writeln!(
            out,
            "✓ Removed {variable} from {}",
            context.home.env_file().display()
        )?;
        if applied == Applied::Unchanged {
            return Ok(Exit::SUCCESS);
        }
    }
    removed(applied, name, &context.home.config_file(), out)
}

fn removed(
    applied: Applied,
    name: &str,
    file: &std::path::Path,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    if applied == Applied::Unchanged {
        return Err(
            CommandError::user(format!("`{name}` is not set in {}", file.display()))
                .hint("`hermes config show --sources` lists what is set and where"),
        );
    }
    writeln!(out, "✓ Removed {name} from {}", file.display())?;
    Ok(Exit::SUCCESS)
}
