//! YAML as Python Hermes reads it: YAML 1.1 scalars, `<<` merges, the last of two
//! equal keys wins.
//!
//! [`parse`] yields a [`Document`], a graph of nodes with their places in the text,
//! so that an edit can change one value and leave every other byte alone.
//! [`Document::value`] turns the graph into JSON. [`render`] is the way back: text
//! for one value that both implementations read as that value.

mod construct;
mod graph;
mod parse;
mod render;
mod resolve;

pub(crate) use graph::{Document, Kind, Slot};
pub use parse::{Syntax, parse};
pub use render::{after_colon, block, inline, key as render_key};
pub use resolve::{Plain, resolve_plain};
