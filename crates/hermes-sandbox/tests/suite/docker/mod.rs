//! The docker backend against a real engine. Every test names itself `docker_…`
//! and so runs alone: they count containers.

mod channel;
mod support;
