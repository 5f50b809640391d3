//! Skills: procedures in files that a model loads when it needs them. This
//! module finds, shows, changes and counts them; the hub and the curator live
//! elsewhere.

mod front_matter;
mod library;
mod manage;
mod prompt;
mod usage;
mod view;

pub use front_matter::Document;
pub use library::{Conditions, Found, Library, Skill};
pub use manage::Manager;
pub use prompt::{Present, index};
pub use usage::{Bump, UsageRecords};
pub use view::{SUBDIRECTORIES, SkillError, Surroundings};
