//! `config migrate`: the newest layout, and only the lines that it needs.

use std::io::Write;

use hermes_config::edit::change_config;
use hermes_config::migrate::plan;

use crate::{CommandError, Context, Exit, Out};

pub(super) fn run(context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    context.policy().refuse_if_managed()?;
    let config = context.config()?;
    let migration = plan(config, &context.home);
    if migration.changes.is_empty() {
        writeln!(
            out,
            "✓ Configuration is up to date (version {})",
            migration.from
        )?;
        return Ok(Exit::SUCCESS);
    }
    change_config(&context.home, config.environment(), &migration.changes)?;
    context.ensure_home(out)?;
    writeln!(
        out,
        "✓ Configuration moved from version {} to {}",
        migration.from, migration.to
    )?;
    for step in &migration.steps {
        writeln!(out, "  {step}")?;
    }
    for note in &migration.notes {
        out.warning(note);
    }
    Ok(Exit::SUCCESS)
}
