//! Noticing that the wall clock was set, or that the machine slept: claims and
//! heartbeats are wall-clock times, and right after a jump they say that every worker
//! has been silent for hours.

use std::time::{Duration, Instant};

/// A difference that no slow round explains.
const JUMP: i64 = 60;
/// Active workers are heard of once a minute.
const LENIENCE: Duration = Duration::from_secs(180);

#[derive(Debug, Default)]
pub(super) struct ClockWatch {
    last: Option<(Instant, i64)>,
    lenient_until: Option<Instant>,
}

impl ClockWatch {
    /// By how many seconds the clock moved beside time since the last look, when that
    /// was a jump.
    pub(super) fn look(&mut self, now: i64) -> Option<i64> {
        self.look_at(Instant::now(), now)
    }

    fn look_at(&mut self, instant: Instant, now: i64) -> Option<i64> {
        let (then, wall) = self.last.replace((instant, now))?;
        let passed = i64::try_from(instant.duration_since(then).as_secs()).unwrap_or(i64::MAX);
        let moved = now - wall - passed;
        if moved.abs() < JUMP {
            return None;
        }
        self.lenient_until = Some(instant + LENIENCE);
        Some(moved)
    }

    pub(super) fn is_lenient(&self) -> bool {
        self.lenient_until
            .is_some_and(|until| Instant::now() < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_jump_is_told_and_it_brings_lenience() {
        let mut watch = ClockWatch::default();
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(watch.look_at(start, 1_000), None);
        assert_eq!(watch.look_at(after(100), 1_110), None);
        assert!(!watch.is_lenient());
        assert_eq!(watch.look_at(after(160), 30_000), Some(28_830));
        assert!(watch.is_lenient());
        assert_eq!(watch.look_at(after(161), 1_000), Some(-29_001));
    }
}
