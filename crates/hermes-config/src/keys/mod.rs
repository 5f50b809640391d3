//! The one table of configuration keys: type, default, environment variable,
//! description. It is plain data in a few files by section; nothing else in the
//! workspace holds a second copy of a default.
//!
//! A key is *planned* until something outside this crate reads it; whoever reads it
//! adds `.live()` to its line. A test scans the workspace and fails when a live key
//! is mentioned nowhere.

mod agent;
mod display;
mod gateway;
mod key;
mod lookup;
mod media;
mod model;
mod page;
mod system;
mod terminal;
mod tools;
mod work;

use std::sync::LazyLock;

pub(crate) use system::CONFIG_VERSION;

pub use key::{Bridge, Default, Key, Type};
pub use lookup::{Known, key, lookup, suggestion};
pub use page::page;

static ALL: LazyLock<Vec<Key>> = LazyLock::new(|| {
    [
        model::KEYS,
        model::VISION,
        model::WEB_EXTRACT,
        model::APPROVAL,
        model::AUXILIARY,
        model::TASK_EXTRAS,
        agent::KEYS,
        terminal::KEYS,
        tools::KEYS,
        display::KEYS,
        work::KEYS,
        gateway::KEYS,
        media::KEYS,
        system::KEYS,
    ]
    .concat()
});

/// Every key, in the order in which reference pages show them.
pub fn keys() -> &'static [Key] {
    &ALL
}
