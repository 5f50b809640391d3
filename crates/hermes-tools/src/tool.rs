//! The contract between the turn loop and everything a model may call.
//!
//! A tool knows what it was built with (a store, a sandbox) and what the context
//! of the call tells it. It never prints, never decides whether it may run, and
//! never fails a turn: what goes wrong is a result that the model reads.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use hermes_types::{Answer, AskKind, SessionId, ToolOutput, ToolSpec, TurnEvent};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::concurrency::{self, Concurrency};

/// Most characters of a result that go to the model as they are.
pub const RESULT_LIMIT: usize = 100_000;

pub trait Tool: Send + Sync {
    fn name(&self) -> &str;

    /// What the model is told. Called once per conversation.
    fn spec(&self) -> ToolSpec;

    /// `arguments` is an object whose values were coerced to the schema.
    /// Dropping the future must end the work; so must `context.cancel`.
    fn call<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput>;

    /// Whether the call may run beside others of the same answer.
    fn concurrency(&self, arguments: &Value) -> Concurrency {
        concurrency::by_name(self.name(), arguments)
    }

    /// Longer results are put into a file and previewed; `None` never is.
    fn result_limit(&self) -> Option<usize> {
        Some(RESULT_LIMIT)
    }

    /// One line that tells people what the call is about to do.
    fn preview(&self, arguments: &Value) -> String {
        crate::preview::of_arguments(arguments)
    }
}

/// Who gets to see what a call returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// It becomes part of the conversation.
    Model,
    /// Only a script sees it; the model knows nothing of it.
    Script,
}

/// What a call knows besides its arguments.
pub struct ToolContext {
    pub session: SessionId,
    /// Names the sandbox state (working directory, processes) of this agent.
    pub task: String,
    pub call_id: String,
    /// How many calls the conversation has seen, those of this answer included: calls
    /// of one answer have the same number, and a call after a single one has the next.
    pub round: u64,
    /// Who reads the result.
    pub reader: Reader,
    /// Set when the turn is interrupted or the conversation ends.
    pub cancel: CancellationToken,
    pub asker: Arc<dyn Asker>,
    pub events: Arc<dyn EventSink>,
}

/// Asks a person. How it looks is the front end's matter.
pub trait Asker: Send + Sync {
    /// `Answer::None` when nobody answered in time or nobody is there.
    fn ask(&self, question: AskKind, patience: Duration) -> BoxFuture<'_, Answer>;

    /// Whether a person can answer at all.
    fn is_attended(&self) -> bool;
}

/// Where a call reports what happens while it runs.
pub trait EventSink: Send + Sync {
    /// Never blocks for long; a reader that lags may miss progress.
    fn emit(&self, event: TurnEvent) -> BoxFuture<'_, ()>;
}

/// Nobody is there: every question gets its default.
pub struct Unattended;

impl Asker for Unattended {
    fn ask(&self, _question: AskKind, _patience: Duration) -> BoxFuture<'_, Answer> {
        Box::pin(async { Answer::None })
    }

    fn is_attended(&self) -> bool {
        false
    }
}

/// Nobody listens.
pub struct Unheard;

impl EventSink for Unheard {
    fn emit(&self, _event: TurnEvent) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}
