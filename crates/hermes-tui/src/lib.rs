//! hermes-tui
