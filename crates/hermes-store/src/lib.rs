//! The only opener of SQLite, and the home of `state.db`.
//!
//! [`door`] opens any database file of ours under one set of rules (write-ahead
//! log, guard connection, `BEGIN IMMEDIATE`, nothing overwritten that might be
//! somebody's data) and knows no feature; whoever owns a file keeps its own SQL
//! and calls [`Database::read`] and [`Database::write`].
//!
//! [`StateDb`] is the one owner that lives here: sessions, messages, titles,
//! lineage, counters and full-text search, in the schema that Python Hermes
//! 0.16.0 uses, so that both may work on one file at the same time.

pub mod door;
mod error;
mod search;
mod state;
pub mod tables;

pub use door::{Access, Database, Pragmas, Synchronous};
pub use error::StoreError;
/// Owners write their SQL with the same copy of the library that opened the file.
pub use rusqlite;
pub use search::{ContextLine, SearchHit, SearchOrder, SearchRequest};
pub use state::{
    Deleted, ListFilter, ListOrder, ListedSession, NewMessage, NewSession, Optimized, PRAGMAS,
    Prune, Retention, Salvaged, Session, SessionFigures, SourceCount, StateDb, Stats,
    StoredMessage, UsageUpdate, new_session_id, remove_session_files, salvage_closed,
    sanitize_title,
};
