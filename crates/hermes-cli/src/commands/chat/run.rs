//! One question, one answer, the right exit code.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_agent::build::Wishes;
use hermes_agent::prompt::expand;
use hermes_agent::{Agent, picture, with_picture};
use hermes_home::env;
use hermes_knowledge::skills::SkillError;
use hermes_tools::StateHandle;
use hermes_tools::approval::Occasion;
use hermes_tools::builtin::activation;
use hermes_types::{Content, Interrupt, Part, Role, SessionId, StopReason, TurnEvent, TurnOutcome};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::beginning;
use super::resume::{self, Found};
use super::show::{Counts, How, Screen};
use super::worker::{self, Worker};
use super::worktree::Worktree;
use crate::cli::RunOptions;
use crate::commands::Notices;
use crate::logging::Role as LogRole;
use crate::wiring::{Wanted, Wired, place, selection, wire};
use crate::{CommandError, Context, ErrorKind, Exit, Out};

/// Between a signal and the end, for the running tool to be ended properly.
const DEFAULT_GRACE: Duration = Duration::from_millis(1500);

pub(super) struct Call {
    pub(super) query: String,
    pub(super) image: Option<PathBuf>,
    pub(super) options: RunOptions,
    pub(super) how: How,
    pub(super) max_turns: Option<u32>,
    pub(super) checkpoints: bool,
    pub(super) source: Option<String>,
}

pub(super) fn run(call: Call, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    context
        .config()
        .map_err(|error| worker::cannot_start(error.into(), context))?;
    context.start_logging(LogRole::Agent)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let exit = runtime.block_on(converse(call, context, out));
    // Nothing that is still running may keep the process: it has been ended.
    runtime.shutdown_timeout(Duration::from_millis(100));
    exit
}

async fn converse(call: Call, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let worker = worker::begin(context)?;
    let exit = talk(call, context, worker.as_ref(), out)
        .await
        .map_err(|error| worker::judged(error, context));
    // A task must not wait for somebody to notice that its worker never began.
    if let (Some(worker), Err(error)) = (&worker, &exit) {
        worker.gave_up(error);
    }
    exit
}

async fn talk(
    call: Call,
    context: &Context,
    worker: Option<&Worker>,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    beginning::tell_near_misses(context, out)?;
    let state = StateHandle::open(context.home.state_db(), context.clock.clone())?;
    let found = resume::find(&state, &call.options).await?;
    if !call.options.worktree {
        return talk_in(None, found, state, call, context, worker, out).await;
    }
    let worktree = Worktree::create(&std::env::current_dir()?, out).await?;
    let exit = talk_in(Some(&worktree), found, state, call, context, worker, out).await;
    // However it ended.
    worktree.leave(out).await;
    exit
}

async fn talk_in(
    worktree: Option<&Worktree>,
    found: Option<Found>,
    state: StateHandle,
    call: Call,
    context: &Context,
    worker: Option<&Worker>,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let cwd = directory(worktree, found.as_ref())?;
    let notices = Notices::default();
    let mut wired = wire(
        context,
        &selection(&call.options),
        state,
        wishes(
            &call.options,
            call.max_turns,
            call.source.as_deref(),
            context,
            &cwd,
        ),
        place(
            context,
            &cwd,
            Wanted {
                occasion: occasion(context, out),
                yolo: call.options.yolo,
                checkpoints: call.checkpoints,
            },
            notices.collector(),
        )?,
    )
    .await?;
    for warning in &wired.warnings {
        out.warning(warning);
    }
    if call.how != How::Answer {
        beginning::tell_oddities(context, out)?;
    }
    if let Some(worktree) = worktree {
        wired.tell_for_good(&worktree.note());
    }
    preload(&mut wired, &call.options.skills).await?;
    if let Some(found) = &found
        && call.how != How::Answer
    {
        found.announce(&cwd, context, out);
    }
    if call.how.is_answer_only() {
        wired.answer_only();
    }
    let mut content = content(&call, &wired, &cwd, context, out).await?;
    if let (Some(found), None) = (&found, worktree)
        && let Some(note) = found.moved(&cwd, &wired.state, out).await?
    {
        content = with_note(note, content);
    }
    if let Some(worker) = worker {
        wired.tell(hermes_kanban::worker::GUIDANCE);
        content = worker.with_pictures(content, context.home.user_home())?;
    }
    let (mut agent, mut events) = wired.agent(found.as_ref().map(|found| &found.id)).await?;
    let mut screen = Screen::new(call.how, out);
    screen.begin(&call.query)?;
    let (outcome, signal, code) = loop {
        let outcome;
        let signal;
        (agent, outcome, signal) = turn(
            agent,
            content,
            &mut events,
            &wired,
            worker,
            context,
            &mut screen,
        )
        .await?;
        let Some(worker) = worker else {
            break (outcome, signal, None);
        };
        match worker
            .next(&outcome, signal.is_some(), &wired, context)
            .await?
        {
            Ok(more) => content = Content::Text(more),
            Err(code) => break (outcome, signal, Some(code)),
        }
    };
    // Nobody waits for this before an answer.
    beginning::tidy(context, &wired.state).await?;
    if let Err(error) = agent.end("cli_close").await {
        screen
            .out()
            .warning(&format!("the session was not closed: {error}"));
    }
    let left = wired.place.left_running();
    wired.place.sandboxes.close().await;
    notices.tell(screen.out());
    if let Some(left) = left {
        screen.out().stderr_line(&left);
    }
    let counts = match call.how {
        How::Lines { .. } => counts(&wired.state, &outcome.session).await,
        _ => None,
    };
    screen.end(&outcome, context, counts)?;
    let exit = ended(&outcome, signal, context, call.how);
    match (code, exit) {
        (None, exit) => exit,
        // The board has the last word about a worker's end; the cause is still shown.
        (Some(code), Err(error)) if error.kind.exit() == Exit(code) => Err(error),
        (Some(code), _) => Ok(Exit(code)),
    }
}

/// Without a terminal on both ends there is nobody to ask.
fn occasion(context: &Context, out: &Out) -> Occasion {
    let worker = context
        .environment
        .get_non_empty(hermes_kanban::env::TASK)
        .is_some();
    if !worker && std::io::stdin().is_terminal() && out.is_terminal() {
        Occasion::Terminal
    } else {
        Occasion::Worker
    }
}

fn directory(worktree: Option<&Worktree>, found: Option<&Found>) -> Result<PathBuf, CommandError> {
    if let Some(worktree) = worktree {
        return Ok(worktree.path().to_owned());
    }
    if let Some(cwd) = found.and_then(|found| found.cwd.clone()) {
        return Ok(cwd);
    }
    current_directory()
}

pub(super) fn current_directory() -> Result<PathBuf, CommandError> {
    std::env::current_dir().map_err(|error| {
        CommandError::user(format!("the current directory cannot be used: {error}"))
    })
}

pub(super) fn wishes(
    options: &RunOptions,
    max_turns: Option<u32>,
    source: Option<&str>,
    context: &Context,
    cwd: &Path,
) -> Wishes {
    Wishes {
        source: source.unwrap_or("cli").to_owned(),
        toolsets: options.toolsets.as_ref().map(|names| {
            names
                .split(',')
                .map(|name| name.trim().to_owned())
                .filter(|name| !name.is_empty())
                .collect()
        }),
        max_turns,
        ignore_rules: options.ignore_rules,
        ephemeral_system: context
            .environment
            .get_non_empty(env::EPHEMERAL_SYSTEM_PROMPT)
            .map(str::to_owned),
        pass_session_id: options.pass_session_id,
        kanban: context
            .environment
            .get_non_empty(hermes_kanban::env::TASK)
            .is_some(),
        ..Wishes::cli(cwd.to_owned())
    }
}

/// `-s`: the texts of these skills stand in front of the conversation.
pub(super) async fn preload(wired: &mut Wired, names: &[String]) -> Result<(), CommandError> {
    let names: Vec<String> = names
        .iter()
        .flat_map(|list| list.split(','))
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .collect();
    let mut unknown = Vec::new();
    let mut texts = Vec::new();
    for name in &names {
        let loaded = wired.shelf.load(name, "").await;
        match loaded {
            Ok(view) => {
                wired.grant(&view);
                texts.push(activation(name, &view));
            }
            Err(SkillError::NotFound { .. }) => unknown.push(name.as_str()),
            Err(error) => {
                return Err(CommandError::user(error.to_string())
                    .hint("`hermes skills list` shows what there is"));
            }
        }
    }
    if !unknown.is_empty() {
        return Err(
            CommandError::user(format!("Unknown skill(s): {}", unknown.join(", ")))
                .hint("`hermes skills list` shows what there is"),
        );
    }
    for text in texts {
        wired.tell_for_good(&text);
    }
    Ok(())
}

/// The note stands in front, for the model to read first.
fn with_note(note: String, content: Content) -> Content {
    match content {
        Content::Text(text) => Content::Text(format!("{note}\n\n{text}")),
        Content::Parts(mut parts) => {
            parts.insert(0, Part::Text { text: note });
            Content::Parts(parts)
        }
    }
}

async fn content(
    call: &Call,
    wired: &Wired,
    cwd: &Path,
    context: &Context,
    out: &mut Out,
) -> Result<Content, CommandError> {
    let home = context.home.user_home();
    // A file that only looks like a picture is part of the question.
    let leading = match &call.image {
        None => hermes_tui::leading_picture(&call.query, cwd, home)
            .and_then(|(path, rest)| Some((picture(&path).ok().map(|_| path)?, rest))),
        Some(_) => None,
    };
    let (image, query) = match leading {
        Some((path, rest)) => (Some(path), rest),
        None => (call.image.clone(), call.query.as_str()),
    };
    let expanded = expand(query, cwd, context.home.path(), wired.window()).await;
    for warning in &expanded.warnings {
        out.warning(warning);
    }
    match image {
        Some(path) => with_picture(&expanded.text, &path).map_err(CommandError::user),
        None => Ok(Content::Text(expanded.text)),
    }
}

/// Why the process was told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signalled {
    Interrupt,
    Terminate,
}

/// Runs the turn, shows its events, and lets signals end it.
async fn turn(
    mut agent: Agent,
    content: Content,
    events: &mut mpsc::Receiver<TurnEvent>,
    wired: &Wired,
    worker: Option<&Worker>,
    context: &Context,
    screen: &mut Screen<'_>,
) -> Result<(Agent, TurnOutcome, Option<Signalled>), CommandError> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut running = tokio::spawn(async move {
        let outcome = agent.turn(content).await;
        (agent, outcome)
    });
    let mut signalled = None;
    let deadline = tokio::time::sleep(Duration::MAX);
    tokio::pin!(deadline);
    let (agent, outcome) = loop {
        let caught = tokio::select! {
            biased;
            _ = interrupt.recv() => Signalled::Interrupt,
            _ = terminate.recv() => Signalled::Terminate,
            _ = hangup.recv() => Signalled::Terminate,
            () = &mut deadline, if signalled.is_some() => {
                running.abort();
                let kind = match signalled {
                    Some(Signalled::Interrupt) => ErrorKind::Interrupted,
                    _ => ErrorKind::Terminated,
                };
                return Err(CommandError::new(kind, "the run did not stop in time"));
            }
            Some(event) = events.recv() => {
                if let Some(worker) = worker {
                    worker.pulse();
                }
                screen.event(&event)?;
                continue;
            }
            ended = &mut running => {
                break ended.map_err(|error| CommandError::internal(format!("the turn failed inside: {error}")))?;
            }
        };
        if signalled.is_none() {
            wired.control.interrupt(Interrupt::User);
            deadline
                .as_mut()
                .reset(tokio::time::Instant::now() + grace(context));
        }
        signalled = Some(caught);
    };
    while let Ok(event) = events.try_recv() {
        screen.event(&event)?;
    }
    Ok((agent, outcome, signalled))
}

fn grace(context: &Context) -> Duration {
    context
        .environment
        .get_non_empty(env::SIGTERM_GRACE)
        .and_then(|text| text.parse::<f64>().ok())
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .unwrap_or(DEFAULT_GRACE)
}

/// What the exit summary says about a session; `None` when it has no row.
pub(super) async fn counts(state: &StateHandle, session: &SessionId) -> Option<Counts> {
    let id = session.clone();
    state
        .run(move |database| {
            // A summary stands in the place of a question and is none.
            let user = database
                .messages(&id)?
                .iter()
                .filter(|row| row.message.role == Role::User)
                .filter(|row| hermes_agent::compress::request(&row.message).is_some())
                .count();
            Ok(database.session(&id)?.map(|row| Counts {
                title: row.title,
                messages: row.message_count,
                user,
                calls: row.tool_call_count,
            }))
        })
        .await
        .ok()
        .flatten()
}

/// The exit code tells the truth; the cause is on stderr.
fn ended(
    outcome: &TurnOutcome,
    signalled: Option<Signalled>,
    context: &Context,
    how: How,
) -> Result<Exit, CommandError> {
    if signalled == Some(Signalled::Terminate) {
        return Err(CommandError::new(
            ErrorKind::Terminated,
            "ended by a signal",
        ));
    }
    let is_worker = context
        .environment
        .get_non_empty(hermes_kanban::env::TASK)
        .is_some();
    let kind = match outcome.reason {
        _ if outcome.is_success() && !outcome.answer.trim().is_empty() => {
            return Ok(Exit::SUCCESS);
        }
        StopReason::Interrupted => ErrorKind::Interrupted,
        StopReason::RateLimited if is_worker => ErrorKind::RateLimited,
        StopReason::KeyRefused if is_worker => ErrorKind::ConfigFinal,
        StopReason::Failed | StopReason::KeyRefused | StopReason::RateLimited => ErrorKind::Remote,
        _ => ErrorKind::User,
    };
    let cause = outcome
        .error
        .clone()
        .unwrap_or_else(|| "the answer is empty".to_owned());
    let mut error = CommandError::new(kind, cause);
    if how == How::Answer {
        error.speaker = Some("hermes -z:");
    }
    let can_go_on =
        matches!(outcome.reason, StopReason::Budget | StopReason::Partial) && how != How::Answer;
    Err(if can_go_on {
        error.hint(format!(
            "`hermes chat -q \"go on\" --resume {}` continues it",
            outcome.session
        ))
    } else {
        error
    })
}
