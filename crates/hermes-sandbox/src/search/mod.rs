//! Searching files by their lines or names.
//!
//! [`engine`] searches what this machine can reach: ripgrep's engine within the
//! process. Where another program has to search, [`IgnoreRules`], [`NameGlob`] and
//! [`LinePattern`] hold its answer to the same rules, and [`ere`] tells grep what
//! to look for. The rules: hidden files are skipped; what `.gitignore` (within a
//! repository), its `info/exclude`, `.ignore` and `.rgignore` name is skipped, also
//! where they lie above the start; a user's own global list is not looked at.

mod engine;
mod ere;
mod ignored;
mod pattern;

pub use engine::{ContentHits, ContentQuery, LineHit, search_content, search_names};
pub use ere::{Ere, ere};
pub use ignored::{IgnoreRules, Rule, RuleFile};
pub use pattern::{LinePattern, NameGlob, SearchError};
