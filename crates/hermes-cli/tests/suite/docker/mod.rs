//! The shared container through the real binary: several processes, deaths at
//! any moment, and the operator's verbs. Every test names itself `docker_…` and so
//! runs alone.
//!
//! Loops are short here; `hermes-bench sandbox` runs them in full length.

mod deaths;
mod together;
mod verbs;
mod world;
