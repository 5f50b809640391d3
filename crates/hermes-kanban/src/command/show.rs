//! `kanban show`, `runs` and `context`.

use serde_json::{Value, json};

use super::arguments::{RunsArgs, ShowArgs, StateArgs, StateType, TaskArgs};
use super::context::{Failure, Output, Session, task_id};
use super::diagnostics::auxiliary;
use super::format::{span, time};
use crate::diagnostics::{data_line, diagnose};
use crate::error::KanbanError;
use crate::model::{Event, Run, Task, python};
use crate::store::{RunFilter, TaskView};
use crate::worker::worker_context;

/// How many events the text shows; JSON has them all.
const EVENTS_SHOWN: usize = 20;

pub(super) fn run(
    args: ShowArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let filter = filter(&args.state)?;
    let mut view = view(session, &args.task_id)?;
    let latest = view.latest_summary().map(str::to_owned);
    if let Some(filter) = filter {
        view.runs.retain(|run| filter.accepts(run));
    }
    if args.json {
        let runs: Vec<Value> = view.runs.iter().map(Run::show_json).collect();
        output.json(&json!({
            "task": view.task,
            "latest_summary": latest,
            "parents": view.parents,
            "children": view.children,
            "comments": view.comments,
            "events": view.events,
            "runs": runs,
        }))?;
        return Ok(());
    }
    text(&view, latest.as_deref(), session, output)
}

fn view(session: &Session<'_>, id: &str) -> Result<TaskView, Failure> {
    session
        .board
        .view(&task_id(id))
        .map_err(|error| match error {
            KanbanError::UnknownTask(id) => Failure::failed(format!("no such task: {id}")),
            other => other.into(),
        })
}

fn filter(state: &StateArgs) -> Result<Option<RunFilter>, Failure> {
    match (state.state_type, &state.state_name) {
        (None, None) => Ok(None),
        (Some(StateType::Status), Some(value)) => Ok(Some(RunFilter::Status(value.clone()))),
        (Some(StateType::Outcome), Some(value)) => Ok(Some(RunFilter::Outcome(value.clone()))),
        _ => Err(Failure::usage(
            "kanban: --state-type and --state-name must be given together",
        )),
    }
}

fn text(
    view: &TaskView,
    latest: Option<&str>,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let task = &view.task;
    output.line(format!("Task {}: {}", task.id, task.title))?;
    let mut field = |name: &str, value: &str| output.line(format!("  {name:<10} {value}"));
    field("status:", task.status.as_str())?;
    field("assignee:", task.assignee.as_deref().unwrap_or("-"))?;
    if let Some(tenant) = &task.tenant {
        field("tenant:", tenant)?;
    }
    let workspace = match &task.workspace_path {
        Some(path) => format!("{} @ {path}", task.workspace_kind),
        None => task.workspace_kind.to_string(),
    };
    field("workspace:", &workspace)?;
    if let Some(branch) = &task.branch_name {
        field("branch:", branch)?;
    }
    if let Some(skills) = &task.skills {
        field("skills:", &skills.join(", "))?;
    }
    output.line(format!("  max-retries: {}", retries(task, session)))?;
    let by = task.created_by.as_deref().unwrap_or("-");
    output.line(format!("  created:   {} by {by}", time(task.created_at)))?;
    findings(task, session, output)?;
    let mut moment = |name: &str, at: Option<i64>| match at {
        Some(at) => output.line(format!("  {name:<10} {}", time(at))),
        None => Ok(()),
    };
    moment("started:", task.started_at)?;
    moment("completed:", task.completed_at)?;
    let mut links = |name: &str, ids: &[hermes_types::TaskId]| match ids {
        [] => Ok(()),
        ids => output.line(format!("  {name:<10} {}", crate::error::join(ids))),
    };
    links("parents:", &view.parents)?;
    links("children:", &view.children)?;

    let mut section = |title: &str, text: &str| output.line(format!("\n{title}:\n{text}"));
    if let Some(body) = &task.body {
        section("Body", body)?;
    }
    match (&task.result, latest) {
        (Some(result), _) => section("Result", result)?,
        (None, Some(latest)) => section("Latest summary", latest)?,
        (None, None) => {}
    }
    if !view.comments.is_empty() {
        output.line(format!("\nComments ({}):", view.comments.len()))?;
        for comment in &view.comments {
            let at = time(comment.created_at);
            output.line(format!("  [{at}] {}: {}", comment.author, comment.body))?;
        }
    }
    if !view.events.is_empty() {
        output.line(format!("\nEvents ({}):", view.events.len()))?;
        for event in view
            .events
            .iter()
            .skip(view.events.len().saturating_sub(EVENTS_SHOWN))
        {
            output.line(format!("  {}", event_line(event)))?;
        }
    }
    if !view.runs.is_empty() {
        output.line(format!("\nRuns ({}):", view.runs.len()))?;
        for run in &view.runs {
            run_lines(run, output)?;
        }
    }
    Ok(())
}

fn retries(task: &Task, session: &Session<'_>) -> String {
    match task.max_retries.filter(|n| *n >= 1) {
        Some(own) => format!("{own} (task)"),
        None if session.settings.failure_limit_is_set => {
            format!(
                "{} (config kanban.failure_limit)",
                session.settings.failure_limit
            )
        }
        None => format!("{} (default)", session.settings.failure_limit),
    }
}

fn findings(task: &Task, session: &Session<'_>, output: &mut Output<'_>) -> Result<(), Failure> {
    let now = session.board.now();
    let thresholds = &session.settings.diagnostics;
    let examined = session.board.examine(Some(&task.id), now)?;
    let found: Vec<_> = examined
        .iter()
        .flat_map(|one| diagnose(one, thresholds, auxiliary(session), now))
        .collect();
    if found.is_empty() {
        return Ok(());
    }
    output.line(format!("\n  Diagnostics ({}):", found.len()))?;
    for finding in found {
        let (mark, severity) = (finding.severity.mark(), finding.severity.as_str());
        output.line(format!("    {mark} [{severity}] {}", finding.title))?;
        if !finding.data.is_empty() {
            output.line(format!("       data: {}", data_line(&finding.data)))?;
        }
        for action in finding.actions.iter().filter(|action| action.suggested) {
            output.line(format!("       → {}", action.label))?;
        }
    }
    Ok(())
}

/// `[time] [run N] kind payload`.
pub(super) fn event_line(event: &Event) -> String {
    let run = event
        .run_id
        .map(|id| format!(" [run {id}]"))
        .unwrap_or_default();
    let payload = event
        .payload
        .as_ref()
        .map(|p| format!(" {}", python(p)))
        .unwrap_or_default();
    format!("[{}]{run} {}{payload}", time(event.created_at), event.kind)
}

fn run_lines(run: &Run, output: &mut Output<'_>) -> Result<(), Failure> {
    let elapsed = match run.ended_at {
        Some(ended) => format!("{}s", ended - run.started_at),
        None => "active".to_owned(),
    };
    output.line(format!(
        "  #{:<3} {:<12} @{}  {elapsed}  {}",
        run.id,
        run.state(),
        run.profile.as_deref().unwrap_or("-"),
        time(run.started_at)
    ))?;
    if let Some(summary) = &run.summary {
        output.line(format!("        → {}", first(summary)))?;
    }
    if let Some(error) = &run.error {
        output.line(format!("        ! {}", first(error)))?;
    }
    Ok(())
}

fn first(text: &str) -> String {
    crate::machine::first_line(text, 160)
}

pub(super) fn runs(
    args: RunsArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let filter = filter(&args.state)?;
    let id = task_id(&args.task_id);
    let mut runs = session.board.runs(&id).map_err(|error| match error {
        KanbanError::UnknownTask(id) => Failure::failed(format!("no such task: {id}")),
        other => other.into(),
    })?;
    if let Some(filter) = filter {
        runs.retain(|run| filter.accepts(run));
    }
    if args.json {
        let rows: Vec<Value> = runs.iter().map(Run::list_json).collect();
        output.json(&rows)?;
        return Ok(());
    }
    if runs.is_empty() {
        output.line(format!("(no runs yet for {id})"))?;
        return Ok(());
    }
    output.line("#    OUTCOME       PROFILE            ELAPSED  STARTED")?;
    for (index, run) in runs.iter().enumerate() {
        let elapsed = match run.ended_at {
            Some(ended) => span(ended - run.started_at),
            None => "active".to_owned(),
        };
        output.line(format!(
            "{:>3}  {:<12}  {:<16} {elapsed:>9}  {}",
            index + 1,
            run.state(),
            run.profile.as_deref().unwrap_or("-"),
            time(run.started_at)
        ))?;
        if let Some(summary) = &run.summary {
            output.line(format!("     → {}", first(summary)))?;
        }
        if let Some(error) = &run.error {
            output.line(format!("     ✖ {}", first(error)))?;
        }
    }
    Ok(())
}

pub(super) fn context(
    args: TaskArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let view = view(session, &args.task_id)?;
    output
        .sink
        .write_all(worker_context(&session.board, &view)?.as_bytes())?;
    Ok(())
}
