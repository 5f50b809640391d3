//! `kanban dispatch` and `daemon`.

use std::collections::HashSet;
use std::fs;
use std::time::Duration;

use hermes_config::Config;

use super::arguments::{DaemonArgs, DispatchArgs};
use super::context::{Context, Failure, Output, Session, unknown_board};
use crate::boards::{Boards, Slug};
use crate::dispatch::daemon::{Daemon, Ended, Report};
use crate::dispatch::{
    Caps, DispatchResult, ProcessLauncher, Round, RoundLock, Surroundings, WorkerExit,
};
use crate::error::KanbanError;
use crate::settings::Settings;

/// Another dispatcher's round on this board is worth waiting for this long.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn run(
    args: DispatchArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let context = session.context;
    for complaint in &session.settings.complaints {
        output.remark(format!("kanban: {complaint}"));
    }
    let mut caps = Caps::of(&session.settings);
    if let Some(max) = args.max {
        caps.max_spawn = Some(max);
    }
    let own_runs = HashSet::new();
    let round = Round {
        board: &session.board,
        boards: &session.boards,
        paths: &session.paths,
        around: Surroundings {
            home: &context.home,
            environment: &context.environment,
            program: &context.program,
            paths: &session.paths,
            settings: &session.settings,
        },
        host: &context.host,
        caps,
        start: &context.directory,
        // One round has nothing to compare with.
        clock_was_set: false,
        own_runs: &own_runs,
    };
    let result = if args.dry_run {
        round.rehearse()?
    } else {
        let Some(_lock) = RoundLock::acquire(&session.paths.database, PATIENCE)? else {
            return Err(Failure::failed(
                "kanban: another dispatcher is at work on this board; try again",
            ));
        };
        round.run(&mut ProcessLauncher::<WorkerExit>::leaving())?
    };
    print(&result, args.dry_run, args.json, &session.settings, output)
}

fn print(
    result: &DispatchResult,
    dry_run: bool,
    json: bool,
    settings: &Settings,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    if json {
        output.json(&result.to_json())?;
        return Ok(());
    }
    for line in result.to_lines(dry_run, settings.default_assignee.as_deref()) {
        output.line(line)?;
    }
    Ok(())
}

pub(super) fn daemon(
    args: DaemonArgs,
    board: Option<&str>,
    context: &Context,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let board = board
        .map(|text| {
            let slug =
                Slug::parse(text).map_err(|error| Failure::usage(format!("kanban: {error}")))?;
            let boards = Boards::locate(&context.home, &context.environment);
            if boards.exists(&slug) {
                Ok(slug)
            } else {
                Err(unknown_board("kanban", &slug))
            }
        })
        .transpose()?;
    if let Some(path) = &args.pidfile {
        fs::write(path, format!("{}\n", std::process::id())).map_err(KanbanError::io(path))?;
    }
    let config = || {
        Config::load(&context.home, &context.environment, &context.overrides)
            .map_err(|error| error.to_string())
    };
    let daemon = Daemon {
        home: &context.home,
        environment: &context.environment,
        clock: &context.clock,
        host: &context.host,
        program: &context.program,
        start: &context.directory,
        board,
        interval: args
            .interval
            .map(|seconds| Duration::from_secs_f64(seconds.clamp(0.1, 86_400.0))),
        max: args.max,
        failure_limit: args.failure_limit,
        once: args.once,
        config: &config,
    };
    let ended = daemon.run(&mut |report| tell(report, &args, context, output));
    if let Some(path) = &args.pidfile {
        let _ = fs::remove_file(path);
    }
    match ended? {
        Ended::Once | Ended::Unheard => Ok(()),
        // What failed has been told.
        Ended::OnceFailed => Err(Failure::Said {
            message: String::new(),
            exit: 1,
        }),
        Ended::Interrupted => Err(Failure::Said {
            message: String::new(),
            exit: 130,
        }),
        Ended::Terminated => Err(Failure::Said {
            message: String::new(),
            exit: 143,
        }),
    }
}

fn tell(
    report: Report<'_>,
    args: &DaemonArgs,
    context: &Context,
    output: &mut Output<'_>,
) -> std::io::Result<()> {
    match report {
        Report::Remark(text) => {
            output.remark(format!("kanban: {text}"));
            Ok(())
        }
        Report::Round { result, .. } if result.is_idle() && !args.verbose && !args.once => Ok(()),
        Report::Round { board, result } => {
            let now = context.clock.now().timestamp();
            if args.json {
                let mut line = serde_json::json!({"at": now, "board": board.as_str()});
                if let (Some(line), serde_json::Value::Object(buckets)) =
                    (line.as_object_mut(), result.to_json())
                {
                    line.extend(buckets);
                }
                output.line(line.to_string())?;
            } else {
                output.line(format!(
                    "{} {board}: {}",
                    super::format::time(now),
                    one_line(result)
                ))?;
            }
            output.sink.flush()
        }
    }
}

/// `spawned 2, crashed 1, …`, only what is not 0.
fn one_line(result: &DispatchResult) -> String {
    let counts = [
        ("spawned", result.spawned.len()),
        ("promoted", result.promoted),
        ("reclaimed", result.reclaimed),
        ("crashed", result.crashed.len()),
        ("timed out", result.timed_out.len()),
        ("stale", result.stale.len()),
        ("blocked", result.auto_blocked.len()),
        ("rate limited", result.rate_limited.len()),
        ("auto-assigned", result.auto_assigned_default.len()),
        ("unassigned", result.skipped_unassigned.len()),
        ("no such profile", result.skipped_nonspawnable.len()),
        (
            "at per-profile cap",
            result.skipped_per_profile_capped.len(),
        ),
        ("deferred", result.respawn_guarded.len()),
        ("waiting for a place", result.waiting_for_slots),
    ];
    let said: Vec<String> = counts
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(what, count)| format!("{what} {count}"))
        .collect();
    if said.is_empty() {
        "nothing to do".to_owned()
    } else {
        said.join(", ")
    }
}
