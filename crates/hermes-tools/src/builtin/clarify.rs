//! `clarify`: a question of the model to the person.

use std::time::Duration;

use futures_util::future::BoxFuture;
use hermes_types::{Answer, AskKind, ToolOutput, ToolSpec};
use serde_json::{Value, json};

use super::arguments::required;
use crate::tool::{Tool, ToolContext};

const MAX_CHOICES: usize = 4;
const NOBODY: &str =
    "Nobody is there to answer. Choose what is most sensible, say what you assumed, and go on.";
const CANCELLED: &str =
    "user cancelled: the question was left without an answer. Do not ask it again.";
const NO_ANSWER: &str = "The user did not answer in time. Choose what is most sensible, say what you assumed, and go on.";

pub struct ClarifyTool {
    patience: Duration,
}

impl ClarifyTool {
    /// `patience` is how long an answer is waited for.
    pub fn new(patience: Duration) -> Self {
        Self { patience }
    }
}

impl Tool for ClarifyTool {
    fn name(&self) -> &str {
        "clarify"
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "clarify".to_owned(),
            description: "Ask the user one question and wait for the answer. Only for a decision that is theirs and changes what you do; otherwise choose a sensible default and say so. The user can always type something else than the choices.".to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "question": {"type": "string", "description": "The question"},
                    "choices": {
                        "type": "array",
                        "items": {"type": "string"},
                        "maxItems": MAX_CHOICES,
                        "description": "Up to 4 answers to choose from; leave out for an open question"
                    }
                },
                "required": ["question"]
            }),
        }
    }

    fn call<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let question = match required(&arguments, "question").map(str::trim) {
                Ok("") => return ToolOutput::error("question is empty"),
                Ok(question) => question.to_owned(),
                Err(why) => return ToolOutput::error(why),
            };
            let choices: Vec<String> = arguments
                .get("choices")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(|choice| choice.trim().to_owned())
                .filter(|choice| !choice.is_empty())
                .take(MAX_CHOICES)
                .collect();
            let response = if context.asker.is_attended() {
                let asked = AskKind::Clarify {
                    question: question.clone(),
                    choices: choices.clone(),
                };
                match context.asker.ask(asked, self.patience).await {
                    Answer::Text { text } if !text.trim().is_empty() => text.trim().to_owned(),
                    Answer::Cancelled => CANCELLED.to_owned(),
                    _ => NO_ANSWER.to_owned(),
                }
            } else {
                NOBODY.to_owned()
            };
            ToolOutput::json(&json!({
                "question": question,
                "choices_offered": choices,
                "user_response": response,
            }))
        })
    }
}
