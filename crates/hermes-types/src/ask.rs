//! Asking a person: a question is an event, its answer comes back by id.
//!
//! Tools know only an asker; each front end decides how to show the question.
//! No answer in time is a decision too, and every kind has a default for it.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AskId(pub u64);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    pub id: AskId,
    pub kind: AskKind,
    /// After this long the asker decides for itself.
    pub timeout_seconds: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AskKind {
    /// May this run? Unanswered: no.
    Approval {
        command: String,
        /// What is dangerous about it, one line.
        reason: String,
        /// The allowlist keys that "always" would store.
        keys: Vec<String>,
        /// Whether "always" may be offered.
        permanent: bool,
    },
    /// A question of the model. Unanswered: the model is told so and decides.
    Clarify {
        question: String,
        choices: Vec<String>,
    },
    /// The password for `sudo`. Unanswered: the command runs without one.
    Sudo { command: String },
    /// A secret by name, stored where the asker says; never shown again.
    Secret { name: String, prompt: String },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Answer {
    Approval {
        choice: ApprovalChoice,
    },
    Text {
        text: String,
    },
    /// The person left the question.
    Cancelled,
    /// Nobody answered in time.
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalChoice {
    Once,
    Session,
    Always,
    Deny,
}

/// An answer on its way back to the question it belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    pub id: AskId,
    pub answer: Answer,
}
