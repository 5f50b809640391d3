//! One conversation with a model: prompt, turns, tools, compression, delegation.
//!
//! A front end sends inputs and reads [`hermes_types::TurnEvent`]s. Nothing here
//! prints, reads the environment or knows who listens.

pub mod demo;
pub mod guardrails;
pub mod repair;
pub mod scrub;
