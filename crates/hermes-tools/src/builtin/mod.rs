//! Built-in tools that need no sandbox: planning, questions, memory, past
//! sessions, skills.

mod arguments;
mod clarify;
pub mod files;
mod memory;
mod session_search;
mod skill_text;
mod skills;
mod todo;

pub use clarify::ClarifyTool;
pub use memory::MemoryTool;
pub use session_search::SessionSearchTool;
pub use skill_text::activation;
pub use skills::{
    SkillManageTool, SkillOptions, SkillShelf, SkillViewTool, SkillsListTool, required_variables,
};
pub use todo::{TodoList, TodoTool};
