//! Figures about the whole file, and keeping it small and searchable.

use rusqlite::Connection;
use serde::Serialize;

use super::StateDb;
use super::schema::{SEARCH_TABLES, rebuild_search};
use crate::StoreError;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stats {
    /// Without archived ones.
    pub sessions: i64,
    pub archived: i64,
    /// Every stored message, those of archived sessions and rewound ones too.
    pub messages: i64,
    /// Sessions per source without archived ones, the largest first.
    pub sources: Vec<SourceCount>,
    pub bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourceCount {
    pub source: String,
    pub sessions: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Optimized {
    pub indexes: usize,
    pub bytes_before: u64,
    pub bytes_after: u64,
}

impl StateDb {
    pub fn stats(&self) -> Result<Stats, StoreError> {
        let bytes = self.database.size()?;
        self.read(|connection| {
            let count = |sql: &str| -> Result<i64, StoreError> {
                Ok(connection.query_row(sql, [], |row| row.get(0))?)
            };
            Ok(Stats {
                sessions: count("SELECT COUNT(*) FROM sessions WHERE archived = 0")?,
                archived: count("SELECT COUNT(*) FROM sessions WHERE archived <> 0")?,
                messages: count("SELECT COUNT(*) FROM messages")?,
                sources: sources(connection)?,
                bytes,
            })
        })
    }

    /// Merges the full-text indexes, gives free pages back and empties the log.
    pub fn optimize(&self) -> Result<Optimized, StoreError> {
        let bytes_before = self.database.size()?;
        self.write(|transaction| {
            for table in SEARCH_TABLES {
                transaction.execute(
                    &format!("INSERT INTO {table}({table}) VALUES('optimize')"),
                    [],
                )?;
            }
            Ok(())
        })?;
        self.outside_transaction("VACUUM")?;
        self.checkpoint()?;
        Ok(Optimized {
            indexes: SEARCH_TABLES.len(),
            bytes_before,
            bytes_after: self.database.size()?,
        })
    }

    /// Moves the log into the file as far as readers allow.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        self.database
            .connection()
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .map_err(|error| self.database.named(error))
    }

    /// Looks whether both full-text indexes agree with themselves.
    pub fn check_search(&self) -> Result<(), StoreError> {
        self.write(|transaction| {
            for table in SEARCH_TABLES {
                transaction.execute(
                    &format!("INSERT INTO {table}({table}) VALUES('integrity-check')"),
                    [],
                )?;
            }
            Ok(())
        })
    }

    /// Fills both full-text indexes anew; the messages are not touched.
    pub fn rebuild_search(&self) -> Result<(), StoreError> {
        self.write(rebuild_search)
    }

    fn outside_transaction(&self, sql: &str) -> Result<(), StoreError> {
        self.database
            .connection()
            .execute_batch(sql)
            .map_err(|error| self.database.named(error))
    }
}

fn sources(connection: &Connection) -> Result<Vec<SourceCount>, StoreError> {
    Ok(connection
        .prepare(
            "SELECT source, COUNT(*) AS n FROM sessions WHERE archived = 0 \
             GROUP BY source ORDER BY n DESC, source",
        )?
        .query_map([], |row| {
            Ok(SourceCount {
                source: row.get(0)?,
                sessions: row.get(1)?,
            })
        })?
        .collect::<rusqlite::Result<_>>()?)
}
