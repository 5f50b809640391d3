//! What a worker is told about its task. Every part has a limit, so that a board
//! with a long history still fits into a prompt.

use std::fmt::Write;

use chrono::{Local, TimeZone};

use crate::error::KanbanError;
use crate::machine::first_line;
use crate::model::{Run, Status, python_sorted};
use crate::store::{Board, TaskView};

const BODY_CHARS: usize = 8192;
const FIELD_CHARS: usize = 4096;
const COMMENT_CHARS: usize = 2048;
const ATTEMPTS: usize = 10;
const COMMENTS: usize = 30;
const RECENT: usize = 5;
const RECENT_CHARS: usize = 200;

/// The whole text for `view`'s task. `terminal_timeout`: what the worker's shell
/// commands may take, when the task limits its run.
pub fn worker_context(board: &Board, view: &TaskView) -> Result<String, KanbanError> {
    let task = &view.task;
    let mut out = String::new();
    // Writing into a string cannot fail.
    let _ = writeln!(out, "# Kanban task {}: {}\n", task.id, task.title);
    let _ = writeln!(
        out,
        "Assignee: {}",
        task.assignee.as_deref().unwrap_or("(unassigned)")
    );
    let _ = writeln!(out, "Status:   {}", task.status);
    if let Some(tenant) = &task.tenant {
        let _ = writeln!(out, "Tenant:   {tenant}");
    }
    let path = task.workspace_path.as_deref().unwrap_or("(unresolved)");
    let _ = writeln!(out, "Workspace: {} @ {path}", task.workspace_kind);
    if let Some(seconds) = task.max_runtime_seconds {
        let _ = writeln!(out, "Max runtime: {seconds}s");
        let _ = writeln!(out, "Terminal timeout: {}s", (seconds - 30).max(1));
    }
    if let Some(branch) = &task.branch_name {
        let _ = writeln!(out, "Branch:   {branch}");
    }
    out.push('\n');
    if let Some(body) = task.body.as_deref().filter(|body| !body.trim().is_empty()) {
        let _ = writeln!(out, "## Body\n{}\n", cut(body, BODY_CHARS));
    }
    attachments(&mut out, view);
    attempts(&mut out, view);
    parents(&mut out, board, view)?;
    recent(&mut out, board, view)?;
    comments(&mut out, view);
    Ok(out)
}

fn attachments(out: &mut String, view: &TaskView) {
    if view.attachments.is_empty() {
        return;
    }
    out.push_str("## Attachments\n");
    for file in &view.attachments {
        let kind = file.content_type.as_deref().unwrap_or("unknown type");
        let kilobytes = (file.size as f64 / 1024.0).max(0.1);
        let _ = writeln!(
            out,
            "- {} ({kind}, {kilobytes:.1} KB): {}",
            file.filename, file.stored_path
        );
    }
    out.push('\n');
}

fn attempts(out: &mut String, view: &TaskView) {
    let closed: Vec<&Run> = view
        .runs
        .iter()
        .filter(|run| run.ended_at.is_some())
        .collect();
    if closed.is_empty() {
        return;
    }
    out.push_str("## Prior attempts on this task\n");
    let skipped = closed.len().saturating_sub(ATTEMPTS);
    if skipped > 0 {
        let _ = writeln!(out, "({skipped} earlier attempts left out)\n");
    }
    for (index, run) in closed.iter().enumerate().skip(skipped) {
        let profile = run.profile.as_deref().unwrap_or("-");
        let _ = writeln!(
            out,
            "### Attempt {} — {} ({profile}, {})",
            index + 1,
            run.state(),
            time(run.started_at)
        );
        if let Some(summary) = &run.summary {
            let _ = writeln!(out, "{}", cut(summary, FIELD_CHARS));
        }
        if let Some(error) = &run.error {
            let _ = writeln!(out, "_error_: {}", cut(error, FIELD_CHARS));
        }
        metadata(out, run);
        out.push('\n');
    }
}

fn parents(out: &mut String, board: &Board, view: &TaskView) -> Result<(), KanbanError> {
    let mut heading = false;
    for id in &view.parents {
        let Some(parent) = board
            .find(id)?
            .filter(|parent| parent.status == Status::Done)
        else {
            continue;
        };
        if !heading {
            out.push_str("## Parent task results\n");
            heading = true;
        }
        let _ = writeln!(out, "### {id}");
        let run = board.newest_completed_run(id)?;
        let said = run
            .as_ref()
            .and_then(|run| run.summary.as_deref())
            .or(parent.result.as_deref())
            .unwrap_or("(no result recorded)");
        let _ = writeln!(out, "{}", cut(said, FIELD_CHARS));
        if let Some(run) = &run {
            metadata(out, run);
        }
        out.push('\n');
    }
    Ok(())
}

fn recent(out: &mut String, board: &Board, view: &TaskView) -> Result<(), KanbanError> {
    let Some(assignee) = &view.task.assignee else {
        return Ok(());
    };
    let work = board.recent_work(assignee, &view.task.id, RECENT)?;
    if work.is_empty() {
        return Ok(());
    }
    let _ = writeln!(out, "## Recent work by @{assignee}");
    for (run, title) in work {
        let summary = first_line(run.summary.as_deref().unwrap_or_default(), RECENT_CHARS);
        let at = time(run.ended_at.unwrap_or(run.started_at));
        let _ = writeln!(out, "- {} — {title} ({at}): {summary}", run.task_id);
    }
    out.push('\n');
    Ok(())
}

fn comments(out: &mut String, view: &TaskView) {
    if view.comments.is_empty() {
        return;
    }
    out.push_str("## Comment thread\n");
    let skipped = view.comments.len().saturating_sub(COMMENTS);
    if skipped > 0 {
        let _ = writeln!(out, "({skipped} earlier comments left out)\n");
    }
    for comment in view.comments.iter().skip(skipped) {
        // The neutral frame keeps an author's name from posing as an instruction.
        let _ = writeln!(
            out,
            "comment from worker `{}` at {}:\n{}\n",
            comment.author,
            time(comment.created_at),
            cut(&comment.body, COMMENT_CHARS)
        );
    }
}

fn metadata(out: &mut String, run: &Run) {
    if let Some(metadata) = &run.metadata {
        let _ = writeln!(
            out,
            "_metadata_: `{}`",
            cut(&python_sorted(metadata), FIELD_CHARS)
        );
    }
}

fn time(seconds: i64) -> String {
    Local
        .timestamp_opt(seconds, 0)
        .single()
        .map(|at| at.format("%Y-%m-%d %H:%M").to_string())
        .unwrap_or_else(|| seconds.to_string())
}

fn cut(text: &str, limit: usize) -> String {
    let length = text.chars().count();
    if length <= limit {
        return text.to_owned();
    }
    let kept: String = text.chars().take(limit).collect();
    format!("{kept}… [truncated, {} chars omitted]", length - limit)
}
