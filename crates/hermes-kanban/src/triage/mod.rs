//! Rough ideas become tasks, with the help of a model.
//!
//! `specify` gives one task its words; `decompose` may split it into parts that
//! wait for each other. The model is reached through an [`Assistant`]; what it
//! answers is taken apart leniently, and what cannot be used is an outcome with a
//! reason, never an error.

mod decompose;
mod parse;
mod specify;

use serde_json::{Value, json};

pub use decompose::{Decomposer, decompose};
pub use specify::specify;

use hermes_types::TaskId;

/// One question without tools.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The name below `auxiliary` in the configuration.
    pub task: &'static str,
    pub system: String,
    pub user: String,
    pub max_tokens: u32,
    pub temperature: f32,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    NotConfigured,
    Unavailable,
    /// The kind of error, in one word.
    Failed(String),
}

impl NoAnswer {
    fn reason(&self) -> String {
        match self {
            NoAnswer::NotConfigured => "no auxiliary client configured".to_owned(),
            NoAnswer::Unavailable => "auxiliary client unavailable".to_owned(),
            NoAnswer::Failed(kind) => format!("LLM error: {kind}"),
        }
    }
}

/// Somebody who can be asked.
pub trait Assistant: Send + Sync {
    fn ask(&self, question: &Question) -> Result<String, NoAnswer>;
}

/// What became of one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub task: TaskId,
    pub ok: bool,
    pub reason: String,
    pub new_title: Option<String>,
    /// Only of a decomposition.
    pub fanout: Option<bool>,
    pub children: Vec<TaskId>,
}

impl Outcome {
    fn refused(task: &TaskId, reason: impl Into<String>) -> Self {
        Self {
            task: task.clone(),
            ok: false,
            reason: reason.into(),
            new_title: None,
            fanout: None,
            children: Vec::new(),
        }
    }

    fn done(task: &TaskId, reason: impl Into<String>, new_title: Option<String>) -> Self {
        Self {
            ok: true,
            new_title,
            ..Self::refused(task, reason)
        }
    }

    pub fn specify_json(&self) -> Value {
        json!({
            "task_id": self.task, "ok": self.ok, "reason": self.reason, "new_title": self.new_title,
        })
    }

    pub fn decompose_json(&self) -> Value {
        json!({
            "task_id": self.task,
            "ok": self.ok,
            "reason": self.reason,
            "new_title": self.new_title,
            "fanout": self.fanout.unwrap_or(false),
            "child_ids": self.children,
        })
    }
}

const TITLE_CHARS: usize = 400;
const BODY_CHARS: usize = 4000;

/// The task as the model is shown it.
fn shown(title: &str, body: Option<&str>) -> String {
    let body = body
        .map(str::trim)
        .filter(|body| !body.is_empty())
        .unwrap_or("(no body)");
    format!(
        "Title: {}\n\nBody:\n{}",
        crate::machine::clip(title, TITLE_CHARS),
        crate::machine::clip(body, BODY_CHARS)
    )
}
