//! A large task becomes several that wait for each other, or one that is clear.

use hermes_types::TaskId;
use serde_json::{Map, Value};

use super::parse::{object, text};
use super::specify::TEMPERATURE;
use super::{Assistant, Outcome, Question, shown};
use crate::error::KanbanError;
use crate::machine::clip;
use crate::model::{Status, Task};
use crate::store::{Board, NewChild};

const MAX_TOKENS: u32 = 4000;
const CHILD_TITLE_CHARS: usize = 200;

const SYSTEM: &str = "You plan work for a team of agents. Decide whether a task is better done by \
one of them or split into 2 to 6 parts. Split only where parts can be done and checked on their own, \
and prefer parts that can run side by side. Answer with one JSON object and nothing else. To split: \
{\"fanout\": true, \"rationale\": \"...\", \"tasks\": [{\"title\": \"...\", \"body\": \"...\", \
\"assignee\": \"profile or null\", \"parents\": [0]}]}, where parents are positions in the list of \
parts that must be finished first. Not to split: {\"fanout\": false, \"title\": \"...\", \"body\": \
\"...\", \"assignee\": \"profile or null\"}. Choose assignees by what their profiles are for.";

/// Who is there to do the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decomposer {
    /// Profiles with what is said about them.
    pub roster: Vec<(String, Option<String>)>,
    /// For parts that name nobody, or somebody unknown.
    pub fallback: String,
    /// Gets the whole when its parts are done.
    pub orchestrator: String,
    pub author: String,
    /// Parts start as soon as nothing holds them.
    pub auto_promote: bool,
}

pub fn decompose(
    board: &Board,
    assistant: &dyn Assistant,
    id: &TaskId,
    team: &Decomposer,
) -> Result<Outcome, KanbanError> {
    let Some(task) = board.find(id)? else {
        return Ok(Outcome::refused(id, "unknown task id"));
    };
    if task.status != Status::Triage {
        let reason = format!("task is not in triage (status='{}')", task.status);
        return Ok(Outcome::refused(id, reason));
    }
    let question = Question {
        task: "kanban_decomposer",
        system: SYSTEM.to_owned(),
        user: prompt(&task, team),
        max_tokens: MAX_TOKENS,
        temperature: TEMPERATURE,
    };
    let answer = match assistant.ask(&question) {
        Ok(answer) => answer,
        Err(none) => return Ok(Outcome::refused(id, none.reason())),
    };
    let Some(plan) = object(&answer) else {
        return Ok(Outcome::refused(id, "LLM returned malformed JSON"));
    };
    if plan.get("fanout").and_then(Value::as_bool) == Some(true) {
        split(board, id, team, &plan)
    } else {
        keep(board, &task, team, &plan)
    }
}

fn prompt(task: &Task, team: &Decomposer) -> String {
    let roster: Vec<String> = team
        .roster
        .iter()
        .map(|(name, about)| match about {
            Some(about) => format!("- {name}: {about}"),
            None => format!("- {name} (nothing is known about it; avoid unless named)"),
        })
        .collect();
    format!(
        "{}\n\nProfiles:\n{}\n\nIf no profile fits, use: {}",
        shown(&task.title, task.body.as_deref()),
        roster.join("\n"),
        team.fallback
    )
}

fn split(
    board: &Board,
    id: &TaskId,
    team: &Decomposer,
    plan: &Map<String, Value>,
) -> Result<Outcome, KanbanError> {
    let listed = plan
        .get("tasks")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let parts: Vec<NewChild> = listed
        .iter()
        .enumerate()
        .filter_map(|(index, value)| part(index, listed.len(), value.as_object()?, team))
        .collect();
    if parts.len() != listed.len() || parts.is_empty() {
        let reason = if listed.is_empty() {
            "an empty task list"
        } else {
            "a task without a title"
        };
        return Ok(Outcome::refused(id, format!("LLM returned {reason}")));
    }
    let done = board.decompose(
        id,
        &parts,
        Some(&team.orchestrator),
        &team.author,
        !team.auto_promote,
    );
    match done {
        Ok(children) => Ok(Outcome {
            fanout: Some(true),
            children,
            ..Outcome::done(id, "decomposed", None)
        }),
        Err(error @ KanbanError::CyclicChildren) => {
            Ok(Outcome::refused(id, format!("DB rejected graph: {error}")))
        }
        Err(error) if error.is_refusal() => Ok(Outcome::refused(
            id,
            "task moved out of triage before promotion",
        )),
        Err(error) => Err(error),
    }
}

fn part(
    index: usize,
    count: usize,
    map: &Map<String, Value>,
    team: &Decomposer,
) -> Option<NewChild> {
    let parents = map
        .get("parents")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_u64)
        .filter_map(|at| usize::try_from(at).ok())
        .filter(|at| *at < count && *at != index)
        .collect();
    Some(NewChild {
        title: clip(&text(map, "title")?, CHILD_TITLE_CHARS),
        body: text(map, "body"),
        assignee: Some(known(text(map, "assignee"), team)),
        parents,
    })
}

fn known(name: Option<String>, team: &Decomposer) -> String {
    name.map(|name| name.to_lowercase())
        .filter(|name| team.roster.iter().any(|(known, _)| known == name))
        .unwrap_or_else(|| team.fallback.clone())
}

fn keep(
    board: &Board,
    task: &Task,
    team: &Decomposer,
    plan: &Map<String, Value>,
) -> Result<Outcome, KanbanError> {
    let (title, body) = (text(plan, "title"), text(plan, "body"));
    if title.is_none() && body.is_none() {
        return Ok(Outcome::refused(
            &task.id,
            "LLM response missing title and body",
        ));
    }
    let assignee = known(text(plan, "assignee"), team);
    let done = board.specify(
        &task.id,
        title.as_deref(),
        body.as_deref(),
        Some(&assignee),
        &team.author,
    );
    match done {
        Ok(now) => {
            let new_title = (now.title != task.title).then_some(now.title);
            Ok(Outcome {
                fanout: Some(false),
                ..Outcome::done(&task.id, "specified", new_title)
            })
        }
        Err(error) if error.is_refusal() => Ok(Outcome::refused(
            &task.id,
            "task moved out of triage before promotion",
        )),
        Err(error) => Err(error),
    }
}
