//! What must hold for every sequence of bytes that strangers can hand us.
//!
//! A body takes bytes, makes of them what it needs, calls the real code and panics
//! when a promise is broken. The plain test run feeds all of them from generators
//! on stable; `./test --fuzz` hands the same bodies to a coverage-guided fuzzer
//! (`fuzz/`, one target per body).

mod bodies;

pub use bodies::{
    arguments, command_rewriting, config, dotenv, front_matter, label, patch, server_sent_events,
};

/// A body: it returns, or a promise is broken.
pub type Body = fn(&[u8]);

/// Every body by the name of its fuzz target.
pub const BODIES: &[(&str, Body)] = &[
    ("config", config),
    ("dotenv", dotenv),
    ("front_matter", front_matter),
    ("patch", patch),
    ("server_sent_events", server_sent_events),
    ("arguments", arguments),
    ("label", label),
    ("command_rewriting", command_rewriting),
];
