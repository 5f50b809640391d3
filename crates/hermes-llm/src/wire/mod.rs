//! Wire formats. Each is one module with a pure `encode` of a request and a pure
//! decoder of what comes back; what an endpoint wants done differently is data in
//! its [`Form`].

pub mod anthropic;
pub mod chat;
pub mod gemini;
pub mod responses;

mod arguments;
mod cache;
mod codec;
mod form;
mod schema;
mod tidy;

pub use arguments::{canonical_arguments, missing_call_id};
pub use cache::{CacheLayout, CacheMarkers};
pub use codec::{Decoder, decoder, encode};
pub(crate) use codec::{default_output, read_json};
pub use form::{
    ApiMode, Echo, Form, Mend, OutputCapField, ReasoningStyle, SchemaDialect, SessionHint,
};
pub use tidy::tidy;
