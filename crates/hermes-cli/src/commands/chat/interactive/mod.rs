//! The conversation on a terminal. `hermes-tui` owns the screen; here is what it
//! asks of the program: sessions, models, settings, verbs.

mod answering;
mod beside;
mod clipboard;
mod commands;
mod draft;
mod goal;
mod host;
mod info;
mod model;
mod offer;
mod own;
mod plain;
mod preferences;
mod recap;
mod rollback;
mod sandbox;
mod sessions;
mod settings;
mod snapshots;
mod verbs;
mod words;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use chrono::Datelike as _;
use hermes_agent::demo::{DEMO_MODEL, DEMO_PROVIDER};
use hermes_home::env;
use hermes_llm::resolve::Selection;
use hermes_store::remove_session_files;
use hermes_tools::StateHandle;
use hermes_tui::{App, Beginning, ChatError, Ended, History, Status};
use hermes_types::SessionId;
use ratatui::text::Line;

use self::host::ChatHost;
use self::offer::Offered;
use super::run::counts;
use super::show::summary;
use super::worktree::Worktree;
use super::{beginning, resume};
use crate::cli::RunOptions;
use crate::wiring::{Place, selection};
use crate::{CommandError, Context, Exit, Out};

/// How the chat was started.
pub(super) struct Start {
    pub(super) options: RunOptions,
    pub(super) max_turns: Option<u32>,
    pub(super) checkpoints: bool,
    pub(super) source: Option<String>,
    pub(super) verbose: bool,
    /// Goes with the first message.
    pub(super) image: Option<PathBuf>,
}

pub(super) fn run(start: Start, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    // A broken file is told before anything is on the screen.
    let preferences = preferences::read(context, start.verbose)?;
    let wanted = selection(&start.options);
    let wanted = match offer::needed(context, &wanted)? {
        false => wanted,
        true if goes_on_with_demo(&start.options, context)? => demo_selection(),
        true => match offer::ask(context, out)? {
            Offered::Talk(chosen) => chosen,
            // What was stored just now is read like at any start.
            Offered::SetUp => return run(start, &context.renewed(None), out),
            Offered::Left => return Ok(Exit::SUCCESS),
        },
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let exit = runtime.block_on(converse(start, preferences, wanted, context, out));
    runtime.shutdown_timeout(Duration::from_millis(100));
    exit
}

/// Whoever left a conversation with the demo model goes on with it, and is not asked
/// again who is to answer.
fn goes_on_with_demo(options: &RunOptions, context: &Context) -> Result<bool, CommandError> {
    if options.resume.is_none() && options.continue_session.is_none() {
        return Ok(false);
    }
    let state = StateHandle::open(context.home.state_db(), context.clock.clone())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let found = runtime.block_on(resume::find(&state, options))?;
    Ok(found.is_some_and(|found| found.model.as_deref() == Some(DEMO_MODEL)))
}

async fn converse(
    start: Start,
    preferences: hermes_tui::Preferences,
    wanted: Selection,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let started = Instant::now();
    let pictures = match &start.image {
        Some(path) => vec![hermes_agent::picture(path).map_err(CommandError::user)?],
        None => Vec::new(),
    };
    let state = StateHandle::open(context.home.state_db(), context.clock.clone())?;
    beginning::tell_near_misses(context, out)?;
    beginning::tell_oddities(context, out)?;
    beginning::tidy(context, &state).await?;
    // What does not exist is said before anything is on the screen.
    let resumed = resume::find(&state, &start.options).await?;
    let worktree = match start.options.worktree {
        true => Some(Worktree::create(&std::env::current_dir()?, out).await?),
        false => None,
    };
    let compact = context.config()?.bool("display.compact")?;
    let mut host = ChatHost::new(
        context.renewed(None),
        start,
        wanted,
        state.clone(),
        worktree,
        resumed,
    )?;
    let dumb = context.environment.get(env::TERM) == Some("dumb");
    let ended = if dumb || !std::io::stdout().is_terminal() {
        plain::run(&mut host, &preferences, pictures, out).await?
    } else {
        let app = App::new(
            preferences,
            History::load(context.home.join(".hermes_history")),
            Box::new(words::Words::new(context, host.cwd(), host.own.clone())),
            Status::new(host.model_name(), host.short_cwd(), host.sandbox_name()),
        );
        let beginning = Beginning {
            greeting: greeting(&host, compact),
            pictures,
        };
        match hermes_tui::run(app, &mut host, beginning).await {
            Ok(ended) => ended,
            Err(error) => {
                host.close().await;
                host.leave_worktree(out).await;
                return Err(host.failure().unwrap_or_else(|| broken(error)));
            }
        }
    };
    if let Some(id) = host.unwanted.take() {
        forget(&id, &state, context).await?;
        host.close().await;
        writeln!(out, "Session {id} was removed.")?;
        host.leave_worktree(out).await;
        return Ok(Exit::SUCCESS);
    }
    let Ended {
        session: ended,
        signal,
    } = ended;
    let left = host.place().and_then(Place::left_running);
    host.close().await;
    let told = farewell(ended.as_ref(), started, &state, context, out).await;
    if let Some(left) = left {
        out.stderr_line(&left);
    }
    // Also when nobody could be told, because the terminal is gone.
    host.leave_worktree(out).await;
    match signal {
        // As a shell names it; whoever sent it may have taken the terminal along.
        Some(number) => Ok(Exit(u8::try_from(128 + number).unwrap_or(u8::MAX))),
        None => told.map(|()| Exit::SUCCESS),
    }
}

/// A chat that ended by itself says so, and how to go on.
fn broken(error: ChatError) -> CommandError {
    match error {
        ChatError::Terminal(error) => error.into(),
        ChatError::Open(reason) => CommandError::user(reason),
        ChatError::ConversationBroke { ref session } => {
            let hint = match session {
                Some(id) => format!("what was said is stored: `hermes --resume {id}` goes on"),
                None => "`hermes logs errors` may say why".to_owned(),
            };
            CommandError::internal(error).hint(hint)
        }
    }
}

/// Removes a session and the files that belong to it.
async fn forget(
    id: &SessionId,
    state: &StateHandle,
    context: &Context,
) -> Result<(), CommandError> {
    let gone = id.clone();
    state
        .run(move |database| database.delete_session(&gone))
        .await?;
    remove_session_files(&context.home.join("sessions"), id);
    Ok(())
}

fn greeting(host: &ChatHost, compact: bool) -> Vec<Line<'static>> {
    let mut lines = vec![Line::from(format!(
        "Hermes {} · {} · /help shows what can be typed",
        env!("CARGO_PKG_VERSION"),
        host.model_name()
    ))];
    if host.is_demo() {
        lines.push(Line::from(
            "The demo model is a small set of rules, not a language model. Ask it to list or read files, run a command, search, or edit a file.",
        ));
    } else if !compact {
        let day = host.context.clock.now_local().ordinal() as usize;
        lines.push(Line::from(format!("Tip: {}", TIPS[day % TIPS.len()])));
    }
    lines.push(Line::default());
    lines
}

/// One a day.
const TIPS: [&str; 7] = [
    "`@file:PATH` in a message brings the file along, `@diff` what you changed.",
    "Alt+Enter begins a new line; Ctrl+G opens your editor.",
    "`/queue TEXT` waits for the turn, `/steer TEXT` speaks into it.",
    "`hermes -c` goes on with the last session, `/sessions` finds an older one.",
    "`git diff | hermes chat -q \"review this\"` asks without a conversation.",
    "`/background TEXT` has something answered beside the conversation.",
    "`hermes config set terminal.backend docker` keeps commands in a container.",
];

/// How to come back, or a word of goodbye when nothing was said.
async fn farewell(
    ended: Option<&SessionId>,
    started: Instant,
    state: &StateHandle,
    context: &Context,
    out: &mut Out,
) -> Result<(), CommandError> {
    let found = match ended {
        Some(id) => counts(state, id).await.map(|counts| (id, counts)),
        None => None,
    };
    match found {
        Some((id, counts)) if counts.user > 0 => {
            summary(out, id, context, &counts, started.elapsed())?;
        }
        _ => writeln!(out, "Goodbye.")?,
    }
    out.flush()?;
    Ok(())
}

fn demo_selection() -> Selection {
    Selection::of(Some(DEMO_PROVIDER), None)
}
