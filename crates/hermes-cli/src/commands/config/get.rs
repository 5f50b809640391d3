//! `config get`: one value, for people and scripts.

use std::io::Write;

use hermes_config::keys::{Known, lookup, suggestion};
use hermes_config::variables::is_known;
use hermes_config::{as_text, is_secret, masked};
use serde_json::{Value, json};

use crate::{CommandError, Context, Exit, Out};

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Dotted key, a section, or the name of a variable
    key: String,
    /// Print the value as JSON
    #[arg(long)]
    json: bool,
    /// Also print where the value comes from
    #[arg(long)]
    source: bool,
    /// Print a secret as it is
    #[arg(long)]
    reveal: bool,
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let config = context.config_or_defaults(out)?;
    let key = args.key.as_str();
    let variable = !key.contains('.')
        && (is_known(key) || hermes_config::assign::variable_name(key).is_some());
    let (value, source) = match config.get(key) {
        Some(value) => (value.clone(), config.source(key).to_string()),
        None if variable => {
            let name = key.to_ascii_uppercase();
            let Some(text) = config.environment().get(&name) else {
                return Err(CommandError::user(format!("`{name}` is not set")));
            };
            let from = match config.dotenv().variables.get(&name) {
                Some(_) => ".env",
                None => "environment",
            };
            (Value::from(text), from.to_owned())
        }
        None => match lookup(key) {
            Known::Unknown => {
                let error = CommandError::user(format!("there is no key `{key}`"));
                return Err(match suggestion(key) {
                    Some(name) => error.hint(format!("did you mean `{name}`?")),
                    None => error.hint("`hermes config show --sources --all` lists all keys"),
                });
            }
            // Known, and null or absent: an answer, not an error.
            _ => (Value::Null, config.source(key).to_string()),
        },
    };
    let path = if variable {
        key.to_ascii_lowercase()
    } else {
        key.to_owned()
    };
    let value = if args.reveal {
        value
    } else {
        masked(&path, &value)
    };
    if args.json {
        if args.source {
            out.json(&json!({ "key": key, "value": value, "source": source }))?;
        } else {
            out.json(&value)?;
        }
        return Ok(Exit::SUCCESS);
    }
    let text = match &value {
        Value::Object(_) | Value::Array(_) => format!("{value:#}"),
        other => as_text(other),
    };
    if args.source {
        writeln!(out, "{text}  ({source})")?;
    } else {
        writeln!(out, "{text}")?;
    }
    if is_secret(&path) && !args.reveal && out.is_terminal() {
        out.stderr_line("masked; `--reveal` prints it");
    }
    Ok(Exit::SUCCESS)
}
