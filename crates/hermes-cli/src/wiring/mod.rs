//! Putting a conversation together out of the crates: model, sandbox, tools,
//! database. What every front end needs, once.

mod agent;
mod measure;
mod model;
mod sandbox;

pub(crate) use agent::{Wired, wire};
pub(crate) use measure::measure;
pub(crate) use model::{is_demo, open_models, refused, selection};
pub(crate) use sandbox::{Place, Wanted, checkpoint_store, place};
