//! Mending what models, crashes and other programs leave behind: argument text
//! that is not JSON, names that are almost right, histories with holes. All of
//! it is pure code.

mod arguments;
mod canonical;
mod history;
mod names;

pub use arguments::{Arguments, looks_cut_off, read_arguments};
pub use canonical::canonical;
pub(crate) use history::push_user;
pub use history::{PLACEHOLDER, UNREADABLE, mend, missing_results, wire};
pub use names::closest_tool;
