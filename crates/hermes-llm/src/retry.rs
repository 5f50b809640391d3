//! How often and how long: the numbers of the retry ladder as a value, so that
//! tests need not wait.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use crate::model::{ErrorClass, ModelError};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryPolicy {
    /// Requests in all (`agent.api_max_retries`).
    pub attempts: u32,
    /// Connections more per attempt when one breaks (`HERMES_STREAM_RETRIES`).
    pub reconnects: u32,
    pub backoff: Backoff,
    /// After an answer without any content.
    pub invalid_backoff: Backoff,
    /// A provider that asks for a longer wait is asked again after this.
    pub longest_wait: Duration,
    /// Before the one more attempt that a broken connection gets at the end.
    pub last_try_after: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 3,
            reconnects: 2,
            backoff: Backoff {
                first: Duration::from_secs(2),
                longest: Duration::from_secs(60),
                jitter: Jitter::Random,
            },
            invalid_backoff: Backoff {
                first: Duration::from_secs(5),
                longest: Duration::from_secs(120),
                jitter: Jitter::Random,
            },
            longest_wait: Duration::from_secs(120),
            last_try_after: Duration::from_secs(3),
        }
    }
}

impl RetryPolicy {
    /// The same ladder without waiting, for tests.
    pub fn immediate() -> Self {
        let none = Backoff {
            first: Duration::ZERO,
            longest: Duration::ZERO,
            jitter: Jitter::Fixed(0.0),
        };
        Self {
            backoff: none,
            invalid_backoff: none,
            longest_wait: Duration::ZERO,
            last_try_after: Duration::ZERO,
            ..Self::default()
        }
    }

    /// How long to wait after the `n`th failure, counted from 1. A long wait that
    /// only the message speaks of ("in 5 minutes") is for people to decide about.
    pub fn wait(&self, error: &ModelError, n: u32) -> Duration {
        let asked = error
            .retry_after
            .filter(|wait| !error.wait_in_words || *wait <= self.backoff.longest);
        match (error.class, asked) {
            (ErrorClass::RateLimited | ErrorClass::Overloaded, Some(asked)) => {
                asked.min(self.longest_wait)
            }
            (ErrorClass::Invalid, _) => self.invalid_backoff.wait(n),
            _ => self.backoff.wait(n),
        }
    }
}

/// Doubling waits with up to half of them added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    pub first: Duration,
    pub longest: Duration,
    pub jitter: Jitter,
}

impl Backoff {
    pub fn wait(&self, n: u32) -> Duration {
        let doubled = self
            .first
            .saturating_mul(1 << (n.saturating_sub(1)).min(20));
        let wait = doubled.min(self.longest);
        wait + wait.mul_f64(0.5 * self.jitter.share())
    }
}

/// Processes that failed together must not come back together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Jitter {
    Random,
    /// A share between 0 and 1, for tests.
    Fixed(f64),
}

impl Jitter {
    fn share(self) -> f64 {
        match self {
            Self::Fixed(share) => share,
            // Every RandomState has its own random keys.
            Self::Random => {
                let bits = RandomState::new().build_hasher().finish();
                (bits >> 11) as f64 / (1u64 << 53) as f64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_limit_and_jitter_adds_at_most_half() {
        let mut backoff = RetryPolicy::default().backoff;
        backoff.jitter = Jitter::Fixed(0.0);
        let seconds: Vec<u64> = (1..8).map(|n| backoff.wait(n).as_secs()).collect();
        assert_eq!(seconds, [2, 4, 8, 16, 32, 60, 60]);
        backoff.jitter = Jitter::Fixed(1.0);
        assert_eq!(backoff.wait(1), Duration::from_secs(3));
        backoff.jitter = Jitter::Random;
        let waits: Vec<Duration> = (0..20).map(|_| backoff.wait(1)).collect();
        assert!(waits.iter().all(|w| (2.0..3.0).contains(&w.as_secs_f64())));
        assert!(waits.iter().any(|w| *w != waits[0]));
        assert!(backoff.wait(u32::MAX) <= Duration::from_secs(90));
    }

    #[test]
    fn the_wait_a_provider_asks_for_is_capped() {
        let policy = RetryPolicy::default();
        let mut error = ModelError::new(ErrorClass::RateLimited, "");
        error.retry_after = Some(Duration::from_secs(1));
        assert_eq!(policy.wait(&error, 3), Duration::from_secs(1));
        error.retry_after = Some(Duration::from_secs(3600));
        assert_eq!(policy.wait(&error, 1), Duration::from_secs(120));
        // In words only: short ones are kept, long ones are not sat out.
        error.wait_in_words = true;
        assert!(policy.wait(&error, 1) <= Duration::from_secs(3));
        error.retry_after = Some(Duration::from_secs(20));
        assert_eq!(policy.wait(&error, 1), Duration::from_secs(20));
    }
}
