//! How a turn ended, in the words that front ends and exit codes need.

use hermes_llm::{ErrorClass, ModelError};
use hermes_types::{StopReason, TurnOutcome};

use super::Running;
use crate::agent::Agent;

/// The end of a turn before it is dressed for people.
pub(crate) struct End {
    reason: StopReason,
    answer: String,
    error: Option<String>,
}

impl End {
    pub(super) fn answered(answer: String) -> Self {
        Self {
            reason: StopReason::Answered,
            answer,
            error: None,
        }
    }

    pub(super) fn interrupted(answer: String) -> Self {
        Self {
            reason: StopReason::Interrupted,
            answer,
            error: Some("interrupted".to_owned()),
        }
    }

    pub(super) fn failed(error: String) -> Self {
        Self {
            reason: StopReason::Failed,
            answer: String::new(),
            error: Some(error),
        }
    }

    pub(super) fn was_interrupted(&self) -> bool {
        self.reason == StopReason::Interrupted
    }

    pub(super) fn budget(answer: String, error: String) -> Self {
        Self {
            reason: StopReason::Budget,
            answer,
            error: Some(error),
        }
    }

    pub(super) fn partial(answer: String, error: String) -> Self {
        Self {
            reason: StopReason::Partial,
            answer,
            error: Some(error),
        }
    }

    pub(super) fn guardrail(answer: String, error: String) -> Self {
        Self {
            reason: StopReason::Guardrail,
            answer,
            error: Some(error),
        }
    }

    pub(super) fn iteration_limit(answer: String, limit: u32) -> Self {
        Self {
            reason: StopReason::IterationLimit,
            answer,
            error: Some(format!("the limit of {limit} rounds was reached")),
        }
    }

    pub(super) fn model(error: &ModelError) -> Self {
        let mut text = error.message.clone();
        for line in &error.tried {
            text.push_str("\n  ");
            text.push_str(line);
        }
        Self {
            // A worker comes back later for both.
            reason: match error.class {
                ErrorClass::RateLimited | ErrorClass::Billing => StopReason::RateLimited,
                ErrorClass::Authentication => StopReason::KeyRefused,
                _ => StopReason::Failed,
            },
            answer: String::new(),
            error: Some(text),
        }
    }
}

impl Agent {
    pub(super) fn outcome(&self, end: End, mut turn: Running) -> TurnOutcome {
        let (usage, cost) = self.setup.delegated.take();
        turn.add(usage, cost);
        let mut answer = end.answer;
        if self.setup.options.completion_explainer
            && end.reason == StopReason::Partial
            && let Some(why) = &end.error
        {
            if !answer.is_empty() {
                answer.push_str("\n\n");
            }
            answer.push_str(&format!("[Incomplete: {why}]"));
        }
        if self.setup.options.file_mutation_verifier
            && end.reason == StopReason::Answered
            && let Some(footer) = turn.mutations.footer()
        {
            answer.push_str(&footer);
        }
        TurnOutcome {
            session: self.session.id.clone(),
            reason: end.reason,
            answer,
            error: end.error,
            usage: turn.usage,
            cost: turn.cost,
            api_calls: turn.api_calls,
            pending_steer: if end.reason == StopReason::Interrupted {
                None
            } else {
                self.control.take_steer()
            },
        }
    }
}
