//! What agents can do with boards.
//!
//! A worker sees the tools that its own task needs; a profile whose `toolsets`
//! name `kanban` sees all of them, to plan and hand out work; a plain chat sees
//! none. Authors and creators come from the environment, never from the model.

mod access;
mod arguments;
mod registry;
mod run;
mod specs;

pub use access::ToolAccess;
pub use registry::{KanbanTool, kanban_tools};
