//! `rate_limits/nous.json`: the portal said that it will not answer for a while.
//! All processes of a home leave it alone until then, whichever of them was told.

use std::path::PathBuf;
use std::time::Duration;

use hermes_home::{Clock, FileMode, Home, write_atomic};
use serde_json::{Value, json};

/// Waits up to this are waited for; longer ones are written down.
const WORTH_WAITING: Duration = Duration::from_secs(120);

#[derive(Clone, Debug)]
pub struct RateGuard {
    path: PathBuf,
    clock: Clock,
}

impl RateGuard {
    pub fn of(home: &Home, clock: Clock) -> Self {
        Self {
            path: home.join("rate_limits").join("nous.json"),
            clock,
        }
    }

    /// How long it is still to be left alone. A file that cannot be read says nothing.
    pub(crate) fn rests_for(&self) -> Option<Duration> {
        let text = std::fs::read_to_string(&self.path).ok()?;
        let value: Value = serde_json::from_str(&text).ok()?;
        let left = value.get("reset_at")?.as_f64()? - self.clock.unix_seconds();
        Duration::try_from_secs_f64(left)
            .ok()
            .filter(|left| !left.is_zero())
    }

    /// Writes down a wait that nobody should sit out; `true` when it was one.
    pub(crate) fn note(&self, wait: Duration) -> bool {
        if wait <= WORTH_WAITING {
            return false;
        }
        let now = self.clock.unix_seconds();
        let seconds = wait.as_secs_f64();
        let text = json!({
            "reset_at": now + seconds, "recorded_at": now, "reset_seconds": seconds,
        })
        .to_string();
        let written = self
            .path
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .map_err(|error| error.to_string())
            .and_then(|()| {
                write_atomic(&self.path, text.as_bytes(), FileMode::KeepOrPrivate)
                    .map_err(|error| error.to_string())
            });
        if let Err(error) = written {
            // The other processes will be told by the portal themselves.
            tracing::debug!(error, "a rate limit could not be written down");
        }
        true
    }
}
