//! hermes-sandbox
