//! `kanban tail` and `watch`: events as they come.

use std::time::Duration;

use super::arguments::{TailArgs, WatchArgs};
use super::context::{Failure, Output, Session, task_id};
use super::show::event_line;
use crate::error::KanbanError;
use crate::model::Event;
use crate::store::EventFilter;

/// Events per look.
const PAGE: usize = 200;

pub(super) fn tail(
    args: TailArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let id = task_id(&args.task_id);
    session.board.task(&id).map_err(|error| match error {
        KanbanError::UnknownTask(id) => Failure::failed(format!("no such task: {id}")),
        other => other.into(),
    })?;
    let filter = EventFilter {
        task: Some(id),
        ..EventFilter::default()
    };
    follow(session, &filter, 0, args.interval, output, event_line)
}

pub(super) fn watch(
    args: WatchArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let kinds = args
        .kinds
        .as_deref()
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .filter(|kind| !kind.is_empty())
        .map(str::to_owned)
        .collect();
    let filter = EventFilter {
        task: None,
        assignee: args.assignee,
        tenant: args.tenant,
        kinds,
    };
    let from = session.board.latest_event_id()?;
    follow(session, &filter, from, args.interval, output, |event| {
        let line = event_line(event);
        match line.split_once("] ") {
            Some((time, rest)) => format!("{time}] {}  {rest}", event.task_id),
            None => line,
        }
    })
}

/// Prints events until Ctrl-C or until nobody reads any more. Between looks only a
/// counter is asked for that changes when somebody has written.
fn follow(
    session: &Session<'_>,
    filter: &EventFilter,
    mut after: i64,
    interval: f64,
    output: &mut Output<'_>,
    line: impl Fn(&Event) -> String,
) -> Result<(), Failure> {
    let interval = Duration::from_secs_f64(interval.clamp(0.05, 3600.0));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::Output)?;
    let mut seen_version = None;
    loop {
        let version = session.board.data_version()?;
        if seen_version != Some(version) {
            seen_version = Some(version);
            loop {
                let events = session.board.events_after(after, filter, PAGE)?;
                for event in &events {
                    output.line(line(event))?;
                    after = event.id;
                }
                if events.len() < PAGE {
                    break;
                }
            }
            output.sink.flush()?;
        }
        let interrupted = runtime.block_on(async {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => true,
                () = tokio::time::sleep(interval) => false,
            }
        });
        if interrupted {
            output.line("(stopped)")?;
            return Ok(());
        }
    }
}
