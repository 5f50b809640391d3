//! Talking to models: one neutral request, one stream of deltas, any provider.
//!
//! A wire format is one module with a pure `encode` and a pure `decode`; what a
//! provider does differently is data in the catalogue. This crate knows nothing
//! of what tools mean.

mod answer;
pub mod error;
mod model;
mod sse;
pub mod wire;

pub use answer::Answer;
pub use model::{
    Delta, DeltaStream, Effort, ErrorClass, FinishReason, Model, ModelError, Request, RequestLimits,
};
pub use sse::{MAX_EVENT_BYTES, OversizedEvent, SseDecoder, SseEvent};
