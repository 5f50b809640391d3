//! Talking to models: one neutral request, one stream of deltas, any provider.
//!
//! A wire format is one module with a pure `encode` and a pure `decode`; what a
//! provider does differently is data in the catalogue. This crate knows nothing
//! of what tools mean.

mod model;

pub use model::{
    Delta, DeltaStream, Effort, ErrorClass, FinishReason, Model, ModelError, Request, RequestLimits,
};
