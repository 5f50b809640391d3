//! A one-shot conversation that works on a kanban task: it takes up its run,
//! is heard of while it works, and reports its end before the process exits.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hermes_agent::picture;
use hermes_config::Config;
use hermes_kanban::tools::ToolAccess;
use hermes_kanban::worker::{Assignment, Next, NotMine, TurnEnd, WorkerSession};
use hermes_kanban::{Host, KanbanError, Settings};
use hermes_llm::{Auxiliary, Request};
use hermes_types::{Content, Message, Part, StopReason, TurnOutcome};

use crate::wiring::{Wired, open_models};
use crate::{CommandError, Context, ErrorKind};

/// How often activity is looked at as a possible heartbeat.
const PULSE: Duration = Duration::from_secs(60);

pub(super) struct Worker {
    session: Arc<Mutex<WorkerSession>>,
    pulsed: Mutex<Option<Instant>>,
}

/// `None` when this process is nobody's worker.
pub(super) fn begin(context: &Context) -> Result<Option<Worker>, CommandError> {
    let Some(assignment) = Assignment::of(&context.environment) else {
        return Ok(None);
    };
    check_in(assignment, context.config()?, context).map(Some)
}

/// The configuration cannot be read. The board is told with what there is without
/// it, because whoever started this worker may not wait for it.
pub(super) fn cannot_start(error: CommandError, context: &Context) -> CommandError {
    let error = judged(error, context);
    if let Some(assignment) = Assignment::of(&context.environment) {
        match check_in(assignment, &Config::defaults(), context) {
            Ok(worker) => worker.gave_up(&error),
            Err(reason) => {
                tracing::error!(reason = %reason.error, "the worker's end was not written down");
            }
        }
    }
    error
}

fn check_in(
    assignment: Assignment,
    config: &Config,
    context: &Context,
) -> Result<Worker, CommandError> {
    let host = Host::of_machine();
    let access = ToolAccess::new(
        &context.home,
        &context.environment,
        config,
        &context.clock,
        host.clone(),
    );
    let board = access.own_board().map_err(failed)?;
    let ttl = Settings::read(config, &context.environment).claim_ttl;
    let task = assignment.task.clone();
    let session =
        WorkerSession::check_in(board, assignment, &host, ttl).map_err(|reason| match reason {
            NotMine::RunIsOver(why) => {
                CommandError::user(format!("task {task} is not this worker's any more: {why}"))
            }
            NotMine::Board(error) => failed(error),
        })?;
    Ok(Worker {
        session: Arc::new(Mutex::new(session)),
        pulsed: Mutex::new(None),
    })
}

/// Whoever starts workers starts them again; what is wrong with the configuration
/// is still wrong then, and the exit code says so.
pub(super) fn judged(mut error: CommandError, context: &Context) -> CommandError {
    if error.kind == ErrorKind::Config && Assignment::of(&context.environment).is_some() {
        error.kind = ErrorKind::ConfigFinal;
    }
    error
}

fn failed(error: KanbanError) -> CommandError {
    CommandError::user(error.to_string())
}

impl Worker {
    fn session(&self) -> MutexGuard<'_, WorkerSession> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something happened in the turn. Never waits for the board.
    pub(super) fn pulse(&self) {
        let mut last = self.pulsed.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|at| at.elapsed() < PULSE) {
            return;
        }
        *last = Some(Instant::now());
        let session = Arc::clone(&self.session);
        tokio::task::spawn_blocking(move || {
            session
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .pulse();
        });
    }

    /// The first message with the pictures that the task's text names.
    pub(super) fn with_pictures(
        &self,
        content: Content,
        user_home: &Path,
    ) -> Result<Content, CommandError> {
        let references = self.session().images(user_home).map_err(failed)?;
        let mut pictures: Vec<Part> = Vec::new();
        for reference in references {
            if reference.starts_with("http") {
                pictures.push(Part::Image { url: reference });
            } else {
                match picture(Path::new(&reference)) {
                    Ok(part) => pictures.push(part),
                    Err(reason) => tracing::warn!(%reason, "a picture of the task was left out"),
                }
            }
        }
        if pictures.is_empty() {
            return Ok(content);
        }
        let mut parts = match content {
            Content::Text(text) => vec![Part::Text { text }],
            Content::Parts(parts) => parts,
        };
        parts.extend(pictures);
        Ok(Content::Parts(parts))
    }

    /// What the end of a turn means for the task: words for another turn, or the
    /// exit code.
    pub(super) async fn next(
        &self,
        outcome: &TurnOutcome,
        signalled: bool,
        wired: &Wired,
        context: &Context,
    ) -> Result<Result<String, u8>, CommandError> {
        let mut next = self
            .session()
            .after_turn(turn_end(outcome, signalled))
            .map_err(failed)?;
        loop {
            match next {
                Next::Say(text) => return Ok(Ok(text)),
                Next::Exit(code) => return Ok(Err(code)),
                Next::Judge { system, user } => {
                    let verdict = judge(&system, &user, wired, context).await;
                    next = self.session().judged(verdict).map_err(failed)?;
                }
            }
        }
    }

    /// The conversation ended in an error outside of a turn.
    pub(super) fn gave_up(&self, error: &CommandError) {
        let end = match error.kind {
            ErrorKind::Terminated | ErrorKind::Interrupted => TurnEnd::Interrupted,
            ErrorKind::RateLimited => TurnEnd::RateLimited {
                message: error.error.to_string(),
            },
            ErrorKind::ConfigFinal => TurnEnd::Misconfigured {
                message: error.error.to_string(),
            },
            _ => TurnEnd::Failed {
                message: error.error.to_string(),
            },
        };
        if let Err(error) = self.session().after_turn(end) {
            tracing::error!(%error, "the worker's end was not written down");
        }
    }
}

fn turn_end(outcome: &TurnOutcome, signalled: bool) -> TurnEnd {
    let message = || {
        outcome
            .error
            .clone()
            .unwrap_or_else(|| "no reason was given".to_owned())
    };
    match outcome.reason {
        _ if signalled => TurnEnd::Interrupted,
        StopReason::Interrupted => TurnEnd::Interrupted,
        StopReason::RateLimited => TurnEnd::RateLimited { message: message() },
        StopReason::Budget => TurnEnd::BudgetReached { message: message() },
        StopReason::IterationLimit => TurnEnd::OutOfIterations {
            used: outcome.api_calls,
            max: outcome.api_calls,
        },
        StopReason::KeyRefused => TurnEnd::Misconfigured { message: message() },
        StopReason::Failed => TurnEnd::Failed { message: message() },
        StopReason::Answered | StopReason::Partial | StopReason::Guardrail => TurnEnd::Answered {
            text: outcome.answer.clone(),
        },
    }
}

async fn judge(
    system: &str,
    user: &str,
    wired: &Wired,
    context: &Context,
) -> Result<String, String> {
    let models = open_models(context).map_err(|error| error.error.to_string())?;
    let request = Request::new(system, vec![Arc::new(Message::user(user))]);
    Auxiliary::new(models, wired.main_model())
        .ask("goal_judge", &request)
        .await
        .map(|answer| answer.text)
        .map_err(|error| error.to_string())
}
