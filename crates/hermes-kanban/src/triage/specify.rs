//! A rough task gets a title and a body that a worker can act on.

use hermes_types::TaskId;

use super::parse::{object, text, unfenced};
use super::{Assistant, Outcome, Question, shown};
use crate::error::KanbanError;
use crate::model::Status;
use crate::store::Board;

/// The least that a useful answer needs.
const FLOOR_TOKENS: u32 = 1500;
const DEFAULT_TOKENS: u32 = 6000;
pub(super) const TEMPERATURE: f32 = 0.3;

const SYSTEM: &str = "You turn rough ideas into tasks that somebody else can carry out without \
asking back. Answer with one JSON object and nothing else: {\"title\": \"...\", \"body\": \"...\"}. \
The title is one short imperative line. The body is Markdown with the sections Goal, Approach, \
Acceptance criteria and Out of scope. Keep every fact of the original; invent none, and say what is \
unknown instead.";

/// `max_tokens`: what the environment asks for.
pub fn specify(
    board: &Board,
    assistant: &dyn Assistant,
    id: &TaskId,
    author: &str,
    max_tokens: Option<u32>,
) -> Result<Outcome, KanbanError> {
    let Some(task) = board.find(id)? else {
        return Ok(Outcome::refused(id, "unknown task id"));
    };
    if task.status != Status::Triage {
        let reason = format!("task is not in triage (status='{}')", task.status);
        return Ok(Outcome::refused(id, reason));
    }
    let question = Question {
        task: "triage_specifier",
        system: SYSTEM.to_owned(),
        user: shown(&task.title, task.body.as_deref()),
        max_tokens: max_tokens.unwrap_or(DEFAULT_TOKENS).max(FLOOR_TOKENS),
        temperature: TEMPERATURE,
    };
    let answer = match assistant.ask(&question) {
        Ok(answer) => answer,
        Err(none) => return Ok(Outcome::refused(id, none.reason())),
    };
    if answer.trim().is_empty() {
        return Ok(Outcome::refused(id, "LLM returned an empty response"));
    }
    let (title, body) = match object(&answer) {
        Some(map) => (text(&map, "title"), text(&map, "body")),
        None => (None, Some(unfenced(&answer).to_owned())),
    };
    if title.is_none() && body.is_none() {
        return Ok(Outcome::refused(id, "LLM response missing title and body"));
    }
    let specified = board.specify(id, title.as_deref(), body.as_deref(), None, author);
    match specified {
        Ok(now) => {
            let new_title = (now.title != task.title).then_some(now.title);
            Ok(Outcome::done(id, "specified", new_title))
        }
        Err(error) if error.is_refusal() => Ok(Outcome::refused(
            id,
            "task moved out of triage before promotion",
        )),
        Err(error) => Err(error),
    }
}
