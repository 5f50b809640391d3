//! The system prompt: who the agent is, where it works, what it knows. Composed
//! once per session, in three tiers from what never changes to what changes by
//! the day, and sent unchanged from then on.

mod compose;
mod context_files;
mod hints;
mod references;
mod retold;
mod toolchain;
mod words;

pub use compose::{Composed, Enforcement, Prompt, PromptOptions, Surroundings};
pub use context_files::{ContextFile, project_files};
pub use hints::Hints;
pub use references::{Expanded, Reference, expand, parse_references};
pub(crate) use retold::Retold;
