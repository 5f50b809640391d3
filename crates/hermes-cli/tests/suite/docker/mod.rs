//! The shared container through the real binary: several processes, deaths at
//! any moment, and the operator's verbs. Every test names itself `docker_…`: few of
//! them run at once. `podman.rs` runs some of these files with podman.
//!
//! Loops are short here; `hermes-bench sandbox` runs them in full length.

use hermes_testkit::engine::Client;

const CLIENT: Client = Client::Docker;

mod agent;
mod deaths;
mod interop;
mod talk;
mod together;
mod tools;
mod verbs;
mod world;
