//! Configuration: one table of keys as data, layers with provenance, and edits that
//! leave the user's file the user's.
//!
//! Per key, the built-in default is overruled by the environment and `.env`, those
//! by an explicit key in `config.yaml`, that by a flag. [`Config`] is the result and
//! knows where each value came from. This crate does not know what a key means;
//! each crate has its own typed view of its section.
//!
//! Nothing here prints or reads the process environment; both belong to the binary.

pub mod assign;
mod child;
mod coerce;
mod config;
pub mod dotenv;
pub mod edit;
mod error;
mod expand;
mod files;
mod flags;
pub mod keys;
mod layers;
pub mod migrate;
mod normalise;
mod source;
mod text;
mod typed;
pub mod variables;
mod warnings;
pub mod yaml;

pub use child::{ChildOf, child_environment};
pub use config::{Config, NearMiss, Setting, Which};
pub use error::ConfigError;
pub use keys::{Key, keys};
pub use source::Source;
pub use text::{as_text, is_secret, mask, masked};
pub use warnings::structure_warnings;
