//! `kanban list`.

use super::arguments::{ListArgs, StatusArg};
use super::context::{Failure, Output, Session};
use crate::model::Status;
use crate::store::{ListFilter, ListSort};

/// As much is handed on at once.
const PIECE: usize = 64 * 1024;

impl From<StatusArg> for Status {
    fn from(status: StatusArg) -> Self {
        match status {
            StatusArg::Archived => Status::Archived,
            StatusArg::Blocked => Status::Blocked,
            StatusArg::Done => Status::Done,
            StatusArg::Ready => Status::Ready,
            StatusArg::Review => Status::Review,
            StatusArg::Running => Status::Running,
            StatusArg::Scheduled => Status::Scheduled,
            StatusArg::Todo => Status::Todo,
            StatusArg::Triage => Status::Triage,
        }
    }
}

pub(super) fn run(
    args: ListArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    session.board.recompute_ready()?;
    let assignee = if args.mine {
        Some(session.author())
    } else {
        args.assignee
    };
    let filter = ListFilter {
        assignee: assignee.map(|name| name.trim().to_lowercase()),
        status: args.status.map(Status::from),
        tenant: args.tenant,
        session: args.session,
        archived: args.archived,
        workflow_template_id: args.workflow_template_id,
        step_key: args.step_key,
        limit: None,
    };
    let sort = args.sort.map_or(ListSort::Priority, ListSort::from);
    if args.json {
        return as_json(&filter, sort, session, output);
    }
    let others = session.boards.list().len() - 1;
    if others > 0 {
        let plural = if others == 1 { "board" } else { "boards" };
        output.line(format!(
            "Board: {} ({others} other {plural} — `hermes kanban boards list`)\n",
            session.paths.slug
        ))?;
    }
    let mut any = false;
    let mut written = Ok(());
    session.board.list_rows(&filter, sort, &mut |row| {
        any = true;
        if written.is_ok() {
            let assignee = row.assignee.as_deref().unwrap_or("(unassigned)");
            let tenant = row
                .tenant
                .map(|name| format!(" [{name}]"))
                .unwrap_or_default();
            written = output.line(format!(
                "{} {}  {:<8}  {assignee:<20}{tenant}  {}",
                row.status.icon(),
                row.id,
                row.status,
                row.title
            ));
        }
    })?;
    written?;
    if !any {
        output.line("(no matching tasks)")?;
    }
    Ok(())
}

/// Rows go out as they come in: a board may be large.
fn as_json(
    filter: &ListFilter,
    sort: ListSort,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let mut buffer = Vec::with_capacity(PIECE + PIECE / 4);
    let mut written = Ok(());
    let mut any = false;
    session.board.list_public(filter, sort, &mut |task| {
        buffer.extend_from_slice(if any { b",\n" } else { b"[\n" });
        any = true;
        task.write_as_item(&mut buffer);
        if buffer.len() >= PIECE {
            if written.is_ok() {
                written = output.sink.write_all(&buffer);
            }
            buffer.clear();
        }
    })?;
    written?;
    buffer.extend_from_slice(if any { b"\n]\n" } else { b"[]\n" });
    output.sink.write_all(&buffer)?;
    Ok(())
}
