//! The words every room speaks: conversation messages, tool calls, usage, turn
//! events, questions to a person, and the redaction rules.
//!
//! Nothing here does I/O, reads a clock or knows a feature.

mod ask;
mod event;
mod ids;
mod message;
mod redact;
mod tool;
mod usage;

pub use ask::{Answer, ApprovalChoice, Ask, AskId, AskKind, Asked};
pub use event::{Interrupt, StopReason, TurnEvent, TurnOutcome};
pub use ids::{ContainerId, InvalidProfileName, ProfileName, SessionId, TaskId};
pub use message::{Content, Message, Part, Role, ToolCall};
pub use redact::{Redaction, head_edge, mask, redact, redact_result, tail_edge};
pub use tool::{ToolOutput, ToolSpec};
pub use usage::{Cost, CostStatus, Usage};
