//! hermes-process
