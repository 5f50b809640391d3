//! From names in a configuration or on the command line to the tools of a
//! conversation.

mod catalogue;
mod platform;
mod select;

pub use catalogue::{CONFIGURABLE, CORE, Configurable, NOT_BUILT, PLATFORMS, TOOLSETS, Toolset};
pub use platform::{Gates, PlatformTools, platform_tools};
pub use select::{Selection, expand, is_known, select};
