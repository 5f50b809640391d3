//! `kanban specify` and `decompose`.

use hermes_types::TaskId;
use serde_json::json;

use super::arguments::TriageArgs;
use super::context::{Failure, Output, Session, task_id};
use crate::dispatch::profiles;
use crate::env;
use crate::error::KanbanError;
use crate::triage::{Assistant, Decomposer, Outcome, decompose, specify};

/// Which of the two.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Specify,
    Decompose,
}

pub(super) fn run(
    way: Way,
    args: TriageArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let ids: Vec<TaskId> = match (&args.task_id, args.all) {
        (Some(id), false) => vec![task_id(id)],
        (None, true) => session
            .board
            .in_triage(args.tenant.as_deref())?
            .into_iter()
            .map(|task| task.id)
            .collect(),
        _ => {
            return Err(Failure::usage(
                "kanban: give a task id or --all, and not both",
            ));
        }
    };
    if ids.is_empty() {
        if args.json {
            let verb = match way {
                Way::Specify => "specified",
                Way::Decompose => "decomposed",
            };
            output.line(json!({verb: 0, "total": 0}).to_string())?;
        } else {
            output.line("(nothing in triage)")?;
        }
        return Ok(());
    }
    let assistant = session.context.assistant.as_deref();
    let author = args.author.clone().unwrap_or_else(|| session.author());
    let mut failed = 0;
    for id in &ids {
        let outcome = match assistant {
            Some(assistant) => one(way, session, assistant, id, &author)?,
            None => unavailable(id),
        };
        failed += usize::from(!outcome.ok);
        tell(way, &outcome, args.json, output)?;
    }
    // Of many, some may fail; of one, none.
    if failed == ids.len() {
        return Err(Failure::Said {
            message: String::new(),
            exit: 1,
        });
    }
    Ok(())
}

fn unavailable(id: &TaskId) -> Outcome {
    Outcome {
        task: id.clone(),
        ok: false,
        reason: "no auxiliary client configured".to_owned(),
        new_title: None,
        fanout: None,
        children: Vec::new(),
    }
}

fn one(
    way: Way,
    session: &Session<'_>,
    assistant: &dyn Assistant,
    id: &TaskId,
    author: &str,
) -> Result<Outcome, KanbanError> {
    let context = session.context;
    match way {
        Way::Specify => {
            let max_tokens = context
                .environment
                .get_non_empty(env::SPECIFY_MAX_TOKENS)
                .and_then(|text| text.parse().ok());
            specify(&session.board, assistant, id, author, max_tokens)
        }
        Way::Decompose => {
            let settings = &session.settings;
            let here = context.home.profile_name();
            let or_here = |wanted: &Option<String>| {
                wanted
                    .clone()
                    .filter(|name| profiles::exists(&context.home, name))
                    .unwrap_or_else(|| here.clone())
            };
            let team = Decomposer {
                roster: profiles::described(&context.home),
                fallback: or_here(&settings.default_assignee),
                orchestrator: or_here(&settings.orchestrator_profile),
                author: author.to_owned(),
                auto_promote: settings.auto_promote_children,
            };
            decompose(&session.board, assistant, id, &team)
        }
    }
}

fn tell(way: Way, outcome: &Outcome, json: bool, output: &mut Output<'_>) -> Result<(), Failure> {
    if json {
        let value = match way {
            Way::Specify => outcome.specify_json(),
            Way::Decompose => outcome.decompose_json(),
        };
        output.line(value.to_string())?;
        return Ok(());
    }
    let id = &outcome.task;
    if !outcome.ok {
        let verb = match way {
            Way::Specify => "specify",
            Way::Decompose => "decompose",
        };
        output.remark(format!("cannot {verb} {id}: {}", outcome.reason));
        return Ok(());
    }
    if outcome.fanout == Some(true) {
        output.line(format!(
            "Decomposed {id} → {} children ({}); root promoted to todo",
            outcome.children.len(),
            crate::error::join(&outcome.children)
        ))?;
    } else {
        let retitled = outcome
            .new_title
            .as_ref()
            .map(|title| format!(" — retitled: '{title}'"))
            .unwrap_or_default();
        output.line(format!("Specified {id} → todo{retitled}"))?;
    }
    Ok(())
}
