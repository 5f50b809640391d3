//! hermes-llm
