//! When a rule fires; `kanban.diagnostics` overrides each number.

use serde_json::Value;

use crate::settings::integer;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thresholds {
    pub failures: i64,
    pub failure_limit: i64,
    pub crashes: i64,
    pub blocked_hours: i64,
    pub block_cycles: i64,
    pub block_cycle_window: i64,
    pub stranded_seconds: i64,
}

impl Thresholds {
    pub fn read(section: &Value, failure_limit: i64) -> Self {
        let at_least_one = |key: &str| {
            section
                .get(key)
                .and_then(integer)
                .filter(|number| *number >= 1)
        };
        let failure_limit = at_least_one("failure_limit").unwrap_or(failure_limit);
        Self {
            failures: at_least_one("failure_threshold")
                .or_else(|| at_least_one("spawn_failure_threshold"))
                .unwrap_or(failure_limit),
            failure_limit,
            crashes: at_least_one("crash_threshold").unwrap_or(2),
            blocked_hours: at_least_one("blocked_stale_hours").unwrap_or(24),
            block_cycles: at_least_one("block_cycle_threshold").unwrap_or(3),
            block_cycle_window: at_least_one("block_cycle_window_seconds").unwrap_or(86_400),
            stranded_seconds: at_least_one("stranded_threshold_seconds").unwrap_or(1800),
        }
    }
}
