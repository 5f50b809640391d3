//! `state_meta`: small values by name, changed atomically across processes.

use rusqlite::{Connection, OptionalExtension, params};

use super::StateDb;
use crate::StoreError;

impl StateDb {
    pub fn meta(&self, key: &str) -> Result<Option<String>, StoreError> {
        self.read(|connection| get(connection, key))
    }

    pub fn set_meta(&self, key: &str, value: &str) -> Result<(), StoreError> {
        self.update_meta(key, |_| Ok(Some(value.to_owned())))
            .map(drop)
    }

    pub fn remove_meta(&self, key: &str) -> Result<(), StoreError> {
        self.update_meta(key, |_| Ok(None)).map(drop)
    }

    /// Adds to a number (0 when absent) and returns the sum. Processes that add at
    /// the same time all count.
    pub fn add_to_meta(&self, key: &str, amount: f64) -> Result<f64, StoreError> {
        let mut sum = amount;
        self.update_meta(key, |value| {
            if let Some(value) = value {
                sum += value
                    .trim()
                    .parse::<f64>()
                    .map_err(|_| StoreError::NotANumber {
                        key: key.to_owned(),
                        value: value.to_owned(),
                    })?;
            }
            Ok(Some(sum.to_string()))
        })?;
        Ok(sum)
    }

    /// Reads, changes and stores one value while nobody else can write; `None`
    /// removes it. Returns what is stored now.
    pub fn update_meta(
        &self,
        key: &str,
        change: impl FnOnce(Option<&str>) -> Result<Option<String>, StoreError>,
    ) -> Result<Option<String>, StoreError> {
        self.write(|transaction| {
            let value = change(get(transaction, key)?.as_deref())?;
            match &value {
                Some(value) => transaction
                    .prepare_cached(
                        "INSERT INTO state_meta (key, value) VALUES (?1, ?2) \
                         ON CONFLICT(key) DO UPDATE SET value = excluded.value",
                    )?
                    .execute(params![key, value])?,
                None => transaction
                    .prepare_cached("DELETE FROM state_meta WHERE key = ?1")?
                    .execute([key])?,
            };
            Ok(value)
        })
    }

    /// All values whose name starts with `prefix`, by name.
    pub fn meta_with_prefix(&self, prefix: &str) -> Result<Vec<(String, String)>, StoreError> {
        let after = format!("{prefix}\u{10FFFF}");
        self.read(|connection| {
            let rows = connection
                .prepare_cached(
                    "SELECT key, COALESCE(value, '') FROM state_meta \
                     WHERE key >= ?1 AND key < ?2 ORDER BY key",
                )?
                .query_map([prefix, &after], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<rusqlite::Result<_>>()?;
            Ok(rows)
        })
    }
}

fn get(connection: &Connection, key: &str) -> Result<Option<String>, StoreError> {
    Ok(connection
        .prepare_cached("SELECT value FROM state_meta WHERE key = ?1")?
        .query_row([key], |row| row.get::<_, Option<String>>(0))
        .optional()?
        .flatten())
}
