//! Transactions, and waiting for one's turn.

use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rusqlite::{Transaction, TransactionBehavior};

use super::open::Database;
use crate::StoreError;
use crate::error::is_busy;

impl Database {
    /// Runs `work` in one `IMMEDIATE` transaction: it has the only write lock from
    /// its first statement on, so nothing it read can change before it commits.
    /// `Ok` means committed; an error or a panic rolls everything back.
    pub fn write<T, E>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T, E>) -> Result<T, E>
    where
        E: From<StoreError>,
    {
        if self.is_read_only() {
            return Err(E::from(StoreError::ReadOnly {
                file: self.path().to_owned(),
            }));
        }
        let transaction = self.begin(TransactionBehavior::Immediate)?;
        let value = work(&transaction)?;
        transaction
            .commit()
            .map_err(|error| E::from(self.named(error)))?;
        Ok(value)
    }

    /// Runs `work` over one unchanging view of the file.
    pub fn read<T, E>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T, E>) -> Result<T, E>
    where
        E: From<StoreError>,
    {
        let transaction = self.begin(TransactionBehavior::Deferred)?;
        let value = work(&transaction)?;
        transaction
            .commit()
            .map_err(|error| E::from(self.named(error)))?;
        Ok(value)
    }

    fn begin(&self, behavior: TransactionBehavior) -> Result<Transaction<'_>, StoreError> {
        retry(self.patience(), || {
            Transaction::new_unchecked(self.connection(), behavior)
        })
        .map_err(|error| self.named(error))
    }
}

/// Tries again while somebody else is in the way. SQLite waits by itself for
/// plain locks; recovery of a log and a change of journal mode it reports at once.
pub(super) fn retry<T>(
    patience: Duration,
    mut attempt: impl FnMut() -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let started = Instant::now();
    loop {
        match attempt() {
            Err(error) if is_busy(&error) && started.elapsed() < patience => {
                thread::sleep(jitter());
            }
            outcome => return outcome,
        }
    }
}

/// 2 to 18 ms, different in processes that were started together.
fn jitter() -> Duration {
    let nanos = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.subsec_nanos());
    let mixed = (u64::from(nanos) ^ (u64::from(std::process::id()) << 16))
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        >> 32;
    Duration::from_micros(2_000 + mixed % 16_000)
}
