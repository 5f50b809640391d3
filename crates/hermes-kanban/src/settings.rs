//! The `kanban` section of the configuration and the variables beside it, read
//! once per command and once per tick. A value that does not fit falls back to its
//! default and is reported, never a reason to stop dispatching.

use std::time::Duration;

use hermes_config::Config;
use hermes_home::Environment;
use serde_json::Value;

use crate::diagnostics::Thresholds;
use crate::env;
use crate::machine::DEFAULT_FAILURE_LIMIT;

#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub failure_limit: i64,
    /// Somebody set it; otherwise it is the built-in number.
    pub failure_limit_is_set: bool,
    pub dispatch_in_gateway: bool,
    pub interval: Duration,
    pub log_rotate_bytes: u64,
    pub log_backups: usize,
    pub orchestrator_profile: Option<String>,
    pub default_assignee: Option<String>,
    pub max_in_progress_per_profile: Option<usize>,
    pub max_in_progress: Option<usize>,
    pub max_spawn: Option<usize>,
    pub auto_promote_children: bool,
    /// Seconds without a heartbeat; `None` never.
    pub stale_timeout: Option<i64>,
    pub diagnostics: Thresholds,
    pub claim_ttl: i64,
    pub crash_grace: i64,
    pub rate_limit_cooldown: i64,
    pub busy_timeout: Duration,
    /// What did not fit, one sentence each.
    pub complaints: Vec<String>,
}

/// Heartbeats older than this say that a worker hangs.
pub(crate) const HEARTBEAT_STALE_SECONDS: i64 = 3600;

const DEFAULT_INTERVAL: f64 = 60.0;
const DEFAULT_ROTATE_BYTES: i64 = 2_097_152;
const DEFAULT_STALE_SECONDS: i64 = 14_400;
const DEFAULT_CLAIM_TTL: i64 = 900;
const DEFAULT_CRASH_GRACE: i64 = 30;
const DEFAULT_COOLDOWN: i64 = 300;
const DEFAULT_BUSY_MS: i64 = 120_000;

impl Settings {
    pub fn read(config: &Config, environment: &Environment) -> Self {
        let mut complaints = Vec::new();
        let mut at_least = |key: &str, minimum: i64, default: i64| -> i64 {
            let Some(value) = config.get(key) else {
                return default;
            };
            match integer(value).filter(|n| *n >= minimum) {
                Some(number) => number,
                None => {
                    complaints.push(format!("{key}: {value} is not usable, using {default}"));
                    default
                }
            }
        };
        let failure_limit = at_least("kanban.failure_limit", 1, DEFAULT_FAILURE_LIMIT);
        let rotate = at_least("kanban.worker_log_rotate_bytes", 1, DEFAULT_ROTATE_BYTES);
        let backups = at_least("kanban.worker_log_backup_count", 0, 1);
        let interval = match config.get("kanban.dispatch_interval_seconds").map(number) {
            None => DEFAULT_INTERVAL,
            Some(Some(seconds)) if seconds.is_finite() => seconds.max(1.0),
            Some(_) => {
                complaints.push(format!(
                    "kanban.dispatch_interval_seconds is not a number, using {DEFAULT_INTERVAL}"
                ));
                DEFAULT_INTERVAL
            }
        };
        // A cap that makes no sense is no cap; a board must not stand still for it.
        let mut cap = |key: &str| -> Option<usize> {
            let value = config.get(key)?;
            let cap = integer(value)
                .filter(|n| *n >= 1)
                .and_then(|n| usize::try_from(n).ok());
            if cap.is_none() {
                complaints.push(format!(
                    "{key}: {value} is not a number from 1 up, so no cap"
                ));
            }
            cap
        };
        let max_in_progress_per_profile = cap("kanban.max_in_progress_per_profile");
        let max_in_progress = cap("kanban.max_in_progress");
        let max_spawn = cap("kanban.max_spawn");
        let stale_timeout = match config.get("kanban.dispatch_stale_timeout_seconds") {
            None => Some(DEFAULT_STALE_SECONDS),
            Some(value) => integer(value).filter(|n| *n > 0),
        };
        let seconds = |name: &str, minimum: i64, default: i64| {
            environment
                .get_non_empty(name)
                .and_then(|text| text.parse::<i64>().ok())
                .filter(|n| *n >= minimum)
                .unwrap_or(default)
        };
        let busy = seconds(env::BUSY_TIMEOUT, 1, DEFAULT_BUSY_MS);
        let switched_off = environment
            .get_non_empty(env::DISPATCH_IN_GATEWAY)
            .is_some_and(|text| {
                ["0", "false", "no", "off"]
                    .iter()
                    .any(|no| text.eq_ignore_ascii_case(no))
            });
        Self {
            failure_limit,
            failure_limit_is_set: config.is_set("kanban.failure_limit"),
            dispatch_in_gateway: flag(config, "kanban.dispatch_in_gateway", true) && !switched_off,
            interval: Duration::from_secs_f64(interval.min(86_400.0)),
            log_rotate_bytes: u64::try_from(rotate).unwrap_or(0),
            log_backups: usize::try_from(backups).unwrap_or(1),
            orchestrator_profile: name(config, "kanban.orchestrator_profile"),
            default_assignee: name(config, "kanban.default_assignee"),
            max_in_progress_per_profile,
            max_in_progress,
            max_spawn,
            auto_promote_children: flag(config, "kanban.auto_promote_children", true),
            stale_timeout,
            diagnostics: Thresholds::read(&config.section("kanban.diagnostics"), failure_limit),
            claim_ttl: seconds(env::CLAIM_TTL, 1, DEFAULT_CLAIM_TTL),
            crash_grace: seconds(env::CRASH_GRACE, 0, DEFAULT_CRASH_GRACE),
            rate_limit_cooldown: seconds(env::RATE_LIMIT_COOLDOWN, 0, DEFAULT_COOLDOWN),
            busy_timeout: Duration::from_millis(u64::try_from(busy).unwrap_or(120_000)),
            complaints,
        }
    }
}

fn flag(config: &Config, key: &str, default: bool) -> bool {
    match config.get(key) {
        Some(Value::Bool(value)) => *value,
        Some(Value::String(text)) => !["0", "false", "no", "off"]
            .iter()
            .any(|no| text.trim().eq_ignore_ascii_case(no)),
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        _ => default,
    }
}

/// Blank is unset; profiles are lower case.
fn name(config: &Config, key: &str) -> Option<String> {
    let text = config.get(key)?.as_str()?.trim().to_lowercase();
    (!text.is_empty()).then_some(text)
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// Whole numbers only; `true` is not one.
pub(crate) fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| {
            number
                .as_f64()
                .filter(|f| f.fract() == 0.0)
                .map(|f| f as i64)
        }),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(yaml: &str) -> Settings {
        Settings::read(&Config::from_yaml(yaml).unwrap(), &Environment::default())
    }

    #[test]
    fn caps_that_make_no_sense_are_no_caps() {
        for value in ["0", "-1", "many", "null", "1.5"] {
            let settings = read(&format!(
                "kanban:\n  max_in_progress_per_profile: {value}\n"
            ));
            assert_eq!(settings.max_in_progress_per_profile, None, "{value}");
        }
        let settings = read("kanban:\n  max_in_progress_per_profile: 2\n  max_spawn: \"3\"\n");
        assert_eq!(settings.max_in_progress_per_profile, Some(2));
        assert_eq!(settings.max_spawn, Some(3));
        assert!(settings.complaints.is_empty());
    }

    #[test]
    fn a_blank_default_assignee_is_none() {
        assert_eq!(
            read("kanban:\n  default_assignee: \"   \"\n").default_assignee,
            None
        );
        let settings = read("kanban:\n  default_assignee: ' Builder '\n");
        assert_eq!(settings.default_assignee.as_deref(), Some("builder"));
    }

    #[test]
    fn numbers_out_of_range_fall_back_and_are_reported() {
        let settings = read("kanban:\n  failure_limit: 0\n  dispatch_interval_seconds: soon\n");
        assert_eq!(settings.failure_limit, 2);
        assert_eq!(settings.interval, Duration::from_secs(60));
        assert_eq!(settings.complaints.len(), 2);
        assert_eq!(
            read("kanban:\n  dispatch_stale_timeout_seconds: 0\n").stale_timeout,
            None
        );
    }

    #[test]
    fn variables_of_workers_and_claims_are_read() {
        let mut environment = Environment::default();
        environment.set(env::CLAIM_TTL, "5");
        environment.set(env::CRASH_GRACE, "0");
        environment.set(env::RATE_LIMIT_COOLDOWN, "never");
        let settings = Settings::read(&Config::defaults(), &environment);
        assert_eq!(settings.claim_ttl, 5);
        assert_eq!(settings.crash_grace, 0);
        assert_eq!(settings.rate_limit_cooldown, 300);
    }
}
