//! The one HTTP client: trust roots, proxies, name resolution, and the guard for
//! addresses that a model or a stranger chose.
//!
//! Making an [`Http`] costs nothing. The first request to an `http://` URL builds
//! a client without certificates (well under a millisecond); only the first
//! `https://` URL loads the system's certificate store, which can take 20 ms.

mod client;
mod error;
mod guard;
mod resolve;
mod roots;
mod settings;
mod untrusted;

pub use client::Http;
pub use error::HttpError;
pub use guard::{Forbidden, is_local_address, is_local_host};
pub use settings::{HttpSettings, Reach};
pub use untrusted::{FetchLimits, Fetched};

/// The client library itself, so that there is one version of it in the house.
pub use reqwest;
pub use url::Url;
