//! From configuration, variables and stored keys to an endpoint. Pure: nothing is
//! asked, nothing is written; the same values yield the same endpoint.

mod build;
mod custom;
mod error;
mod form;
mod headers;
mod mode;
mod names;
mod patience;
mod routes;
mod select;
mod settings;

pub use build::{Resolved, WindowSource, resolve};
pub use custom::NamedEndpoint;
pub use error::ResolveError;
pub use names::wire_name;
pub use routes::{Route, fallback_routes};
pub use select::{Sources, pool_for_new_key, pool_of, pool_spec, usable_providers};
pub use settings::Selection;
