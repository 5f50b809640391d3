//! The docker backend against a real engine. Every test names itself `docker_…`
//! and so runs alone: they count containers.

mod channel;
mod endings;
mod engines;
mod healing;
mod life;
mod restart;
mod sessions;
mod support;
