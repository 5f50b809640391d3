//! The same life cycle with podman, where it is installed: the files of the docker
//! suite, with another engine behind them.
#![expect(clippy::duplicate_mod, reason = "one suite, two engines")]

use hermes_testkit::engine::Client;

const CLIENT: Client = Client::Podman;

#[path = "docker/channel.rs"]
mod channel;
#[path = "docker/endings.rs"]
mod endings;
#[path = "docker/healing.rs"]
mod healing;
#[path = "docker/life.rs"]
mod life;
#[path = "docker/sessions.rs"]
mod sessions;
#[path = "docker/support.rs"]
mod support;
