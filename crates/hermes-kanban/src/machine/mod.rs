//! The board's rules, without a board.
//!
//! [`transition`] takes a task as it is, what somebody wants to do with it, and
//! the moment; it gives back the task as it will be, what happens to its run, and
//! the events to write, or says why not. It reads no clock, no database and no
//! process table: what it needs to know about parents or workers is part of the
//! [`Action`]. Storage applies a [`Transition`] in one transaction; tests walk it
//! at random.

mod action;
mod create;
mod failure;
mod lifecycle;
mod release;
mod transition;

pub use action::{
    Action, Claim, Completion, EventRun, Failed, Failure, FailureKind, Fence, Limit, NewEvent,
    Release, RunClose, RunOpen, Transition,
};
pub use create::{
    InitialStatus, InvalidTask, NewTask, create, normalize_assignee, normalize_skills,
};
pub use transition::{Refusal, transition};

/// Consecutive failures before a task is blocked when nothing else is set.
pub const DEFAULT_FAILURE_LIMIT: i64 = 2;
/// How much of an error text a task keeps.
pub const ERROR_CHARS: usize = 500;
/// How much of a summary a `completed` event carries.
pub const EVENT_SUMMARY_CHARS: usize = 400;

/// At most `limit` characters of `text`.
pub(crate) fn clip(text: &str, limit: usize) -> String {
    text.chars().take(limit).collect()
}

/// The first line of `text`, at most `limit` characters of it.
pub(crate) fn first_line(text: &str, limit: usize) -> String {
    clip(text.trim().lines().next().unwrap_or_default(), limit)
}
