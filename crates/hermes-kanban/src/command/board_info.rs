//! The board as a whole: set-up, counts, assignees, logs, collection.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::json;

use super::arguments::{GcArgs, JsonArgs, LogArgs};
use super::boards::join_counts;
use super::context::{Failure, Output, Session, task_id};
use crate::dispatch::profiles;
use crate::error::KanbanError;
use crate::model::Status;
use crate::store::StatusCounts;
use crate::worker::{LogTail, read_log, seed_worker_skill};

pub(super) fn init(session: &Session<'_>, output: &mut Output<'_>) -> Result<(), Failure> {
    output.line(format!(
        "Kanban DB initialized at {}",
        session.paths.database.display()
    ))?;
    // Workers do without it.
    match seed_worker_skill(&session.context.home) {
        Ok(true) => output.line("The skill kanban-worker was added to this profile.")?,
        Ok(false) => {}
        Err(error) => output.remark(format!("kanban: no skill was added: {error}")),
    }
    let profiles = profiles::on_disk(&session.context.home);
    output.line(format!(
        "\n{} profile(s) can be an --assignee:",
        profiles.len()
    ))?;
    for name in &profiles {
        output.line(format!("  {name}"))?;
    }
    output.line(
        "\nTasks start when a dispatcher runs: `hermes kanban daemon` keeps one running,\n\
         `hermes kanban dispatch` makes one round.",
    )?;
    Ok(())
}

pub(super) fn stats(
    args: JsonArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let stats = session.board.stats()?;
    let now = session.board.now();
    let oldest = stats.oldest_ready_at.map(|at| now - at);
    if args.json {
        output.json(&json!({
            "by_status": stats.by_status,
            "by_assignee": stats.by_assignee,
            "oldest_ready_age_seconds": oldest,
            "now": now,
        }))?;
        return Ok(());
    }
    output.line("By status:")?;
    for status in Status::ALL
        .into_iter()
        .filter(|status| *status != Status::Archived)
    {
        let count = stats.by_status.get(status.as_str()).copied().unwrap_or(0);
        output.line(format!("  {status:<8}  {count}"))?;
    }
    if !stats.by_assignee.is_empty() {
        output.line("\nBy assignee:")?;
        for (assignee, counts) in &stats.by_assignee {
            output.line(format!("  {assignee:<20}  {}", join_counts(counts)))?;
        }
    }
    if let Some(oldest) = oldest {
        output.line(format!("\nOldest ready task age: {oldest}s"))?;
    }
    Ok(())
}

pub(super) fn assignees(
    args: JsonArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let mut rows: BTreeMap<String, (bool, StatusCounts)> = BTreeMap::new();
    for name in profiles::configured(&session.context.home) {
        rows.insert(name, (true, StatusCounts::new()));
    }
    for (name, counts) in session.board.stats()?.by_assignee {
        rows.entry(name).or_default().1 = counts;
    }
    if args.json {
        let list: Vec<_> = rows
            .iter()
            .map(|(name, (on_disk, counts))| {
                json!({"name": name, "on_disk": on_disk, "counts": counts})
            })
            .collect();
        output.json(&list)?;
        return Ok(());
    }
    output.line(format!("{:<20}  {:<8}  COUNTS", "NAME", "ON DISK"))?;
    for (name, (on_disk, counts)) in &rows {
        let on_disk = if *on_disk { "yes" } else { "no" };
        let counts = if counts.is_empty() {
            "(idle)".to_owned()
        } else {
            join_counts(counts)
        };
        output.line(format!("{name:<20}  {on_disk:<8}  {counts}"))?;
    }
    Ok(())
}

pub(super) fn log(
    args: LogArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let id = task_id(&args.task_id);
    let path = session.paths.log_of(id.as_str());
    let tail = args.tail.map_or(LogTail::All, LogTail::Bytes);
    match read_log(&path, tail).map_err(KanbanError::io(path))? {
        Some(bytes) => {
            output.sink.write_all(&bytes)?;
            Ok(())
        }
        None => Err(Failure::failed(format!(
            "(no log for {id} — task may not have spawned yet)"
        ))),
    }
}

pub(super) fn gc(
    args: GcArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let day = 86_400;
    let now = session.board.now();
    let collected = session
        .board
        .collect(now - i64::from(args.event_retention_days) * day)?;
    let mut workspaces = 0;
    for (id, path) in collected.scratch {
        let path = path.map_or_else(|| session.paths.workspaces.join(id.as_str()), Into::into);
        if crate::worker::remove_managed(&path, &session.paths)? {
            workspaces += 1;
        }
    }
    let keep = Duration::from_secs(u64::from(args.log_retention_days) * 86_400);
    let logs = remove_old_logs(session, keep)?;
    output.line(format!(
        "GC complete: {workspaces} workspace(s), {} event row(s), {logs} log file(s) removed",
        collected.events
    ))?;
    Ok(())
}

fn remove_old_logs(session: &Session<'_>, keep: Duration) -> Result<usize, Failure> {
    let mut removed = 0;
    let Ok(entries) = fs::read_dir(&session.paths.logs) else {
        return Ok(0);
    };
    let now: SystemTime = session.context.clock.now().into();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_log = name.to_string_lossy().contains(".log");
        let old = entry
            .metadata()
            .and_then(|meta| meta.modified())
            .is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age > keep));
        if is_log && old {
            fs::remove_file(entry.path()).map_err(KanbanError::io(entry.path()))?;
            removed += 1;
        }
    }
    Ok(removed)
}
