//! Boards at rest: the only place that knows SQL.
//!
//! Everything is asked of a [`Board`] in the words of the model and the state
//! machine. What it can be asked is [`BoardStore`], in `seam`; the implementation is a
//! SQLite file, and one for boards that span hosts stands beside it. One write is one `IMMEDIATE` transaction that reads
//! the task, lets [`crate::machine::transition`] decide, and writes the row by
//! compare-and-swap with its run and its events; somebody else's program may work
//! on the same file at the same time.

mod apply;
mod attachments;
mod board;
mod claim;
mod comments;
mod completion;
mod create;
mod cursor;
mod diagnose;
mod error;
mod gc;
mod identity;
mod lifecycle;
mod links;
mod notify;
mod open;
mod promote;
mod read;
mod rows;
mod schema;
mod seam;
mod stats;
mod tick;
mod triage;

pub use board::Board;
pub use claim::ClaimRequest;
pub use completion::CompletionRequest;
pub use cursor::EventFilter;
pub use diagnose::Examined;
pub use gc::Collected;
pub use lifecycle::Remark;
pub use links::Linked;
pub use notify::{Delivery, SubscriptionKey};
pub use open::{Check, OpenOptions};
pub use read::{ListFilter, ListSort, RunFilter, TaskRow, TaskView};
pub use seam::*;
pub use stats::{AssigneeCounts, BoardStats, StatusCounts};
pub use tick::{Deferral, GuardFacts, ReadyTask, RunningTask, TickFacts};
pub use triage::NewChild;
