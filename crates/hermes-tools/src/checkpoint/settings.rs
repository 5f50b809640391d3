//! The typed view of `checkpoints.*`.

use std::time::Duration;

use hermes_config::{Config, ConfigError};

const MEBI: u64 = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointSettings {
    pub enabled: bool,
    /// Snapshots kept per project; at least one.
    pub max_snapshots: usize,
    /// Of the whole store; `None` is no limit.
    pub max_total_bytes: Option<u64>,
    /// Larger files are left out; `None` is no limit.
    pub max_file_bytes: Option<u64>,
    pub auto_prune: bool,
    pub retention: Duration,
    pub delete_orphans: bool,
    pub min_interval: Duration,
}

impl CheckpointSettings {
    pub fn read(config: &Config) -> Result<Self, ConfigError> {
        let number = |key: &str| -> Result<u64, ConfigError> {
            Ok(u64::try_from(config.integer(key)?).unwrap_or(0))
        };
        let mebibytes = |key: &str| -> Result<Option<u64>, ConfigError> {
            Ok(Some(number(key)?.saturating_mul(MEBI)).filter(|bytes| *bytes > 0))
        };
        let snapshots = usize::try_from(number("checkpoints.max_snapshots")?).unwrap_or(usize::MAX);
        Ok(Self {
            enabled: config.bool("checkpoints.enabled")?,
            max_snapshots: snapshots.max(1),
            max_total_bytes: mebibytes("checkpoints.max_total_size_mb")?,
            max_file_bytes: mebibytes("checkpoints.max_file_size_mb")?,
            auto_prune: config.bool("checkpoints.auto_prune")?,
            retention: days(number("checkpoints.retention_days")?),
            delete_orphans: config.bool("checkpoints.delete_orphans")?,
            min_interval: Duration::from_secs(
                number("checkpoints.min_interval_hours")?.saturating_mul(3600),
            ),
        })
    }
}

pub(super) fn days(days: u64) -> Duration {
    Duration::from_secs(days.saturating_mul(86_400))
}
