//! The shared container and the operator's verbs with podman, where it is installed.
#![expect(clippy::duplicate_mod, reason = "one suite, two engines")]

use hermes_testkit::engine::Client;

const CLIENT: Client = Client::Podman;

#[path = "docker/together.rs"]
mod together;
#[path = "docker/verbs.rs"]
mod verbs;
#[path = "docker/world.rs"]
mod world;
