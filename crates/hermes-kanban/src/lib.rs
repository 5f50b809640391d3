//! hermes-kanban
