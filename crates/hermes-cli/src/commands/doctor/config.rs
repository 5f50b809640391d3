//! `config.yaml` and `.env`.

use hermes_config::edit::{change_config, change_dotenv};
use hermes_config::{Config, ConfigError, Source, keys, migrate, structure_warnings};

use super::findings::{Findings, State};
use crate::Context;

/// A setting of old versions that overrides `agent.max_turns` in the reference.
const STALE_VARIABLE: &str = "HERMES_MAX_ITERATIONS";

/// Returns what can be used of the configuration for the checks that follow.
pub(super) fn check(context: &Context, findings: &mut Findings) -> Config {
    findings.group("Configuration");
    let home = &context.home;
    let config = match context.config() {
        Ok(config) => config.clone(),
        Err(error) => {
            let remedy = match &error {
                ConfigError::Broken { .. } => "`hermes config edit`".to_owned(),
                _ => format!("look at {}", home.display(&home.config_file())),
            };
            findings.bad(error.to_string(), remedy);
            return Config::load_without_file(home, &context.environment, &[])
                .unwrap_or_else(|_| Config::defaults());
        }
    };
    if home.config_file().is_file() {
        findings.good("config.yaml can be read");
        check_values(context, &config, findings);
    } else {
        findings.good("no config.yaml; defaults apply");
    }
    if home.env_file().is_file() {
        findings.good(".env can be read");
    }
    check_stale_variable(context, &config, findings);
    config
}

fn check_values(context: &Context, config: &Config, findings: &mut Findings) {
    for error in config.misfits() {
        findings.bad(
            error.to_string(),
            "correct the value with `hermes config set`",
        );
    }
    let known = migrate::newest();
    let version = migrate::version(config, &context.home);
    if version > known {
        findings.warning(
            format!("config.yaml was written by a newer version (layout {version}, known {known})"),
            "update hermes",
        );
    } else if version < known {
        let migration = migrate::plan(config, &context.home);
        findings.fixable(
            State::Warning,
            format!("config.yaml has the layout of version {version}, the newest is {known}"),
            "`hermes config migrate`",
            || change_config(&context.home, config.environment(), &migration.changes).map(|_| ()),
        );
    }
    for warning in structure_warnings(config) {
        findings.warning(warning, "correct it with `hermes config edit`");
    }
    let unread: Vec<&str> = keys()
        .iter()
        .filter(|key| key.planned && matches!(config.source(key.name), Source::File { .. }))
        .map(|key| key.name)
        .collect();
    if !unread.is_empty() {
        findings.warning(
            format!("nothing reads these keys yet: {}", unread.join(", ")),
            "keep them for later, or take them out with `hermes config unset`",
        );
    }
}

fn check_stale_variable(context: &Context, config: &Config, findings: &mut Findings) {
    let Some(stale) = config.dotenv().variables.get(STALE_VARIABLE) else {
        return;
    };
    let turns = config.integer("agent.max_turns").unwrap_or_default();
    if stale.trim() == turns.to_string() {
        return;
    }
    findings.fixable(
        State::Warning,
        format!("{STALE_VARIABLE}={stale} in .env disagrees with agent.max_turns ({turns})"),
        format!("take {STALE_VARIABLE} out of .env"),
        || {
            change_dotenv(
                &context.home,
                &context.environment,
                &[(STALE_VARIABLE, None)],
            )
            .map(|_| ())
        },
    );
}
