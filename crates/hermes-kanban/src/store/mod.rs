//! Boards at rest: the only place that knows SQL.
//!
//! Everything is asked of a [`Board`] in the words of the model and the state
//! machine; a second implementation for boards that span hosts replaces this
//! module and nothing else. One write is one `IMMEDIATE` transaction that reads
//! the task, lets [`crate::machine::transition`] decide, and writes the row by
//! compare-and-swap with its run and its events; somebody else's program may work
//! on the same file at the same time.

mod apply;
mod attachments;
mod claim;
mod comments;
mod completion;
mod create;
mod cursor;
mod diagnose;
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
mod stats;
mod tick;
mod triage;

pub use claim::ClaimRequest;
pub use completion::CompletionRequest;
pub use cursor::EventFilter;
pub use diagnose::Examined;
pub use gc::Collected;
pub use lifecycle::Remark;
pub use links::Linked;
pub use notify::{Delivery, SubscriptionKey};
pub use open::{Board, Check, OpenOptions};
pub use read::{ListFilter, ListSort, RunFilter, TaskRow, TaskView};
pub use stats::{AssigneeCounts, BoardStats, StatusCounts};
pub use tick::{Deferral, GuardFacts, ReadyTask, RunningTask, TickFacts};
pub use triage::NewChild;
