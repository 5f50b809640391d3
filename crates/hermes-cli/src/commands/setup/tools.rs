//! Which groups of tools a chat has.

use hermes_tools::toolsets::CONFIGURABLE;
use serde_json::{Value, json};

use crate::commands::tools::checklist;
use crate::{CommandError, Context, Out};

const PLATFORM: &str = "cli";
pub(super) const KEY: &str = "platform_toolsets.cli";

pub(super) fn section(context: &Context, out: &mut Out) -> Result<bool, CommandError> {
    checklist(PLATFORM, context, out)
}

/// The names in a flag; what is unknown is told before anything is written.
pub(super) fn parse(text: &str) -> Result<Value, CommandError> {
    let names: Vec<&str> = text
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect();
    for name in &names {
        if !CONFIGURABLE.iter().any(|entry| entry.name == *name) {
            return Err(CommandError::usage(format!("unknown toolset {name:?}"))
                .hint("`hermes tools list` shows what there is"));
        }
    }
    Ok(json!(names))
}
