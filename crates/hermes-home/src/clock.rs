//! Time as a value, so that a test can stand at any moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, Local, Utc};

/// The system clock, or one that a test sets.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    #[default]
    System,
    /// Microseconds since the epoch, moved by hand.
    Fixed(Arc<AtomicI64>),
}

impl Clock {
    pub fn fixed(at: DateTime<Utc>) -> Self {
        Clock::Fixed(Arc::new(AtomicI64::new(at.timestamp_micros())))
    }

    pub fn now(&self) -> DateTime<Utc> {
        match self {
            Clock::System => Utc::now(),
            Clock::Fixed(micros) => {
                DateTime::from_timestamp_micros(micros.load(Ordering::SeqCst)).unwrap_or_default()
            }
        }
    }

    pub fn now_local(&self) -> DateTime<Local> {
        self.now().with_timezone(&Local)
    }

    /// Seconds since the epoch with a fraction, as the databases store time.
    pub fn unix_seconds(&self) -> f64 {
        self.now().timestamp_micros() as f64 / 1e6
    }

    /// Moves a fixed clock; the system's cannot be moved.
    pub fn advance(&self, by: chrono::Duration) {
        if let Clock::Fixed(micros) = self {
            micros.fetch_add(by.num_microseconds().unwrap_or(0), Ordering::SeqCst);
        }
    }
}
