//! Names in `state.db` that more than one place must agree on.

/// What a file says about its own shape, and what ours has.
pub const SCHEMA_VERSION: i64 = 14;

/// Sessions that other programs started through us; hidden from lists and search.
pub const TOOL_SOURCE: &str = "tool";

/// A row that exists only because counters arrived before the session was made.
pub const UNKNOWN_SOURCE: &str = "unknown";

/// Prefix of message content that is structured: the rest is JSON.
pub const STRUCTURED_CONTENT: &str = "\0json:";

pub const META_LAST_AUTO_PRUNE: &str = "last_auto_prune";
pub const META_GHOSTS_PRUNED: &str = "ghost_session_prune_v1";
pub const META_ORPHANS_FINISHED: &str = "orphaned_compression_finalize_v1";
