//! `config.yaml` and `.env`.

use hermes_config::edit::change_dotenv;
use hermes_config::{Config, ConfigError, Source, keys};
use serde_json::Value;

use super::findings::{Findings, State};
use crate::Context;

const VERSION_KEY: &str = "_config_version";

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
        check_values(&config, findings);
    } else {
        findings.good("no config.yaml; defaults apply");
    }
    if home.env_file().is_file() {
        findings.good(".env can be read");
    }
    check_stale_variable(context, &config, findings);
    config
}

fn check_values(config: &Config, findings: &mut Findings) {
    for error in config.misfits() {
        findings.bad(
            error.to_string(),
            "correct the value with `hermes config set`",
        );
    }
    let known = Config::defaults().integer(VERSION_KEY).unwrap_or_default();
    let version = config.raw().get(VERSION_KEY).and_then(Value::as_i64);
    if let Some(version) = version.filter(|version| *version > known) {
        findings.warning(
            format!("config.yaml was written by a newer version (layout {version}, known {known})"),
            "update hermes",
        );
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
