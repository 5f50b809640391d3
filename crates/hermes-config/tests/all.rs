//! The crate from outside: what other crates see.

mod suite;
