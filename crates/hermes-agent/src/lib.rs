//! hermes-agent
pub mod demo;
