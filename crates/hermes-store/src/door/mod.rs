//! The one door to SQLite.
//!
//! Promises, for every file opened here:
//! - write-ahead log that outlives its connections (`SQLITE_FCNTL_PERSIST_WAL`),
//!   so that closing never unlinks a log under a peer;
//! - one guard connection per file for the life of the process: nobody's close
//!   is ever the last one while we live;
//! - the file is never opened, read or closed beside SQLite once a connection
//!   exists. Closing any descriptor of a file drops all POSIX locks this process
//!   holds on it, and that is how acknowledged rows get lost;
//! - transactions that write start `IMMEDIATE` and wait for their turn;
//! - a zero-byte file is a new database; anything else that is not a database
//!   is refused and left untouched.
//!
//! The door knows no table. Clippy refuses `Connection::open` elsewhere.

mod guard;
mod open;
mod repair;
mod transaction;

pub use guard::release;
pub use open::{Access, Database, Pragmas, Synchronous};
pub use repair::{Damaged, Repaired, repair};
