//! Talking to models: one neutral request, one stream of deltas, any provider.
//!
//! A wire format is one module with a pure `encode` and a pure `decode`; what a
//! provider does differently is data in the catalogue. This crate knows nothing
//! of what tools mean.

mod answer;
mod attempt;
pub mod auth;
mod auxiliary;
pub mod catalogue;
mod connection;
mod dump;
mod endpoint;
pub mod error;
mod fallback;
mod guard;
mod keys;
mod listing;
mod lmstudio;
mod local;
pub mod metadata;
mod model;
mod models;
mod picture;
mod prices;
mod provider;
mod rates;
pub mod resolve;
mod retry;
mod sse;
pub mod wire;

pub use answer::Answer;
pub use auxiliary::Auxiliary;
pub use dump::{Echo, RequestDumps};
pub use endpoint::{AuthStyle, Endpoint, Secret, Timeouts};
pub use fallback::FallbackChain;
pub use guard::RateGuard;
pub use keys::{KeyVerdict, Keys};
pub use listing::{
    AskFailure, ListedModel, Origin, ProviderModels, cached_models, snapshot_month, snapshot_of,
};
pub use local::{LocalServer, find_local_servers, local_places};
pub use model::{
    Delta, DeltaStream, Effort, ErrorClass, FinishReason, Model, ModelError, Request,
    RequestLimits, Retelling,
};
pub use models::{Models, OpenError, Opened, http_settings};
pub use prices::{Price, cost, published_price};
pub use provider::{ProviderModel, Setup};
pub use rates::{RateLimit, RateLimits};
pub use retry::{Backoff, Jitter, RetryPolicy};
pub use sse::{MAX_EVENT_BYTES, OversizedEvent, SseDecoder, SseEvent};
