//! What a conversation is made of. Everything is handed in: a model, tools, a
//! database, a prompt, limits. Nothing is looked up.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hermes_home::Clock;
use hermes_llm::{Effort, Model};
use hermes_tools::limits::Spill;
use hermes_tools::{Registry, StateHandle, TodoList};
use hermes_types::{Cost, CostStatus, Message, SessionId, Usage};

use crate::compress::CompressionOptions;
use crate::guardrails::GuardrailLimits;
use crate::prompt::Prompt;
use crate::spend::Spend;

/// Counts what others consume on this conversation's account.
#[derive(Clone, Debug, Default)]
pub struct Tally(Arc<Mutex<(Usage, Cost)>>);

impl Tally {
    pub fn add(&self, usage: Usage, cost: Cost) {
        let mut total = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        total.0 += usage;
        total.1 = sum(total.1, cost);
    }

    /// Everything since it was last taken.
    pub fn take(&self) -> (Usage, Cost) {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Money adds up; what is known least decides how sure the sum is.
pub(crate) fn sum(one: Cost, other: Cost) -> Cost {
    use CostStatus::{Actual, Estimated, Included, Unknown};
    let nothing = |cost: &Cost| cost.status == Unknown && cost.usd == 0.0;
    let status = match (one.status, other.status) {
        (_, status) if nothing(&one) => status,
        (status, _) if nothing(&other) => status,
        (Unknown, _) | (_, Unknown) => Unknown,
        (Estimated, _) | (_, Estimated) => Estimated,
        (Actual, _) | (_, Actual) => Actual,
        (Included, Included) => Included,
    };
    Cost {
        usd: one.usd + other.usd,
        status,
    }
}

/// Shared by all turns of a conversation and, with changes, by its subagents.
#[derive(Clone)]
pub struct Setup {
    pub model: Arc<dyn Model>,
    /// Writes summaries; the main model when absent.
    pub summarizer: Option<Arc<dyn Model>>,
    /// Names new sessions; they stay nameless when absent.
    pub titler: Option<Arc<dyn Model>>,
    /// Describes pictures in words; they are sent as they are when absent.
    pub viewer: Option<Arc<dyn Model>>,
    pub tools: Registry,
    /// `None` keeps the conversation in memory only.
    pub state: Option<StateHandle>,
    pub prompt: Arc<Prompt>,
    pub spend: Spend,
    /// The list that the `todo` tool keeps, for summaries.
    pub todos: Option<TodoList>,
    /// What subagents of the running turn consumed.
    pub delegated: Tally,
    /// Puts results that are too long where tools can read them.
    pub spill: Option<Arc<dyn Spill>>,
    pub options: Options,
    pub clock: Clock,
}

#[derive(Clone, Debug)]
pub struct Options {
    pub max_iterations: u32,
    pub max_output_tokens: Option<u32>,
    pub effort: Option<Effort>,
    pub guardrails: GuardrailLimits,
    pub compression: CompressionOptions,
    /// Name failed file changes below the answer.
    pub file_mutation_verifier: bool,
    /// Say why an answer is empty or cut.
    pub completion_explainer: bool,
    pub redact_secrets: bool,
    /// Calls of one batch that run at the same time.
    pub parallel_calls: usize,
    /// `delegate_task` calls of one batch that are kept.
    pub delegations_per_batch: usize,
    /// How long a cancelled tool may take to end by itself.
    pub cancel_grace: Duration,
    /// The session's source: `cli`, a platform's name, `cron`.
    pub source: String,
    pub cwd: Option<PathBuf>,
    pub parent_session: Option<SessionId>,
    /// Whether a person can be asked.
    pub attended: bool,
    /// What this run adds to the conversation's system prompt for good: skills of
    /// the command line, a worktree.
    pub told: Vec<String>,
    /// Sent after the stored system prompt and never stored.
    pub ephemeral_system: Option<String>,
    /// Sent right after the system prompt and never stored.
    pub prefill: Arc<[Arc<Message>]>,
    /// Where every session is also written as a JSON file after each turn.
    pub json_snapshots: Option<PathBuf>,
    /// Names the sandbox state of this agent; the conversation's first session when
    /// absent.
    pub task: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_iterations: 90,
            max_output_tokens: None,
            effort: None,
            guardrails: GuardrailLimits::default(),
            compression: CompressionOptions::default(),
            file_mutation_verifier: true,
            completion_explainer: true,
            redact_secrets: true,
            parallel_calls: 8,
            delegations_per_batch: 3,
            cancel_grace: Duration::from_millis(500),
            source: "cli".to_owned(),
            cwd: None,
            parent_session: None,
            attended: false,
            told: Vec::new(),
            ephemeral_system: None,
            prefill: Arc::from([]),
            json_snapshots: None,
            task: None,
        }
    }
}
