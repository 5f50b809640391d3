//! One conversation with a model: prompt, turns, tools, compression, delegation.
//!
//! A front end sends inputs and reads [`hermes_types::TurnEvent`]s. Nothing here
//! prints, reads the environment or knows who listens.

mod agent;
pub mod build;
pub mod compress;
mod control;
mod conversation;
mod delegate;
pub mod demo;
pub mod goal;
pub mod guardrails;
mod history;
mod hold;
mod paid;
mod personality;
mod picture;
pub mod prompt;
pub mod repair;
pub mod scrub;
mod session;
mod setup;
mod side_task;
pub mod slash;
mod snapshot;
pub mod spend;
mod title;
mod turn;
mod view;

pub use agent::Agent;
pub use compress::CompressWish;
pub use control::{Control, EVENT_QUEUE, Events};
pub use conversation::{Conversation, SendError};
pub use delegate::{DelegateTool, DelegationLimits};
pub use personality::{Personality, personalities, personality};
pub use picture::{picture, with_picture};
pub use session::Resumed;
pub use setup::{Options, Setup, Tally};
pub use side_task::SideTask;
