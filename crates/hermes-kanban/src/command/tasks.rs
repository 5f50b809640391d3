//! Verbs that change a task.

use hermes_types::TaskId;
use serde_json::{Value, json};

use super::arguments::{
    ArchiveArgs, AssignArgs, CommentArgs, CompleteArgs, EditArgs, LinkArgs, ParkArgs, PromoteArgs,
    UnblockArgs,
};
use super::context::{Failure, Output, Session, task_id};
use super::format;
use crate::error::KanbanError;
use crate::machine::Refusal;
use crate::model::Status;
use crate::store::{CompletionRequest, Remark};
use crate::worker;

/// Does something to each task; those that refuse are named, and the command
/// fails when any did.
pub(super) fn each(
    ids: &[TaskId],
    output: &mut Output<'_>,
    mut act: impl FnMut(&TaskId) -> Result<String, Failure>,
) -> Result<(), Failure> {
    let mut failed = None;
    for id in ids {
        match act(id) {
            Ok(line) => output.line(line)?,
            Err(Failure::Said { message, exit }) => {
                output.remark(&message);
                failed = Some(exit);
            }
            Err(other) => return Err(other),
        }
    }
    match failed {
        None => Ok(()),
        // Everything has been said already.
        Some(exit) => Err(Failure::Said {
            message: String::new(),
            exit,
        }),
    }
}

/// A refusal in the words of the verb; anything else as it is.
pub(super) fn refused(message: String) -> impl Fn(KanbanError) -> Failure {
    move |error| {
        if error.is_refusal() {
            Failure::failed(message.clone())
        } else {
            error.into()
        }
    }
}

/// `none`, `-` and `null` mean nobody.
pub(super) fn profile(text: &str) -> Option<&str> {
    match text.trim() {
        "none" | "-" | "null" => None,
        name => Some(name),
    }
}

fn with_reason(line: String, reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("{line}: {reason}"),
        None => line,
    }
}

fn words(words: &[String]) -> Option<String> {
    let text = words.join(" ").trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn all_ids(first: &str, more: &[String]) -> Vec<TaskId> {
    let mut ids = vec![task_id(first)];
    ids.extend(more.iter().map(|id| task_id(id)));
    ids
}

pub(super) fn assign(
    args: AssignArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let id = task_id(&args.task_id);
    let assignee = profile(&args.profile);
    let task = session.board.assign(&id, assignee).map_err(|error| match error {
        KanbanError::UnknownTask(id) => Failure::failed(format!("no such task: {id}")),
        KanbanError::Refused(Refusal::Claimed) => Failure::failed(format!(
            "kanban: cannot reassign {id}: currently running (claimed). Wait for completion or reclaim the stale lock first."
        )),
        other => other.into(),
    })?;
    let shown = task.assignee.as_deref().unwrap_or("(unassigned)");
    output.line(format!("Assigned {id} to {shown}"))?;
    Ok(())
}

pub(super) fn link(
    args: LinkArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let (parent, child) = (task_id(&args.parent_id), task_id(&args.child_id));
    session.board.link(&parent, &child)?;
    output.line(format!("Linked {parent} -> {child}"))?;
    Ok(())
}

pub(super) fn unlink(
    args: LinkArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let (parent, child) = (task_id(&args.parent_id), task_id(&args.child_id));
    if !session.board.unlink(&parent, &child)? {
        return Err(Failure::failed(format!(
            "No such link: {parent} -> {child}"
        )));
    }
    output.line(format!("Unlinked {parent} -> {child}"))?;
    Ok(())
}

pub(super) fn comment(
    args: CommentArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let id = task_id(&args.task_id);
    let mut text = args.text.join(" ");
    if let Some(limit) = args.max_len.and_then(|n| usize::try_from(n).ok())
        && text.chars().count() > limit
    {
        text = text.chars().take(limit).collect();
        text.push_str(&format!("\n\n[trimmed to {limit} chars by --max-len]"));
    }
    let author = args.author.unwrap_or_else(|| session.author());
    session.board.comment(&id, &author, &text)?;
    output.line(format!("Comment added to {id}"))?;
    Ok(())
}

pub(super) fn complete(
    args: CompleteArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let ids: Vec<TaskId> = args.task_ids.iter().map(|id| task_id(id)).collect();
    let metadata = format::metadata(args.metadata.as_deref())?.map(Value::Object);
    if ids.len() > 1 && (args.summary.is_some() || metadata.is_some()) {
        return Err(Failure::usage(
            "kanban: --summary and --metadata belong to one task; complete the tasks one by one",
        ));
    }
    each(&ids, output, |id| {
        let refuse = refused(format!(
            "cannot complete {id} (unknown id or terminal state)"
        ));
        session
            .once_nobody_works(id, |_, fence, _| {
                let request = CompletionRequest {
                    result: args.result.clone(),
                    summary: args.summary.clone(),
                    metadata: metadata.clone(),
                    fence,
                    ..CompletionRequest::default()
                };
                worker::complete(&session.board, &session.paths, id, &request)
            })
            .map_err(refuse)?;
        Ok(format!("Completed {id}"))
    })
}

pub(super) fn edit(
    args: EditArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let id = task_id(&args.task_id);
    let metadata = format::metadata(args.metadata.as_deref())?;
    session
        .board
        .edit_result(
            &id,
            &args.result,
            args.summary.as_deref(),
            metadata.as_ref(),
        )
        .map_err(refused(format!(
            "cannot edit {id} (unknown id or task is not done)"
        )))?;
    output.line(format!("Edited {id}"))?;
    Ok(())
}

pub(super) fn block(
    args: ParkArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    park(&args, Status::Blocked, session, output)
}

pub(super) fn schedule(
    args: ParkArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    park(&args, Status::Scheduled, session, output)
}

fn park(
    args: &ParkArgs,
    into: Status,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let reason = words(&args.reason);
    let reason = reason.as_deref();
    let author = session.author();
    let (verb, done, prefix) = match into {
        Status::Scheduled => ("schedule", "Scheduled", "SCHEDULED"),
        _ => ("block", "Blocked", "BLOCKED"),
    };
    let text = reason.map(|reason| format!("{prefix}: {reason}"));
    let remark = text.as_deref().map(|text| Remark {
        author: &author,
        text,
    });
    each(&all_ids(&args.task_id, &args.ids), output, |id| {
        session
            .once_nobody_works(id, |_, fence, _| match into {
                Status::Scheduled => session.board.schedule(id, reason, fence, remark),
                _ => session.board.block(id, reason, fence, remark),
            })
            .map_err(refused(format!("cannot {verb} {id}")))?;
        Ok(with_reason(format!("{done} {id}"), reason))
    })
}

pub(super) fn unblock(
    args: UnblockArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let ids: Vec<TaskId> = args.task_ids.iter().map(|id| task_id(id)).collect();
    let author = session.author();
    let reason = args
        .reason
        .as_deref()
        .map(str::trim)
        .filter(|text| !text.is_empty());
    each(&ids, output, |id| {
        let text = reason.map(|reason| format!("UNBLOCK: {reason}"));
        let remark = text.as_deref().map(|text| Remark {
            author: &author,
            text,
        });
        session.board.unblock(id, remark).map_err(refused(format!(
            "cannot unblock {id} (not blocked/scheduled?)"
        )))?;
        Ok(with_reason(format!("Unblocked {id}"), reason))
    })
}

pub(super) fn promote(
    args: PromoteArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let reason = words(&args.reason);
    let ids = all_ids(&args.task_id, &args.ids);
    let author = session.author();
    let attempt = |id: &TaskId| {
        session
            .board
            .promote(id, &author, reason.as_deref(), args.force, args.dry_run)
    };
    if !args.json {
        return each(&ids, output, |id| {
            attempt(id).map_err(|error| match &error {
                KanbanError::Refused(why) => Failure::failed(format!("cannot promote {id}: {why}")),
                KanbanError::UnknownTask(_) => {
                    Failure::failed(format!("cannot promote {id}: no such task"))
                }
                _ => error.into(),
            })?;
            Ok(if args.dry_run {
                format!("Would promote {id} -> ready (dry)")
            } else {
                with_reason(format!("Promoted {id} -> ready"), reason.as_deref())
            })
        });
    }
    let mut rows = Vec::with_capacity(ids.len());
    let mut failed = false;
    for id in &ids {
        let error = match attempt(id) {
            Ok(_) => None,
            Err(error) if error.is_refusal() => Some(error.to_string()),
            Err(error) => return Err(error.into()),
        };
        failed |= error.is_some();
        rows.push(json!({
            "task_id": id,
            "promoted": error.is_none(),
            "dry_run": args.dry_run,
            "forced": args.force,
            "reason": reason,
            "error": error,
        }));
    }
    match rows.as_slice() {
        [one] => output.json(one)?,
        many => output.json(many)?,
    }
    if failed {
        return Err(Failure::Said {
            message: String::new(),
            exit: 1,
        });
    }
    Ok(())
}

pub(super) fn archive(
    args: ArchiveArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let away: Vec<TaskId> = args.task_ids.iter().map(|id| task_id(id)).collect();
    let gone: Vec<TaskId> = args.rm.iter().map(|id| task_id(id)).collect();
    let archived = each(&away, output, |id| {
        session
            .once_nobody_works(id, |_, fence, _| session.board.archive(id, fence))
            .map_err(refused(format!("cannot archive {id}")))?;
        Ok(format!("Archived {id}"))
    });
    let deleted = each(&gone, output, |id| {
        let refuse = format!("cannot delete {id} (must already be archived)");
        if !session
            .board
            .delete_archived(id)
            .map_err(refused(refuse.clone()))?
        {
            return Err(Failure::failed(refuse));
        }
        let files = session.paths.attachments_of(id.as_str());
        if files.is_dir() {
            std::fs::remove_dir_all(&files).map_err(KanbanError::io(files))?;
        }
        Ok(format!("Deleted {id}"))
    });
    archived.and(deleted)
}
