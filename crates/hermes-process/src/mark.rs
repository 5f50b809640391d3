//! A mark that every descendant of a child carries and none can lose by accident.
//!
//! The mark is the hard limit of `RLIMIT_RTTIME`, set between fork and exec to a
//! number that is unique to the tree and, read as microseconds, so large that it
//! limits nothing. Limits are inherited by fork, kept by exec, untouched by
//! `setsid`, `env -i` or a change of parent, and readable in `/proc/<pid>/limits`
//! by anybody. Session and parent links find most of a tree; the mark finds the
//! rest.
//!
//! A hard limit may only be lowered. Marks count down with time, so that a
//! Hermes inside the tree of another one can mark its own trees. Where the limit
//! cannot be set the tree is found by session and parents alone.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Unique to one tree on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Mark(u64);

/// Marks lie below this and above [`Mark::GUARD`].
const CEILING: u64 = 1 << 63;

/// Room below the time for the pid, so that two processes do not meet.
const STEP: u64 = 1 << 10;

impl Mark {
    /// Carried by the guard process and its helpers: they outlive trees in order
    /// to end them, so no tree counts them as members.
    pub(crate) const GUARD: Mark = Mark(1 << 62);

    /// No process can carry this one.
    pub(crate) const NOBODY: Mark = Mark(0);

    pub(crate) fn fresh() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |age| {
                u64::try_from(age.as_nanos()).unwrap_or(u64::MAX / 8)
            });
        let tick = now / STEP;
        let previous = LAST
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |last| {
                Some(tick.max(last + 1))
            })
            .unwrap_or(tick);
        let tick = tick.max(previous + 1);
        let mark = CEILING - tick * STEP + u64::from(std::process::id()) % STEP;
        // An outer Hermes with a clock ahead of ours may have left us less room.
        match getrlimit(Resource::RLIMIT_RTTIME) {
            Ok((_, hard)) if hard <= mark && hard > Self::GUARD.0 + STEP => {
                Mark(hard - 1 - mark % STEP)
            }
            _ => Mark(mark),
        }
    }

    /// Puts the mark on the calling process. Async-signal-safe.
    pub(crate) fn apply(self) -> nix::Result<()> {
        setrlimit(Resource::RLIMIT_RTTIME, self.0, self.0)
    }

    pub fn value(self) -> u64 {
        self.0
    }

    /// A mark read back from a record.
    pub fn from_value(value: u64) -> Self {
        Self(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_count_down_and_stay_above_the_guard() {
        let marks: Vec<Mark> = (0..1000).map(|_| Mark::fresh()).collect();
        for pair in marks.windows(2) {
            assert!(pair[1].0 < pair[0].0, "{pair:?}");
        }
        assert!(marks.iter().all(|mark| mark.0 > Mark::GUARD.0));
    }
}
