//! The one stream that leaves a turn. Terminal, gateway, HTTP, editor and worker
//! log read the same events; what a front end cannot do with them is missing here.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ask::Ask;
use crate::ids::SessionId;
use crate::usage::{Cost, Usage};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TurnEvent {
    /// The user's message is on disk and the turn began.
    Started {
        session: SessionId,
    },
    /// A request to the model begins.
    Requesting {
        model: String,
        provider: String,
        iteration: u32,
    },
    /// Visible text of the answer, as it arrives.
    Text {
        delta: String,
    },
    Reasoning {
        delta: String,
    },
    /// What streamed so far in this answer is void: the request is tried again.
    TextDiscarded,
    /// The model began to write a call; its arguments are not complete yet.
    ToolPending {
        index: u32,
        name: String,
    },
    /// A complete assistant message (text and calls) is on disk.
    AssistantStored,
    ToolStarted {
        id: String,
        name: String,
        arguments: Value,
        preview: String,
    },
    /// A line or so of what a running tool prints.
    ToolProgress {
        id: String,
        text: String,
    },
    ToolFinished {
        id: String,
        name: String,
        failed: bool,
        duration_ms: u64,
        /// One line for people.
        summary: String,
        /// A unified diff, when the call changed a file.
        diff: Option<String>,
    },
    /// A question to a person; answer with its id.
    Ask {
        ask: Ask,
    },
    /// The question was answered elsewhere or timed out: take the dialog down.
    AskClosed {
        id: crate::ask::AskId,
    },
    /// A person's guidance for the running turn is on disk, below a tool result, and
    /// goes to the model with the next request.
    Steered {
        text: String,
    },
    /// Something people should know: a retry, a fallback, a reconnect, a limit near.
    Notice {
        text: String,
    },
    /// Like a notice, and of a weight that even who wants only the answer is told.
    Warning {
        text: String,
    },
    /// The context was condensed; the conversation goes on in `session`.
    Compressed {
        previous: SessionId,
        session: SessionId,
        messages_before: u32,
        messages_after: u32,
    },
    Usage {
        call: Usage,
        turn: Usage,
        cost: Cost,
        context_used: u64,
        context_window: u64,
    },
    Titled {
        session: SessionId,
        title: String,
    },
    /// A subagent's event, under the call that started it.
    Child {
        call_id: String,
        index: u32,
        event: Box<TurnEvent>,
    },
    Finished {
        outcome: TurnOutcome,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    Answered,
    Interrupted,
    /// Too many iterations; the answer is a summary.
    IterationLimit,
    /// Money or tokens; the turn can go on after the limit is raised.
    Budget,
    Guardrail,
    /// The answer stops in the middle.
    Partial,
    RateLimited,
    /// The provider takes none of the keys; no other attempt can change that.
    KeyRefused,
    Failed,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnOutcome {
    /// Where the conversation stands now; compression may have moved it.
    pub session: SessionId,
    pub reason: StopReason,
    pub answer: String,
    /// The cause, when `reason` is not `Answered`.
    pub error: Option<String>,
    pub usage: Usage,
    pub cost: Cost,
    pub api_calls: u32,
    /// Guidance that came too late to be delivered: send it as the next message.
    pub pending_steer: Option<String>,
}

impl TurnOutcome {
    pub fn is_success(&self) -> bool {
        matches!(
            self.reason,
            StopReason::Answered | StopReason::IterationLimit
        )
    }
}

/// Why a running turn is being stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Interrupt {
    User,
    Shutdown,
}
