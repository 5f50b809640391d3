//! The `demo` model: a planner without key or network. It is not a language
//! model and says so. It understands a handful of request shapes, drives the
//! real tools through the real loop, and teaches: every answer says what
//! happened and which command does the same by hand.
//!
//! It keeps no state. What to do next follows from the conversation alone, so a
//! resumed session goes on where it stopped.

mod answer;
mod board;
mod model;
mod notice;
mod request;

pub use model::{DEMO_MODEL, DEMO_PROVIDER, DemoModel};
