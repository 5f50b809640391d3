//! hermes-http
