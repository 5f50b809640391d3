//! What every conversation on the command line does first: says what is odd in
//! the configuration, and tidies up old sessions when it is time.

use hermes_config::{Config, ConfigError, structure_warnings};
use hermes_store::{Retention, remove_session_files};
use hermes_tools::StateHandle;

use crate::{CommandError, Context, Out};

/// Shapes of the configuration that are probably not meant; nothing stops for them.
pub(super) fn tell_oddities(context: &Context, out: &mut Out) -> Result<(), CommandError> {
    for warning in structure_warnings(context.config()?) {
        out.warning(&warning);
    }
    crate::commands::auth::tell_broken(context, out)
}

/// Keys that nothing reads and that look like one that is read. Told before anything
/// runs, because a misspelt `terminal.backend` would run commands on the host.
pub(super) fn tell_near_misses(context: &Context, out: &mut Out) -> Result<(), CommandError> {
    for miss in context.config()?.near_misses().iter().take(MISSES) {
        let line = miss
            .line
            .map_or_else(String::new, |line| format!(" line {line}"));
        out.warning(&format!(
            "config.yaml{line}: nothing reads `{}`; did you mean `{}`?",
            miss.path, miss.meant
        ));
    }
    Ok(())
}

/// More would hide the answer; `hermes config check` shows all.
const MISSES: usize = 3;

/// Removes what `sessions.*` says is too old. Nobody asked for it now, so a failure
/// is for the log only.
pub(super) async fn tidy(context: &Context, state: &StateHandle) -> Result<(), CommandError> {
    let retention = retention(context.config()?)?;
    let removed = state
        .run(move |database| database.upkeep_on_start(&retention))
        .await;
    match removed {
        Ok(removed) => {
            for id in &removed.sessions {
                remove_session_files(&context.home.join("sessions"), id);
            }
            if !removed.sessions.is_empty() {
                tracing::info!(
                    sessions = removed.sessions.len(),
                    "old sessions were removed"
                );
            }
        }
        Err(error) => tracing::warn!(%error, "old sessions were not tidied up"),
    }
    Ok(())
}

fn retention(config: &Config) -> Result<Retention, ConfigError> {
    Ok(Retention {
        auto_prune: config.bool("sessions.auto_prune")?,
        retention_days: config.integer("sessions.retention_days")? as f64,
        min_interval_hours: config.integer("sessions.min_interval_hours")? as f64,
        vacuum_after_prune: config.bool("sessions.vacuum_after_prune")?,
    })
}
