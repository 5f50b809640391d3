//! The docker backend: one long-lived container, shared by every Hermes process
//! of a home, found again by its labels.
//!
//! How the pieces meet is told in `docs/design/container-life.md`. In short:
//! [`DockerTarget`] starts commands; it asks `container.rs` for the container,
//! which finds ([`find`]) or makes ([`arguments`], `create.rs`) it under a lock
//! and leases it (`lease.rs`); commands go over the warm channel
//! ([`crate::channel`]); [`Engine`] is the only door to docker or podman.

pub mod arguments;
mod binary;
mod cli;
mod config;
mod container;
mod create;
mod drift;
mod engine;
mod error;
mod exposed;
pub mod find;
mod host;
mod http;
mod idle;
mod inventory;
mod janitor;
pub mod labels;
mod lease;
pub(crate) mod mounts;
mod parse;
mod place;
mod plain;
pub mod reap;
mod settings;
mod socket;
mod target;

pub use binary::{BINARY, EngineProgram};
pub use cli::CliEngine;
pub use config::{DockerConfig, Surroundings};
pub use container::Plan;
pub use engine::{Container, ContainerId, ContainerProcess, Engine, EngineError, State};
pub use error::DockerError;
pub use host::{DockerHost, Notify};
pub use inventory::{Background, Inventory, Leased, Row, Scope};
pub use labels::Identity;
pub use lease::{Holder, holders, last_used};
pub use place::{Place, session_file, session_records};
pub use settings::{
    ContainerSettings, Drift, HomeShare, HostUser, LifeSettings, OnDrift, Persist, ReadOnlyMount,
    Spec,
};
pub use socket::SocketEngine;
pub use target::DockerTarget;
