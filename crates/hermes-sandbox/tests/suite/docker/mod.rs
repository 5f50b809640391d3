//! The docker backend against a real engine. Every test names itself `docker_…`: few
//! of them run at once. `podman.rs` runs most of these files with podman.

use hermes_testkit::engine::Client;

const CLIENT: Client = Client::Docker;

mod channel;
mod endings;
mod engines;
mod healing;
mod life;
mod pressure;
mod restart;
mod sessions;
mod support;
