//! Finishing a task, and the gates before it.

use std::collections::HashSet;

use hermes_types::TaskId;
use rusqlite::{Connection, params_from_iter};
use serde_json::{Value, json};

use super::apply::{act, insert_event, load};
use super::links;
use super::open::SqliteBoard;
use super::promote::{Scope, promote_in};
use super::seam::Completing;
use crate::error::KanbanError;
use crate::machine::{Action, Completion, Fence, clip};
use crate::model::{EventKind, Task};

/// What somebody who finishes a task says about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompletionRequest {
    pub result: Option<String>,
    pub summary: Option<String>,
    pub metadata: Option<Value>,
    /// Paths worth keeping; their place after the workspace is gone.
    pub artifacts: Vec<String>,
    /// Cards the worker says it made.
    pub created_cards: Vec<TaskId>,
    pub fence: Fence,
}

/// How much of a refused summary its event shows.
const PREVIEW_CHARS: usize = 200;

impl Completing for SqliteBoard {
    fn complete(&self, id: &TaskId, request: &CompletionRequest) -> Result<Task, KanbanError> {
        let now = self.now();
        let outcome = self.database.write(|tx| {
            let task = load(tx, id)?;
            let (verified, phantom) = verify_cards(tx, &task, &request.created_cards)?;
            if !phantom.is_empty() {
                let preview = request.summary.as_deref().or(request.result.as_deref());
                let payload = json!({
                    "phantom_cards": phantom,
                    "verified_cards": verified,
                    "summary_preview": preview.map(|text| clip(text, PREVIEW_CHARS)),
                });
                let kind = EventKind::CompletionBlockedHallucination;
                insert_event(tx, id, kind, Some(&payload), task.current_run_id, now)?;
                // The event is to stay, so this is not an error of the transaction.
                return Ok(Err(KanbanError::PhantomCards { phantom, verified }));
            }
            let completion = Completion {
                result: request.result.clone(),
                summary: request.summary.clone(),
                metadata: with_artifacts(request),
                artifacts: request.artifacts.clone(),
                verified_cards: verified,
                fence: request.fence,
            };
            let run = task.current_run_id;
            let done = act(tx, &task, &Action::Complete(completion), now)?;
            let text = [request.summary.as_deref(), request.result.as_deref()];
            let phantom_refs = unknown_references(tx, text.into_iter().flatten())?;
            if !phantom_refs.is_empty() {
                let payload = json!({"phantom_refs": phantom_refs, "source": "completion_summary"});
                let kind = EventKind::SuspectedHallucinatedReferences;
                insert_event(tx, id, kind, Some(&payload), run.or(done.new_run), now)?;
            }
            promote_in(tx, Scope::ChildrenOf(id), self.failure_limit, now)?;
            Ok(Ok(done.task))
        });
        match outcome {
            Ok(inner) => inner,
            Err(error) => Err(error),
        }
    }
}

fn with_artifacts(request: &CompletionRequest) -> Option<Value> {
    if request.artifacts.is_empty() {
        return request.metadata.clone();
    }
    let mut metadata = match &request.metadata {
        Some(Value::Object(map)) => map.clone(),
        _ => serde_json::Map::new(),
    };
    metadata.insert("artifacts".to_owned(), json!(request.artifacts));
    Some(Value::Object(metadata))
}

/// A card counts when the completing worker or its task made it, or when it
/// depends on the task.
fn verify_cards(
    connection: &Connection,
    task: &Task,
    cards: &[TaskId],
) -> Result<(Vec<TaskId>, Vec<TaskId>), KanbanError> {
    let mut verified = Vec::new();
    let mut phantom = Vec::new();
    if cards.is_empty() {
        return Ok((verified, phantom));
    }
    let children: HashSet<TaskId> = links::children(connection, &task.id)?.into_iter().collect();
    for card in cards {
        let creator = super::apply::find(connection, card)?.map(|found| found.created_by);
        let own = match creator {
            None => false,
            Some(creator) => {
                children.contains(card)
                    || creator.as_deref().is_some_and(|name| {
                        Some(name) == task.assignee.as_deref() || name == task.id.as_str()
                    })
            }
        };
        if own {
            verified.push(card.clone())
        } else {
            phantom.push(card.clone())
        }
    }
    Ok((verified, phantom))
}

/// Ids that look like tasks and are none.
fn unknown_references<'a>(
    connection: &Connection,
    texts: impl Iterator<Item = &'a str>,
) -> Result<Vec<String>, KanbanError> {
    let mut named: Vec<String> = Vec::new();
    for text in texts {
        for id in task_references(text) {
            if !named.iter().any(|known| known == id) {
                named.push(id.to_owned());
            }
        }
    }
    if named.is_empty() {
        return Ok(named);
    }
    let marks = vec!["?"; named.len()].join(", ");
    let known: HashSet<String> = connection
        .prepare(&format!("SELECT id FROM tasks WHERE id IN ({marks})"))?
        .query_map(params_from_iter(&named), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    named.retain(|id| !known.contains(id));
    Ok(named)
}

/// Every `t_` followed by eight or more hex digits.
fn task_references(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("t_").filter_map(|(start, _)| {
        let rest = &text[start + 2..];
        let hex = rest
            .bytes()
            .take_while(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(b))
            .count();
        let inside_word = text[..start]
            .chars()
            .next_back()
            .is_some_and(|c| c.is_alphanumeric() || c == '_');
        (hex >= 8 && !inside_word).then(|| &text[start..start + 2 + hex])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_ids_and_not_parts_of_words() {
        let text = "see t_deadbeef and t_0123456789ab, not t_short, not cat_deadbeef, t_xyz";
        let found: Vec<_> = task_references(text).collect();
        assert_eq!(found, ["t_deadbeef", "t_0123456789ab"]);
    }
}
