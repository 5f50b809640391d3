//! hermes-knowledge
